#pragma once
// Random models of joints without shapes, for tests of kinematics and dynamics. The seed decides everything.

#include <string>
#include <vector>

#include "almond/model/builder.hpp"
#include "scenes/random_state.hpp"

namespace almond::testing {

inline Mat3 random_inertia(scenes::Random& random, double size) {
  // Moments of a box: the triangle rule holds.
  const Vec3 s = Vec3(random.uniform(0.2, 1.0), random.uniform(0.2, 1.0), random.uniform(0.2, 1.0)) * size;
  const Mat3 R = random.rotation();
  const Vec3 moments(s.y() + s.z(), s.x() + s.z(), s.x() + s.y());
  return R * moments.asDiagonal() * R.transpose();
}

/// `bodies` bodies on random parents (bodies or the ground), joints out of `kinds`; free ones only on the ground.
inline Model make_random_trees(std::uint64_t seed, int bodies, const std::vector<JointKind>& kinds,
                               bool armature = true) {
  scenes::Random random(seed);
  ModelBuilder builder("random" + std::to_string(seed));
  builder.set_gravity(3.0 * random.normal3());
  for (int b = 0; b < bodies; ++b) {
    BodySpec spec;
    spec.name = "b" + std::to_string(b);
    spec.parent = random.uniform() < 0.15 ? kGround : random.index(b + 1) - 1;
    do {
      spec.joint.kind = kinds[static_cast<std::size_t>(random.index(static_cast<int>(kinds.size())))];
    } while (spec.joint.kind == JointKind::kFree && spec.parent != kGround && kinds.size() > 1);
    if (spec.joint.kind == JointKind::kFree) spec.parent = kGround;
    spec.joint.X_PJ = Pose{random.rotation(), 0.5 * random.normal3()};
    spec.joint.axis = random.direction();
    spec.joint.anchor = 0.3 * random.normal3();
    const bool hinge = num_velocities(spec.joint.kind) == 1 || spec.joint.kind == JointKind::kBall;
    if (hinge && armature) spec.joint.armature = random.uniform(0.0, 0.1);
    spec.mass = random.uniform(0.3, 2.0);
    spec.com = 0.3 * random.normal3();
    spec.inertia = random_inertia(random, 0.1);
    builder.add_body(spec);
  }
  return builder.build();
}

inline std::vector<JointKind> all_joint_kinds() {
  return {JointKind::kFixed,    JointKind::kFree,       JointKind::kBall,
          JointKind::kRevolute, JointKind::kContinuous, JointKind::kPrismatic};
}

using scenes::random_state;

}  // namespace almond::testing
