#pragma once
// MJCF, MuJoCo's model format. MuJoCo's own library compiles the file, so that defaults, includes, inertias from meshes
// and the rest mean what they mean there; its model is then taken over element by element:
//
//   body with several joints   one body per joint, all but the last without mass, "NAME#1", "NAME#2", ...
//   contype / conaffinity      groups and masks; exclude, pair
//   condim                     1: no friction, 3: Coulomb; of 4 and 6 the sliding part
//   priority                   friction and condim of the geom with the higher one
//   gravcomp                   a force at the body's centre of mass
//   solref, solimp, margin     no effect: contacts and limits are rigid here
//   actuators                  drives with a control each, force = gain u + bias0 + bias1 length + bias2 velocity
//
// What has no counterpart is counted in FileNotes::ignored.

#include "almond/load/robot_file.hpp"

namespace almond {

/// What a control does to its drive's inputs: input = scale * clamp(u) + offset.
struct Control {
  enum class Input : std::uint8_t { kTarget, kTargetVelocity, kFeedforward };
  std::string name;
  int drive = -1;
  Input input = Input::kFeedforward;
  double scale = 1.0, offset = 0.0;
  double lower = -kInfinity, upper = kInfinity;
};

/// A state by name, joint by joint as in the file.
struct Keyframe {
  std::string name;
  VecX qpos, qvel, ctrl;  // MuJoCo's numbers
};

struct MjcfFile {
  double time_step = 0.0;  // [s]
  Vec3 gravity = Vec3::Zero();
  std::vector<int> bodies;        // (bodies of the file) ours; kGround for its world
  std::vector<int> joints;        // (joints of the file) ours
  std::vector<int> qpos, dof;     // (joints of the file) their places in qpos and qvel
  std::vector<char> given;        // (joints of the file) start value asked for: a keyframe leaves it
  std::vector<int> geoms;         // (geoms of the file) ours, -1: does not collide
  std::vector<Control> controls;  // (controls of the file); drive -1: has no effect
  std::vector<Keyframe> keyframes;
  Pose X_WF;  // where its world was put
};

/// Whether MJCF files can be read: this was built for MuJoCo's library, and the library is there.
[[nodiscard]] bool have_mujoco();
/// Where to open the library, before it is first used; without it, where it was when this was built.
void set_mujoco_library(const std::string& path);

/// Adds the file's world to the builder, with friction combined by the maximum, as MuJoCo does, and suggests its
/// gravity and time step. Throws Error naming the file with MuJoCo's message; without MuJoCo, how to get it.
MjcfFile add_mjcf(ModelBuilder& builder, const std::string& path, const FileOptions& options, FileNotes& notes);
/// The same from text; assets are looked for in `folder`.
MjcfFile add_mjcf_text(ModelBuilder& builder, const std::string& text, const std::string& folder,
                       const FileOptions& options, FileNotes& notes);

/// Starts the file's joints at a keyframe, and its drives with the keyframe's controls. Throws Error with the nearest
/// name.
void start_at_keyframe(ModelBuilder& builder, const MjcfFile& file, const std::string& name);

/// Our q and v of one joint from MuJoCo's numbers.
[[nodiscard]] VecX joint_position(const Joint& joint, const double* qpos, const Pose& X_WF);
[[nodiscard]] VecX joint_velocity(const Body& body, const Joint& joint, const double* qpos, const double* qvel,
                                  const Pose& X_WF);

}  // namespace almond
