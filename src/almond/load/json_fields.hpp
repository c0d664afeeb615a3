#pragma once
// JSON objects read field by field, for scene files and the shapes in them: a field of the wrong type, or one that
// nobody asked for, is an error that names its place. `Json` is nlohmann::json, which headers do not include.

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "almond/base/check.hpp"
#include "almond/base/pose.hpp"
#include "almond/base/text.hpp"

namespace almond {

/// Throws Error for text with more than 200 brackets inside each other, since what walks through it goes as deep; and
/// for a NUL, at which the parser would stop as if the text ended there.
inline void check_json_text(const std::string& text, const std::string& place) {
  constexpr int kMost = 200;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') throw Error(place + ": is no JSON: has a NUL (at byte " + std::to_string(i) + ")");
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMost)  // no require(): its message would be made for every byte
      throw Error(place + ": has more than " + std::to_string(kMost) +
                  " brackets inside each other, expected fewer (at byte " + std::to_string(i) + ")");
  }
}

/// Follows a parser, and throws Error where an object has a field twice: the parser would keep the last.
template <class Json>
class DuplicateCheck {
 public:
  explicit DuplicateCheck(std::string place) : place_(std::move(place)) {}

  bool operator()(int /*depth*/, typename Json::parse_event_t event, Json& value) {
    using Event = typename Json::parse_event_t;
    if (event == Event::object_end || event == Event::array_end) {
      levels_.pop_back();
    } else if (event == Event::key) {
      Level& level = levels_.back();
      level.key = value.template get<std::string>();
      require(level.keys.insert(level.key).second, where() + ": is given twice, expected once");
    } else {
      if (!levels_.empty()) ++levels_.back().count;
      if (event == Event::object_start) levels_.push_back({true, 0, {}, {}});
      if (event == Event::array_start) levels_.push_back({false, 0, {}, {}});
    }
    return true;
  }

 private:
  struct Level {
    bool object = false;
    int count = 0;  // values so far
    std::string key;
    std::set<std::string> keys;
  };
  [[nodiscard]] std::string where() const {
    std::string text = place_;
    for (const Level& level : levels_)
      text += level.object ? "." + level.key : "[" + std::to_string(level.count - 1) + "]";
    return text;
  }

  std::string place_;
  std::vector<Level> levels_;
};

/// What a parser says, without its own number, and with no more than the end of what it last read.
inline std::string json_reason(std::string what) {
  constexpr std::size_t kMost = 60;
  if (const std::size_t colon = what.find("] "); colon != std::string::npos) what.erase(0, colon + 2);
  const std::string last = "last read: '";
  const std::size_t begin = what.find(last), end = what.rfind('\'');
  if (begin == std::string::npos || end <= begin + last.size() + kMost) return what;
  return what.substr(0, begin + last.size()) + "..." + what.substr(end - kMost);
}

template <class Json>
Json parse_json(const std::string& text, const std::string& place) {
  check_json_text(text, place);
  try {
    // The parser copies what follows it.
    DuplicateCheck<Json> check(place);
    return Json::parse(
        text, [&](int depth, typename Json::parse_event_t event, Json& value) { return check(depth, event, value); });
  } catch (const typename Json::exception& error) {
    throw Error(place + ": is no JSON: " + json_reason(error.what()));
  }
}

/// An object of the file whose fields are asked for by name; what nobody asked for is refused in the end.
template <class Json>
class JsonFields {
 public:
  JsonFields(const Json& value, std::string place) : value_(value), place_(std::move(place)) {
    require(value.is_object(), place_ + ": is " + value.type_name() + ", expected an object { ... }");
  }

  [[nodiscard]] std::string at(const std::string& key) const { return place_ + "." + key; }
  const Json* find(const std::string& key) {
    known_.push_back(key);
    const auto found = value_.find(key);
    return found == value_.end() ? nullptr : &*found;
  }
  [[nodiscard]] const std::string& place() const { return place_; }

  void read(const std::string& key, std::string& out) {
    const Json* value = find(key);
    if (value == nullptr) return;
    require(value->is_string(), at(key) + ": is " + value->dump().substr(0, 40) + ", expected a text");
    out = value->template get<std::string>();
  }
  void read(const std::string& key, double& out) {
    const Json* value = find(key);
    if (value != nullptr) out = number(*value, at(key));
  }
  void read(const std::string& key, bool& out) {
    const Json* value = find(key);
    if (value == nullptr) return;
    require(value->is_boolean(), at(key) + ": is " + value->dump().substr(0, 40) + ", expected true or false");
    out = value->template get<bool>();
  }
  template <int N>
  bool read(const std::string& key, Eigen::Matrix<double, N, 1>& out) {
    const Json* value = find(key);
    if (value == nullptr) return false;
    const std::vector<double> list = numbers(*value, at(key));
    require(list.size() == N,
            at(key) + ": has " + std::to_string(list.size()) + " numbers, expected " + std::to_string(N));
    for (int i = 0; i < N; ++i) out[i] = list[i];
    return true;
  }

  /// Call last: a misspelt field is an error, not a default.
  void refuse_others() const {
    for (const auto& [key, value] : value_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end() || key == "$schema" || key == "comment")
        continue;
      const std::string near = nearest_name(key, known_);
      std::string all;
      for (const std::string& name : std::set<std::string>(known_.begin(), known_.end()))
        all += (all.empty() ? "" : ", ") + name;
      throw Error(place_ + ": field " + quote(key) + " is unknown, expected " + all +
                  (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
    }
  }

  static double number(const Json& value, const std::string& place) {
    require(value.is_number(), place + ": is " + value.dump().substr(0, 40) + ", expected a number");
    const double x = value.template get<double>();
    require(std::isfinite(x), place + ": is " + to_text(x) + ", expected a finite number");
    return x;
  }
  static std::vector<double> numbers(const Json& value, const std::string& place) {
    require(value.is_array(), place + ": is " + value.dump().substr(0, 40) + ", expected a list of numbers");
    std::vector<double> list;
    for (const Json& item : value) list.push_back(number(item, place + "[" + std::to_string(list.size()) + "]"));
    return list;
  }

 private:
  const Json& value_;
  std::string place_;
  std::vector<std::string> known_;
};

/// position, and one of rpy (about the fixed axes x, y, z, in this order) and quaternion (w x y z).
template <class Json>
Pose read_pose(JsonFields<Json>& fields) {
  Pose X;
  fields.template read<3>("position", X.p);
  Vec3 rpy;
  Vec4 q;
  const bool by_angles = fields.template read<3>("rpy", rpy), by_quaternion = fields.template read<4>("quaternion", q);
  require(!by_angles || !by_quaternion, fields.place() + ": has rpy and quaternion, expected one of them");
  if (by_angles)
    X.R = exp_so3(Vec3::UnitZ() * rpy[2]) * exp_so3(Vec3::UnitY() * rpy[1]) * exp_so3(Vec3::UnitX() * rpy[0]);
  if (by_quaternion) {
    require(std::abs(q.norm() - 1.0) < 1e-3,
            fields.at("quaternion") + ": has norm " + to_text(q.norm()) + ", expected 1 (w x y z)");
    X.R = quaternion_to_matrix(q.normalized());
  }
  return X;
}

}  // namespace almond
