#include "almond/load/hdf5_file.hpp"

#ifdef ALMOND_HAVE_HDF5

#include <hdf5.h>

#include <atomic>
#include <cmath>
#include <utility>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/hdf5_bytes.hpp"

namespace almond {
namespace {

static_assert(sizeof(hid_t) == sizeof(long long));

// Deflate, the only filter in use, expands by no more than this: a larger dataset is a damaged header.
constexpr unsigned long long kMaxExpansion = 1032;
constexpr std::size_t kLargestNumber = 16;  // bytes

/// Closes an HDF5 identifier when it goes out of scope.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  [[nodiscard]] hid_t get() const { return id_; }
  [[nodiscard]] bool ok() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void silence() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

/// Whether the name leads to something in this very file: others could be any file of the machine.
bool is_own_link(hid_t file, const std::string& name) {
  H5L_info_t info;
  return H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0 && H5Lget_info(file, name.c_str(), &info, H5P_DEFAULT) >= 0 &&
         info.type == H5L_TYPE_HARD;
}

/// Whether a dataset's numbers lie in this very file, `bytes` of them as they are or packed.
bool has_own_data(hid_t dataset, unsigned long long bytes) {
  const Handle plan(H5Dget_create_plist(dataset), H5Pclose);
  if (!plan.ok() || H5Pget_external_count(plan.get()) != 0) return false;
  const H5D_layout_t layout = H5Pget_layout(plan.get());
  if (layout == H5D_CHUNKED) return bytes / kMaxExpansion <= H5Dget_storage_size(dataset);
  return (layout == H5D_CONTIGUOUS || layout == H5D_COMPACT) && bytes <= H5Dget_storage_size(dataset);
}

/// A little-endian number of eight bytes.
unsigned long long number_at(const std::string& bytes, std::size_t at) {
  unsigned long long value = 0;
  for (std::size_t k = 8; k-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[at + k]);
  return value;
}

/// Where the file begins, behind what others put before it. Numbers in headers have eight bytes each, as the library
/// writes them by default; so check_heaps sees them all.
std::size_t find_begin(const std::string& label, const std::string& bytes) {
  const std::string mark = "\x89HDF\r\n\x1a\n";
  for (std::size_t at = 0; at + 24 <= bytes.size(); at = at == 0 ? 512 : 2 * at) {
    if (bytes.compare(at, mark.size(), mark) != 0) continue;
    const std::size_t widths = at + (static_cast<unsigned char>(bytes[at + 8]) < 2 ? 13 : 9);
    require(bytes[widths] == 8 && bytes[widths + 1] == 8,
            label + ": addresses and lengths have " + std::to_string(int{static_cast<unsigned char>(bytes[widths])}) +
                " and " + std::to_string(int{static_cast<unsigned char>(bytes[widths + 1])}) + " bytes, expected 8");
    return at;
  }
  return 0;
}

/// Names of groups lie in local heaps: "HEAP", version 0, 3 bytes, then the heap's size, its first free place and its
/// address, eight bytes each; a free place begins with the next one. The library asks for what a heap claims to have
/// before it looks at the file, copies 2^64 - 1 bytes of one that claims as many, and follows free places in a circle
/// until the memory is full.
void check_heaps(const std::string& label, const std::string& bytes) {
  constexpr std::size_t kHeader = 32, kSize = 8, kFree = 16, kAddress = 24;
  constexpr unsigned long long kNoMore = 1, kPlace = 16;
  const std::size_t begin = find_begin(label, bytes);
  const std::string mark("HEAP\0", 5);
  for (std::size_t at = bytes.find(mark); at != std::string::npos; at = bytes.find(mark, at + 1)) {
    if (at + kHeader > bytes.size()) return;
    const unsigned long long size = number_at(bytes, at + kSize), address = number_at(bytes, at + kAddress);
    const unsigned long long room = bytes.size() - begin;
    const std::string heap = label + ": the heap at byte " + std::to_string(at);
    require(size <= room && address <= room - size, heap + " claims " + std::to_string(size) + " bytes from byte " +
                                                        std::to_string(address) + " on, the file has " +
                                                        std::to_string(bytes.size()));
    unsigned long long count = 0;
    for (unsigned long long place = number_at(bytes, at + kFree); place != kNoMore;
         place = number_at(bytes, begin + address + place)) {
      require(size >= kPlace && place <= size - kPlace && ++count <= size / kPlace,
              heap + ": its free places do not lie in it one after the other");
    }
  }
}

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

Hdf5File::Hdf5File(std::string label, long long file, unsigned long long size)
    : label_(std::move(label)), file_(file), size_(size) {}

Hdf5File::Hdf5File(Hdf5File&& other) noexcept
    : label_(std::move(other.label_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}

Hdf5File::~Hdf5File() {
  if (file_ >= 0) H5Fclose(file_);
}

Hdf5File Hdf5File::open(const std::string& label, std::string bytes) {
  silence();
  H5PLset_loading_state(0);  // a file could name filters, which are programs to be loaded
  const std::size_t size = bytes.size();
  check_heaps(label, bytes);
  const hid_t file = open_hdf5_bytes(label, std::make_shared<const std::string>(std::move(bytes)));
  require(file >= 0, label + ": cannot be opened as HDF5; the file is damaged or truncated");
  return Hdf5File(label, file, size);
}

Hdf5File Hdf5File::create(const std::string& label) {
  silence();
  constexpr std::size_t kGrowth = 1U << 16;  // bytes
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const bool in_memory = access.ok() && H5Pset_fapl_core(access.get(), kGrowth, 0) >= 0;
  // The library takes files of one name for the same file.
  static std::atomic<unsigned> count{0};
  const std::string name = "almond-" + std::to_string(count++);
  const hid_t file = in_memory ? H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()) : hid_t{-1};
  require(file >= 0, label + ": cannot be written as HDF5");
  return Hdf5File(label, file, 0);
}

std::string Hdf5File::bytes() const {
  const bool complete = H5Fflush(file_, H5F_SCOPE_GLOBAL) >= 0;
  const ssize_t size = complete ? H5Fget_file_image(file_, nullptr, 0) : -1;
  require(size > 0, label_ + ": cannot be written as HDF5");
  std::string image(static_cast<std::size_t>(size), '\0');
  require(H5Fget_file_image(file_, image.data(), image.size()) == size, label_ + ": cannot be written as HDF5");
  return image;
}

std::string Hdf5File::where(const std::string& name) const { return label_ + ": dataset " + quote(name); }

bool Hdf5File::has(const std::string& name) const {
  // H5Lexists wants every parent to exist: walk down the path.
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    if (!is_own_link(file_, name.substr(0, slash))) return false;
  }
  return is_own_link(file_, name);
}

std::vector<std::string> Hdf5File::members(const std::string& group) const {
  std::vector<std::string> names;
  const Handle handle(H5Gopen2(file_, group.c_str(), H5P_DEFAULT), H5Gclose);
  if (handle.ok()) H5Literate(handle.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect_name, &names);
  return names;
}

template <typename Value>
std::vector<Value> Hdf5File::read(const std::string& name) const {
  constexpr bool kFloat = std::is_same_v<Value, double>;
  if (!has(name)) {
    const std::size_t slash = name.rfind('/');
    const std::string group = slash == std::string::npos ? "/" : name.substr(0, slash);
    const std::string nearest = nearest_name(name.substr(slash + 1), members(group));
    throw Error(where(name) + " is missing" +
                (nearest.empty() ? "" : " (the nearest there is " + quote(nearest) + ")"));
  }
  const Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  require(dataset.ok(), where(name) + ": cannot be opened; damaged, or not a dataset");
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const Handle space(H5Dget_space(dataset.get()), H5Sclose);
  require(type.ok() && space.ok(), where(name) + ": its type or shape is damaged");
  const H5T_class_t kind = H5Tget_class(type.get());
  require(kind == H5T_INTEGER || (kFloat && kind == H5T_FLOAT),
          where(name) + ": wrong type, expected " + (kFloat ? "floating-point numbers" : "integers"));
  const std::size_t number = H5Tget_size(type.get());
  require(number > 0 && number <= kLargestNumber, where(name) + ": numbers of " + std::to_string(number) +
                                                      " bytes, expected at most " + std::to_string(kLargestNumber));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  require(count >= 0 && static_cast<unsigned long long>(count) <= most_unpacked(size_) / sizeof(double),
          where(name) + ": claims " + std::to_string(count) + " values, more than the file can hold");
  require(count == 0 || has_own_data(dataset.get(), static_cast<unsigned long long>(count) * number),
          where(name) + ": claims " + std::to_string(count) + " values that are not in the file");
  std::vector<Value> values(static_cast<std::size_t>(count));
  if (values.empty()) return values;
  const herr_t status =
      H5Dread(dataset.get(), kFloat ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  require(status >= 0, where(name) + ": cannot be read; the file is damaged or truncated");
  return values;
}

std::vector<double> Hdf5File::doubles(const std::string& name) const {
  std::vector<double> values = read<double>(name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error(where(name) + "[" + std::to_string(i) + "] = " + to_text(values[i]) + ", expected a finite number");
    }
  }
  return values;
}

std::vector<int> Hdf5File::integers(const std::string& name) const { return read<int>(name); }

int Hdf5File::integer(const std::string& name) const {
  const std::vector<int> values = integers(name);
  require(values.size() == 1, where(name) + ": " + std::to_string(values.size()) + " values, expected 1");
  return values[0];
}

std::string Hdf5File::text(const std::string& name) const {
  constexpr std::size_t kLongest = 4096;
  if (!has(name)) return {};
  const Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.ok()) return {};
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const Handle space(H5Dget_space(dataset.get()), H5Sclose);
  if (!type.ok() || !space.ok() || H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) > 0 ||
      H5Sget_simple_extent_npoints(space.get()) != 1 || H5Tget_size(type.get()) > kLongest ||
      !has_own_data(dataset.get(), H5Tget_size(type.get())))
    return {};
  std::string text(H5Tget_size(type.get()), '\0');
  if (H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0) return {};
  return text.substr(0, text.find('\0'));
}

void Hdf5File::make_group(const std::string& name) {
  const Handle group(H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  require(group.ok(), where(name) + ": cannot be written");
}

void Hdf5File::write_raw(const std::string& name, long long type, std::size_t count, const void* values) {
  const hsize_t extent = count;
  const Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  const Handle dataset(H5Dcreate2(file_, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       H5Dclose);
  require(dataset.ok() && (count == 0 || H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0),
          where(name) + ": cannot be written");
}

void Hdf5File::write(const std::string& name, const std::vector<double>& values) {
  write_raw(name, H5T_NATIVE_DOUBLE, values.size(), values.data());
}

void Hdf5File::write(const std::string& name, const std::vector<int>& values) {
  write_raw(name, H5T_NATIVE_INT, values.size(), values.data());
}

void Hdf5File::write(const std::string& name, const std::string& text) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), text.size() + 1);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle dataset(H5Dcreate2(file_, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       H5Dclose);
  require(dataset.ok() && H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.c_str()) >= 0,
          where(name) + ": cannot be written");
}

}  // namespace almond

#endif  // ALMOND_HAVE_HDF5
