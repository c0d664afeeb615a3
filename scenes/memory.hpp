#pragma once
// What a scene remembers between steps, as bytes: how far its task is, what it has seen. One function both writes and
// reads, so that nothing can be in one and not in the other:
//
//   scene.remember = [run](Memory& memory) { memory(run->task, run->q, run->deepest); };

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "almond/base/check.hpp"
#include "almond/task/frame.hpp"
#include "almond/task/phases.hpp"
#include "almond/task/trajectory.hpp"

namespace almond::scenes {

class Memory {
 public:
  Memory() = default;                                                             // writes
  explicit Memory(std::string bytes) : bytes_(std::move(bytes)), reads_(true) {}  // reads what one has written

  /// Throws Error where bytes that are read end too early or belong to another task.
  template <class... T>
  void operator()(T&... values) {
    (pass(values), ...);
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] bool done() const { return at_ == bytes_.size(); }  // all is read

 private:
  void pass_bytes(void* data, std::size_t size) {
    if (reads_) {
      require(size <= bytes_.size() - at_, "what a scene remembers: is cut off");
      if (size > 0) std::memcpy(data, bytes_.data() + at_, size);
      at_ += size;
    } else if (size > 0) {
      bytes_.append(static_cast<const char*>(data), size);
    }
  }
  std::size_t pass_count(std::size_t count) {
    pass(count);
    require(!reads_ || count <= bytes_.size() - at_, "what a scene remembers: is cut off");
    return count;
  }

  /// Numbers, and structs of them; without gaps, whose bytes would be anything.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void pass(T& value) { pass_bytes(&value, sizeof value); }
  void pass(bool& flag) {  // whose other 254 bytes mean nothing
    std::uint8_t byte = flag ? 1 : 0;
    pass_bytes(&byte, 1);
    require(byte <= 1, "what a scene remembers: has a flag that is neither 0 nor 1");
    flag = byte == 1;
  }
  template <class T, int rows, int columns, int options>
  void pass(Eigen::Matrix<T, rows, columns, options>& x) {
    const auto r = static_cast<Eigen::Index>(pass_count(static_cast<std::size_t>(x.rows())));
    const auto c = static_cast<Eigen::Index>(pass_count(static_cast<std::size_t>(x.cols())));
    require((rows == Eigen::Dynamic || r == rows) && (columns == Eigen::Dynamic || c == columns),
            "what a scene remembers: has an array of another shape");
    // Before there is room for it: a damaged shape may ask for any amount.
    const auto left = static_cast<Eigen::Index>((bytes_.size() - at_) / sizeof(T));
    require(!reads_ || c == 0 || r <= left / c, "what a scene remembers: is cut off");
    if (reads_) x.resize(r, c);
    pass_bytes(x.data(), static_cast<std::size_t>(x.size()) * sizeof(T));
  }
  void pass(std::string& text) {
    text.resize(pass_count(text.size()));
    pass_bytes(text.data(), text.size());
  }
  template <class T>
  void pass(std::vector<T>& values) {
    values.resize(pass_count(values.size()));
    for (T& value : values) pass(value);
  }
  void pass(Pose& X) { (*this)(X.R, X.p); }
  void pass(BodyFrame& frame) { (*this)(frame.body, frame.X_BF); }
  void pass(PoseTrajectory& way) { (*this)(way.times, way.points); }
  void pass(JointTrajectory& way) { (*this)(way.times, way.points); }
  void pass(Check& check) { (*this)(check.name, check.value, check.low, check.high); }
  void pass(Task& task) {  // its phases stay: they are the scene's
    std::size_t phases = task.phases.size();
    (*this)(phases, task.current, task.begun, task.began, task.checks, task.failure);
    require(phases == task.phases.size() && task.current <= phases, "what a scene remembers: is of a task of " +
                                                                        std::to_string(phases) + " phases, expected " +
                                                                        std::to_string(task.phases.size()));
  }

  std::string bytes_;
  std::size_t at_ = 0;
  bool reads_ = false;
};

}  // namespace almond::scenes
