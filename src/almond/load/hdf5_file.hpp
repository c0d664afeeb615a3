#pragma once
// The little of HDF5 that FCLIB needs: vectors of integers and doubles by path, read with checks and written.

#include <string>
#include <vector>

namespace almond {

/// An open HDF5 file. Messages of the library itself are silenced while it lives; errors come as almond::Error.
class Hdf5File {
 public:
  /// The bytes of a file; `label` is what messages name.
  [[nodiscard]] static Hdf5File open(const std::string& label, std::string bytes);
  /// A new file in memory. The library is not to write files itself: where a disk is
  /// full, it ends the program when that exits.
  [[nodiscard]] static Hdf5File create(const std::string& label);
  ~Hdf5File();
  Hdf5File(Hdf5File&& other) noexcept;
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  [[nodiscard]] bool has(const std::string& name) const;
  /// Names of the members of a group.
  [[nodiscard]] std::vector<std::string> members(const std::string& group) const;
  [[nodiscard]] std::vector<double> doubles(const std::string& name) const;
  [[nodiscard]] std::vector<int> integers(const std::string& name) const;
  [[nodiscard]] int integer(const std::string& name) const;
  /// Of a text of fixed length; empty where there is none.
  [[nodiscard]] std::string text(const std::string& name) const;
  /// "path: dataset "name"", the start of messages.
  [[nodiscard]] std::string where(const std::string& name) const;

  void make_group(const std::string& name);
  void write(const std::string& name, const std::vector<double>& values);
  void write(const std::string& name, const std::vector<int>& values);
  void write(const std::string& name, const std::string& text);
  /// The bytes of a file that was created, as they belong on a disk.
  [[nodiscard]] std::string bytes() const;

 private:
  Hdf5File(std::string label, long long file, unsigned long long size);
  template <typename Value>
  [[nodiscard]] std::vector<Value> read(const std::string& name) const;
  void write_raw(const std::string& name, long long type, std::size_t count, const void* values);

  std::string label_;
  long long file_ = -1;          // hid_t
  unsigned long long size_ = 0;  // of the file [bytes]
};

}  // namespace almond
