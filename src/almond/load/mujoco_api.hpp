#pragma once
// MuJoCo's library, opened when it is first needed: a program without MJCF files runs without it, and a Python process
// that has loaded it shares it.

#include <string>

struct mjModel_;
struct mjData_;
struct mjVFS_;
struct mjpResourceProvider;

namespace almond {

/// The functions and handlers of the library that are used here, as mujoco.h declares them.
struct MujocoApi {
  int (*version)();
  const char* (*version_string)();
  mjModel_* (*load_xml)(const char* file, const mjVFS_* files, char* error, int error_size);
  void (*delete_model)(mjModel_* m);
  void (*default_vfs)(mjVFS_* files);
  int (*mount_vfs)(mjVFS_* files, const char* folder, const mjpResourceProvider* provider);
  void (*delete_vfs)(mjVFS_* files);
  void (*default_provider)(mjpResourceProvider* provider);
  mjData_* (*make_data)(const mjModel_* m);
  void (*delete_data)(mjData_* d);
  void (*reset_data_keyframe)(const mjModel_* m, mjData_* d, int key);
  int (*name_to_id)(const mjModel_* m, int type, const char* name);
  void (*step)(const mjModel_* m, mjData_* d);
  void (*contact_force)(const mjModel_* m, const mjData_* d, int id, double* result);
  void (**user_error)(const char*);  // where the handlers are kept
  void (**user_warning)(const char*);
};

/// Opens the library: that of set_mujoco_library(), of the environment's ALMOND_MUJOCO_LIBRARY, the one it was built
/// with, or by its name, the first that is there. Throws
/// Error, beginning with `place`, where there is none, or one of another version.
[[nodiscard]] const MujocoApi& mujoco_api(const std::string& place);

}  // namespace almond
