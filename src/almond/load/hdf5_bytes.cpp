#include "almond/load/hdf5_bytes.hpp"

#ifdef ALMOND_HAVE_HDF5

#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace almond {
namespace {

using Bytes = std::shared_ptr<const std::string>;

struct Memory : H5FD_t {
  Bytes bytes;
  haddr_t end = 0;  // of what the library takes for the file
};

Memory& memory(H5FD_t* file) { return static_cast<Memory&>(*file); }
const Memory& memory(const H5FD_t* file) { return static_cast<const Memory&>(*file); }

H5FD_t* open_memory(const char*, unsigned flags, hid_t access, haddr_t) {
  const void* info = H5Pget_driver_info(access);
  if (info == nullptr || (flags & H5F_ACC_RDWR) != 0) return nullptr;
  auto* file = new Memory();
  file->bytes = **static_cast<const Bytes* const*>(info);
  return file;
}

herr_t close_memory(H5FD_t* file) {
  delete &memory(file);
  return 0;
}

haddr_t get_end(const H5FD_t* file, H5FD_mem_t) { return memory(file).end; }

herr_t set_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  memory(file).end = end;
  return 0;
}

haddr_t get_size(const H5FD_t* file, H5FD_mem_t) { return memory(file).bytes->size(); }

herr_t read_memory(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size, void* to) {
  const std::string& bytes = *memory(file).bytes;
  if (at > bytes.size() || size > bytes.size() - at) return -1;
  std::memcpy(to, bytes.data() + at, size);
  return 0;
}

herr_t write_memory(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) { return -1; }

/// Without `query`: the library keeps nothing beside it.
H5FD_class_t make_driver() {
  H5FD_class_t driver = {};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(511);  // of those for trial and use in a single program
#endif
  driver.name = "almond_bytes";
  driver.maxaddr = static_cast<haddr_t>(std::numeric_limits<std::int64_t>::max());
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(const Bytes*);
  driver.open = open_memory;
  driver.close = close_memory;
  driver.get_eoa = get_end;
  driver.set_eoa = set_end;
  driver.get_eof = get_size;
  driver.read = read_memory;
  driver.write = write_memory;
  const H5FD_mem_t map[] = H5FD_FLMAP_SINGLE;
  std::copy(std::begin(map), std::end(map), std::begin(driver.fl_map));
  return driver;
}

}  // namespace

long long open_hdf5_bytes(const std::string& label, Bytes bytes) {
  static const H5FD_class_t driver = make_driver();
  static const hid_t id = H5FDregister(&driver);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  const Bytes* info = &bytes;
  const hid_t file =
      access >= 0 && H5Pset_driver(access, id, &info) >= 0 ? H5Fopen(label.c_str(), H5F_ACC_RDONLY, access) : -1;
  if (access >= 0) H5Pclose(access);
  return file;
}

}  // namespace almond

#endif
