#pragma once
// Robots for tests of tasks: an arm made here, and the Panda where it is installed.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "almond/load/installed_robots.hpp"
#include "almond/load/urdf.hpp"
#include "almond/sim/step.hpp"
#include "almond/task/inverse_kinematics.hpp"
#include "scenes/random.hpp"

namespace almond::testing {

/// Seven links of 0.2 m on hinges about z and y in turn, standing up, with limits of 2.8 rad.
inline ModelBuilder make_seven_joint_arm() {
  ModelBuilder builder("arm");
  int parent = kGround;
  for (int i = 0; i < 7; ++i) {
    BodySpec spec;
    spec.name = "link" + std::to_string(i + 1);
    spec.parent = parent;
    spec.joint = make_joint(i % 2 == 0 ? JointKind::kContinuous : JointKind::kRevolute,
                            i % 2 == 0 ? Vec3::UnitZ() : Vec3::UnitY(), make_translation(0.0, 0.0, i == 0 ? 0.0 : 0.2),
                            "joint" + std::to_string(i + 1));
    if (i % 2 == 1) {
      spec.joint.lower = -2.8;
      spec.joint.upper = 2.8;
    }
    spec.mass = 2.0 - 0.2 * i;
    spec.com = Vec3(0.01, 0.02, 0.1);
    spec.inertia = Vec3(0.01, 0.01, 0.004).asDiagonal();
    parent = builder.add_body(spec);
  }
  return builder;
}

inline BodyFrame arm_tip(const Model& model) { return {model.body("link7"), make_translation(0.02, 0.0, 0.15)}; }

/// The Panda with its base fixed at the origin.
inline const char* const kPanda = "panda_description/urdf/panda.urdf";
inline ModelBuilder make_panda() {
  ModelBuilder builder("panda");
  FileNotes notes;
  FileOptions options;
  options.meshes = MeshUse::kNone;
  options.base = Base::kFixed;
  add_urdf(builder, need_installed_robot(kPanda), options, notes);
  return builder;
}

#define ALMOND_NEEDS_PANDA()                                             \
  if (::almond::find_installed_robot(::almond::testing::kPanda).empty()) \
  GTEST_SKIP() << "example-robot-data is not installed"

// A whole task takes minutes where every access is checked; its steps are no others than those of shorter tests.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ALMOND_RUNS_A_WHOLE_TASK() GTEST_SKIP() << "too long under a sanitizer"
#else
#define ALMOND_RUNS_A_WHOLE_TASK() static_cast<void>(0)
#endif

/// A position of each joint within its limits, ±π where it has none; the others as they start.
inline VecX draw_positions(const Model& model, const std::vector<int>& joints, scenes::Random& random) {
  VecX q = model.q0;
  for (const int j : joints) {
    const Joint& joint = model.joints[j];
    q[joint.q_begin] =
        random.uniform(std::max(joint.lower, -std::numbers::pi), std::min(joint.upper, std::numbers::pi));
  }
  return q;
}

inline Pose pose_at(const Model& model, const VecX& q, const BodyFrame& frame) {
  Kinematics kinematics;
  compute_kinematics(model, q, VecX::Zero(model.num_v), kinematics);
  return frame_pose(kinematics, frame);
}

}  // namespace almond::testing
