#include "almond/load/mujoco_api.hpp"

#include "almond/base/check.hpp"
#include "almond/load/mjcf.hpp"

#ifdef ALMOND_HAVE_MUJOCO
#include <dlfcn.h>
#include <mujoco/mujoco.h>

#include <cstdlib>
#include <mutex>
#include <type_traits>

namespace almond {
namespace {

struct Library {
  std::mutex mutex;
  std::string path;  // asked for
  bool open = false;
  MujocoApi api{};
};

Library& library() {
  static Library library;
  return library;
}

/// `Declared` is what mujoco.h says of it, and only looked at by the compiler.
template <class Declared, class Function>
void find(void* handle, const char* name, Function& to) {
  static_assert(std::is_same_v<Declared, Function>);
  to = reinterpret_cast<Function>(dlsym(handle, name));
  require(to != nullptr, std::string("MuJoCo's library has no ") + name);
}

MujocoApi open_at(void* handle) {
  MujocoApi api{};
  find<decltype(&::mj_version)>(handle, "mj_version", api.version);
  require(api.version() == mjVERSION_HEADER, "MuJoCo's library is version " + std::to_string(api.version()) +
                                                 ", expected " + std::to_string(mjVERSION_HEADER) +
                                                 ", with which this was built");
  find<decltype(&::mj_versionString)>(handle, "mj_versionString", api.version_string);
  find<decltype(&::mj_loadXML)>(handle, "mj_loadXML", api.load_xml);
  find<decltype(&::mj_deleteModel)>(handle, "mj_deleteModel", api.delete_model);
  find<decltype(&::mj_defaultVFS)>(handle, "mj_defaultVFS", api.default_vfs);
  find<decltype(&::mj_mountVFS)>(handle, "mj_mountVFS", api.mount_vfs);
  find<decltype(&::mj_deleteVFS)>(handle, "mj_deleteVFS", api.delete_vfs);
  find<decltype(&::mjp_defaultProvider)>(handle, "mjp_defaultProvider", api.default_provider);
  find<decltype(&::mj_makeData)>(handle, "mj_makeData", api.make_data);
  find<decltype(&::mj_deleteData)>(handle, "mj_deleteData", api.delete_data);
  find<decltype(&::mj_resetDataKeyframe)>(handle, "mj_resetDataKeyframe", api.reset_data_keyframe);
  find<decltype(&::mj_name2id)>(handle, "mj_name2id", api.name_to_id);
  find<decltype(&::mj_step)>(handle, "mj_step", api.step);
  find<decltype(&::mj_contactForce)>(handle, "mj_contactForce", api.contact_force);
  find<decltype(&::mju_user_error)>(handle, "mju_user_error", api.user_error);
  find<decltype(&::mju_user_warning)>(handle, "mju_user_warning", api.user_warning);
  return api;
}

}  // namespace

const MujocoApi& mujoco_api(const std::string& place) {
  Library& lib = library();
  const std::lock_guard lock(lib.mutex);
  if (lib.open) return lib.api;
  void* handle = nullptr;
  const char* given = std::getenv("ALMOND_MUJOCO_LIBRARY");
  for (const std::string& path : {lib.path, std::string(given != nullptr ? given : ""),
                                  std::string(ALMOND_MUJOCO_LIBRARY), std::string(ALMOND_MUJOCO_NAME)})
    if (handle == nullptr && !path.empty()) handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(handle != nullptr, place + ": MJCF files are read with MuJoCo's library " + ALMOND_MUJOCO_NAME +
                                 ", which is not there: pip install mujoco-core in that version");
  try {
    lib.api = open_at(handle);
  } catch (const Error& error) {
    dlclose(handle);
    throw Error(place + ": " + error.what());
  }
  lib.open = true;
  return lib.api;
}

bool have_mujoco() {
  try {
    static_cast<void>(mujoco_api(""));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void set_mujoco_library(const std::string& path) {
  const std::lock_guard lock(library().mutex);
  library().path = path;
}

}  // namespace almond

#else

namespace almond {

const MujocoApi& mujoco_api(const std::string& place) {
  throw Error(place + ": this program was built without MuJoCo: `pip install mujoco-core` into .venv and build again");
}
bool have_mujoco() { return false; }
void set_mujoco_library(const std::string& /*path*/) {}

}  // namespace almond

#endif
