// Proves poses, velocities, motion subspaces and accelerations: small cases by hand, random trees of all joints by
// finite differences of poses along move().

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "almond/dynamics/drift.hpp"
#include "almond/dynamics/kinematics.hpp"
#include "common/helpers.hpp"
#include "common/random_tree.hpp"

namespace almond {
namespace {

using testing::tolerance;
constexpr double kPi = std::numbers::pi;

BodySpec make_link(const std::string& name, int parent, const Joint& joint) {
  BodySpec spec;
  spec.name = name;
  spec.parent = parent;
  spec.joint = joint;
  spec.mass = 1.0;
  spec.inertia = Mat3::Identity() * 0.1;
  return spec;
}

Kinematics kinematics_of(const Model& model, const VecX& q, const VecX& v) {
  Kinematics kin;
  compute_kinematics(model, q, v, kin);
  return kin;
}

void expect_pose(const Pose& X, const Mat3& R, const Vec3& p) {
  EXPECT_NEAR((X.R - R).norm(), 0.0, tolerance(1e-14)) << X.R;
  EXPECT_NEAR((X.p - p).norm(), 0.0, tolerance(1e-14)) << X.p.transpose();
}

// ---------------------------------------------------------------- by hand

TEST(Kinematics, TwoHinges) {
  // Links of length 1 along x, hinges about z; both at 90 degrees: the arm goes up and back.
  ModelBuilder builder;
  const int a = builder.add_body(make_link("a", kGround, make_joint(JointKind::kRevolute, Vec3::UnitZ())));
  builder.add_body(make_link("b", a, make_joint(JointKind::kRevolute, Vec3::UnitZ(), make_translation(1.0, 0.0, 0.0))));
  const Model model = builder.build();
  const Kinematics kin = kinematics_of(model, Vec2(kPi / 2, kPi / 2), Vec2(2.0, 3.0));
  Mat3 quarter, half;
  quarter << 0, -1, 0, 1, 0, 0, 0, 0, 1;
  half << -1, 0, 0, 0, -1, 0, 0, 0, 1;
  expect_pose(kin.X_WB[0], quarter, Vec3::Zero());
  expect_pose(kin.X_WB[1], half, Vec3(0.0, 1.0, 0.0));
  // The second hinge moves at 2 rad/s x 1 m to the left; the link's end adds 5 rad/s x 1 m downwards.
  EXPECT_NEAR((point_velocity(model, kin, 1, Vec3(0.0, 1.0, 0.0)) - Vec3(-2.0, 0.0, 0.0)).norm(), 0.0, 1e-14);
  EXPECT_NEAR((point_velocity(model, kin, 1, Vec3(-1.0, 1.0, 0.0)) - Vec3(-2.0, -5.0, 0.0)).norm(), 0.0, 1e-14);
  EXPECT_NEAR((angular_velocity(model, kin, 1) - Vec3(0.0, 0.0, 5.0)).norm(), 0.0, 1e-14);
}

TEST(Kinematics, HingeAboutAnAnchor) {
  // The axis passes (1, 0, 0) of the body: half a turn puts the origin on the other side of it.
  ModelBuilder builder;
  Joint joint = make_joint(JointKind::kContinuous, Vec3::UnitY(), make_translation(0.0, 0.0, 2.0));
  joint.anchor = Vec3(1.0, 0.0, 0.0);
  builder.add_body(make_link("door", kGround, joint));
  const Model model = builder.build();
  const Kinematics kin = kinematics_of(model, VecX::Constant(1, kPi), VecX::Constant(1, 1.0));
  expect_pose(kin.X_WB[0], Vec3(-1.0, 1.0, -1.0).asDiagonal(), Vec3(2.0, 0.0, 2.0));
  EXPECT_NEAR(point_velocity(model, kin, 0, Vec3(1.0, 0.0, 2.0)).norm(), 0.0, 1e-15) << "the axis stands still";
  EXPECT_NEAR((point_velocity(model, kin, 0, Vec3(2.0, 0.0, 2.0)) - Vec3(0.0, 0.0, -1.0)).norm(), 0.0, 1e-14);
}

TEST(Kinematics, SliderOnATurnedFrame) {
  ModelBuilder builder;
  const Pose X = make_rotation(Vec3::UnitZ(), kPi / 2, Vec3(1.0, 2.0, 3.0));
  builder.add_body(make_link("slide", kGround, make_joint(JointKind::kPrismatic, Vec3::UnitX(), X)));
  const Model model = builder.build();
  const Kinematics kin = kinematics_of(model, VecX::Constant(1, 0.5), VecX::Constant(1, -4.0));
  expect_pose(kin.X_WB[0], X.R, Vec3(1.0, 2.5, 3.0));
  EXPECT_NEAR((point_velocity(model, kin, 0, Vec3::Zero()) - Vec3(0.0, -4.0, 0.0)).norm(), 0.0, 1e-14);
}

TEST(Kinematics, BallTurnsInTheParentsAxes) {
  // Joint frame turned a quarter about x: its y is the world's z. Velocities are in the joint frame's axes.
  ModelBuilder builder;
  Joint joint = make_joint(JointKind::kBall, Vec3::UnitZ(), make_rotation(Vec3::UnitX(), kPi / 2));
  joint.anchor = Vec3(0.0, 0.0, 1.0);
  builder.add_body(make_link("bob", kGround, joint));
  const Model model = builder.build();
  VecX q(4);
  q << std::sqrt(0.5), 0.0, 0.0, std::sqrt(0.5);  // a quarter about the joint frame's z
  const Kinematics kin = kinematics_of(model, q, Vec3(0.0, 2.0, 0.0));
  expect_pose(kin.X_WB[0], exp_so3(Vec3(kPi / 2, 0, 0)) * exp_so3(Vec3(0, 0, kPi / 2)), Vec3::Zero());
  EXPECT_NEAR((angular_velocity(model, kin, 0) - Vec3(0.0, 0.0, 2.0)).norm(), 0.0, 1e-14);
  EXPECT_NEAR(point_velocity(model, kin, 0, kin.X_WB[0] * joint.anchor).norm(), 0.0, 1e-14)
      << "the centre stands still";
}

TEST(Kinematics, FreeBodyMovesByItsCentre) {
  ModelBuilder builder;
  BodySpec spec = make_link("body", kGround, Joint{});
  spec.com = Vec3(1.0, 0.0, 0.0);
  GeomSpec geom;
  geom.body = builder.add_body(spec);
  geom.X_BG = make_translation(0.0, 1.0, 0.0);
  builder.add_geom(geom);
  const Model model = builder.build();
  VecX q(7), v(6);
  q << 1.0, 2.0, 3.0, std::sqrt(0.5), 0.0, 0.0, std::sqrt(0.5);  // turned a quarter about z
  v << 0.0, 0.0, 7.0, 0.0, 0.0, 2.0;
  const Kinematics kin = kinematics_of(model, q, v);
  EXPECT_NEAR((kin.com[0] - Vec3(1.0, 3.0, 3.0)).norm(), 0.0, 1e-14);
  EXPECT_NEAR((kin.X_WG[0].p - Vec3(0.0, 2.0, 3.0)).norm(), 0.0, 1e-14);
  EXPECT_NEAR((point_velocity(model, kin, 0, kin.com[0]) - Vec3(0.0, 0.0, 7.0)).norm(), 0.0, 1e-14);
  EXPECT_NEAR((point_velocity(model, kin, 0, kin.X_WB[0].p) - Vec3(2.0, 0.0, 7.0)).norm(), 0.0, 1e-14);
}

TEST(Kinematics, StaticBodiesStandStill) {
  ModelBuilder builder;
  const int base = builder.add_body(
      make_link("base", kGround, make_joint(JointKind::kFixed, Vec3::UnitZ(), make_translation(1, 0, 0))));
  const int post = builder.add_body(
      make_link("post", base, make_joint(JointKind::kFixed, Vec3::UnitZ(), make_translation(0, 1, 0))));
  const int arm = builder.add_body(
      make_link("arm", post, make_joint(JointKind::kRevolute, Vec3::UnitZ(), make_translation(0, 0, 1))));
  const Model model = builder.build();
  const Kinematics kin = kinematics_of(model, VecX::Constant(1, 0.0), VecX::Constant(1, 1.0));
  expect_pose(kin.X_WB[arm], Mat3::Identity(), Vec3(1.0, 1.0, 1.0));
  EXPECT_EQ(kin.V.col(base).norm() + kin.V.col(post).norm(), 0.0);
  EXPECT_EQ(point_velocity(model, kin, post, Vec3(5.0, 5.0, 5.0)), Vec3::Zero());
  EXPECT_EQ(point_velocity(model, kin, kGround, Vec3(5.0, 5.0, 5.0)), Vec3::Zero());
}

// ---------------------------------------------------------------- finite differences

class KinematicsOfTrees : public ::testing::TestWithParam<int> {
 protected:
  KinematicsOfTrees()
      : random(1000 + GetParam()),
        model(testing::make_random_trees(GetParam(), 2 + GetParam() % 7, testing::all_joint_kinds())) {
    testing::random_state(model, random, q, v);
  }
  /// Poses after a step of h along constant v.
  Kinematics moved(const VecX& velocity, double h) const {
    VecX q_new = q;
    move(model, velocity, h, q_new);
    return kinematics_of(model, q_new, velocity);
  }
  void expect_velocities(const VecX& velocity) const {
    constexpr double h = 1e-5;  // truncation h² |v|³, rounding 1e-16/h: both below 1e-9 here
    const Kinematics kin = kinematics_of(model, q, velocity), plus = moved(velocity, h), minus = moved(velocity, -h);
    for (int b = 0; b < model.num_bodies(); ++b) {
      const Vec3 point(0.3, -0.2, 0.5);  // of the body
      const Vec3 difference = (plus.X_WB[b] * point - minus.X_WB[b] * point) / (2.0 * h);
      EXPECT_NEAR((point_velocity(model, kin, b, kin.X_WB[b] * point) - difference).norm(), 0.0, tolerance(3e-8)) << b;
      const Vec3 turn = log_so3(plus.X_WB[b].R * minus.X_WB[b].R.transpose()) / (2.0 * h);
      EXPECT_NEAR((angular_velocity(model, kin, b) - turn).norm(), 0.0, tolerance(3e-8)) << b;
    }
  }
  scenes::Random random;
  Model model;
  VecX q, v;
};

TEST_P(KinematicsOfTrees, VelocitiesAreDifferencesOfPoses) { expect_velocities(v); }

TEST_P(KinematicsOfTrees, PosesAndVelocitiesApartAreThoseTogether) {
  const Kinematics both = kinematics_of(model, q, v), other = kinematics_of(model, q, -2.0 * v);
  Kinematics poses;
  compute_poses(model, q, poses);
  Mat6X V;
  compute_velocities(model, other, v, V);
  EXPECT_NEAR((V - both.V).norm(), 0.0, 1e-13 * (1.0 + both.V.norm()));
  for (int b = 0; b < model.num_bodies(); ++b) {
    EXPECT_EQ(poses.X_WB[b].p, both.X_WB[b].p);
    EXPECT_EQ(poses.X_WB[b].R, both.X_WB[b].R);
    const Vec3 p(0.1, 0.2, 0.3);
    EXPECT_NEAR((point_velocity(model, other, V, b, p) - point_velocity(model, both, b, p)).norm(), 0.0,
                1e-13 * (1.0 + both.V.norm()));
  }
  for (int g = 0; g < model.num_geoms(); ++g) EXPECT_EQ(poses.X_WG[g].p, both.X_WG[g].p);
}

TEST_P(KinematicsOfTrees, ColumnsOfSAreVelocitiesOfOneJoint) {
  for (int k = 0; k < model.num_v; ++k) expect_velocities(VecX::Unit(model.num_v, k));
  // And V is made of them along the path to the ground, by the tree algebra that the solvers use.
  const Kinematics kin = kinematics_of(model, q, v);
  for (const TreeInfo& tree : model.trees) {
    const Mat6X S = kin.S.middleCols(tree.v_begin, tree.dofs);
    const TreeView view(tree.parent, tree.dof_offset, S);
    for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
      Mat6X J(6, tree.dofs);
      compute_body_jacobian(view, static_cast<int>(i), J);
      EXPECT_NEAR((J * v.segment(tree.v_begin, tree.dofs) - kin.V.col(tree.bodies[i])).norm(), 0.0, tolerance(1e-12));
    }
  }
}

TEST_P(KinematicsOfTrees, AccelerationsAreSecondDifferencesOfPoses) {
  constexpr double h = 2e-4;  // truncation h²/12 |v|⁴ ~ 1e-6, rounding 4e-16/h² ~ 1e-8
  const Kinematics kin = kinematics_of(model, q, v), plus = moved(v, h), minus = moved(v, -h);
  for (int b = 0; b < model.num_bodies(); ++b) {
    if (model.bodies[b].subsystem < 0) continue;
    const Vec3 p = kin.com[b];
    const Vec3 difference = (plus.com[b] - 2.0 * p + minus.com[b]) / (h * h);
    // Of the material point: A is the acceleration of what passes the reference point, which adds ω × velocity.
    const Vec3 arm = p - kin.reference[model.bodies[b].subsystem], w = kin.V.col(b).tail<3>();
    const Vec3 alpha = kin.A.col(b).tail<3>();
    const Vec3 acceleration = kin.A.col(b).head<3>() + alpha.cross(arm) + w.cross(point_velocity(model, kin, b, p));
    const double scale = 1.0 + std::pow(v.norm(), 4);
    EXPECT_NEAR((acceleration - difference).norm(), 0.0, tolerance(1e-7 * scale)) << b;
    const Vec3 spin_rate = (plus.V.col(b).tail<3>() - minus.V.col(b).tail<3>()) / (2.0 * h);
    EXPECT_NEAR((alpha - spin_rate).norm(), 0.0, tolerance(1e-7 * scale)) << b;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, KinematicsOfTrees, ::testing::Range(0, 51));

}  // namespace
}  // namespace almond
