// Proves what MJCF elements become here: frames and masses against MuJoCo's documented meaning, worked out by hand;
// filters against its rule for every pair; broken files. tests/oracle/test_mjcf.py compares whole files with MuJoCo.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/base/check.hpp"
#include "almond/dynamics/kinematics.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/load/write_mjcf.hpp"
#include "almond/sim/step.hpp"
#include "common/helpers.hpp"
#include "scenes/random.hpp"

namespace almond {
namespace {

using testing::tolerance;

class Mjcf : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  }
  /// Reads <mujoco> + body + </mujoco> and builds.
  Model read(const std::string& body, const FileOptions& options = {}) {
    ModelBuilder builder;
    notes = {};
    file = add_mjcf_text(builder, "<mujoco><compiler angle=\"radian\"/>" + body + "</mujoco>", "", options, notes);
    return builder.build();
  }
  std::string error_of(const std::string& body, const FileOptions& options = {}) {
    try {
      static_cast<void>(read(body, options));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  MjcfFile file;
  FileNotes notes;
};

const char* const kInertia = "<inertial pos='0.1 0 0' mass='2' diaginertia='0.1 0.2 0.25'/>";

TEST_F(Mjcf, SeveralJointsOfABodyAreAppliedInOrder) {
  const Model model = read(std::string("<worldbody><body name='b' pos='1 2 3' quat='0.6 0.8 0 0'>") + kInertia +
                           "<joint name='x' type='slide' axis='1 0 0'/><joint name='y' axis='0 1 0' pos='0.2 0 0'/>"
                           "<joint name='z' axis='0 0 1' pos='0 0.3 0'/></body></worldbody>");
  ASSERT_EQ(model.num_bodies(), 3);
  EXPECT_EQ(model.bodies[0].name, "b#1");
  EXPECT_EQ(model.bodies[2].name, "b");
  EXPECT_EQ(model.bodies[0].mass + model.bodies[1].mass, 0.0);
  const VecX q = Vec3(0.5, 0.7, -0.4);
  Kinematics kin;
  compute_kinematics(model, q, VecX::Zero(3), kin);
  const auto about = [](const Vec3& axis, double angle, const Vec3& anchor) {
    const Mat3 R = exp_so3(axis * angle);
    return Pose{R, anchor - R * anchor};
  };
  const Pose expected = Pose{quaternion_to_matrix(Vec4(0.6, 0.8, 0.0, 0.0)), Vec3(1.0, 2.0, 3.0)} *
                        make_translation(0.5, 0.0, 0.0) * about(Vec3::UnitY(), 0.7, Vec3(0.2, 0.0, 0.0)) *
                        about(Vec3::UnitZ(), -0.4, Vec3(0.0, 0.3, 0.0));
  EXPECT_NEAR((kin.X_WB[2].p - expected.p).norm(), 0.0, tolerance(1e-14));
  EXPECT_NEAR((kin.X_WB[2].R - expected.R).norm(), 0.0, tolerance(1e-14));
}

TEST_F(Mjcf, ReferencePositionsBelongToThePoseOfTheFile) {
  const Model model = read(std::string("<worldbody><body name='b' pos='1 0 0'>") + kInertia +
                           "<joint name='j' axis='0 0 1' pos='0 0.5 0' ref='0.6'/></body></worldbody>");
  EXPECT_DOUBLE_EQ(model.q0[0], 0.6);
  Kinematics kin;
  compute_kinematics(model, model.q0, VecX::Zero(1), kin);
  EXPECT_NEAR((kin.X_WB[0].p - Vec3(1.0, 0.0, 0.0)).norm(), 0.0, tolerance(1e-15));
  EXPECT_NEAR((kin.X_WB[0].R - Mat3::Identity()).norm(), 0.0, tolerance(1e-15));
}

TEST_F(Mjcf, JointsCarryTheirNumbers) {
  const Model model =
      read(std::string("<worldbody><body><joint name='h' range='-1 2' limited='true' damping='0.3' armature='0.02' "
                       "frictionloss='0.4' stiffness='5' springref='0.7'/>") +
           kInertia + "</body></worldbody>");
  const Joint& joint = model.joints[0];
  EXPECT_EQ(joint.kind, JointKind::kRevolute);
  EXPECT_EQ(joint.lower, -1.0);
  EXPECT_EQ(joint.upper, 2.0);
  EXPECT_EQ(joint.damping, 0.3);
  EXPECT_EQ(joint.armature, 0.02);
  EXPECT_EQ(joint.dry_friction, 0.4);
  EXPECT_EQ(joint.stiffness, 5.0);
  EXPECT_EQ(joint.rest, 0.7);
}

TEST_F(Mjcf, EveryPairOfTypesAndAffinitiesIsFiltered) {
  // Free balls with all contype, conaffinity in 0..3: MuJoCo's rule for each pair.
  std::string text = "<worldbody>";
  std::vector<std::pair<int, int>> kinds;
  for (int type = 0; type < 4; ++type) {
    for (int affinity = 0; affinity < 4; ++affinity) {
      kinds.emplace_back(type, affinity);
      text += "<body><freejoint/><geom size='0.1' contype='" + std::to_string(type) + "' conaffinity='" +
              std::to_string(affinity) + "'/></body>";
    }
  }
  const Model model = read(text + "</worldbody>");
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    for (std::size_t k = i + 1; k < kinds.size(); ++k) {
      const bool meet = (kinds[i].first & kinds[k].second) != 0 || (kinds[k].first & kinds[i].second) != 0;
      const bool there = file.geoms[i] >= 0 && file.geoms[k] >= 0;
      EXPECT_EQ(there && may_collide(model, file.geoms[i], file.geoms[k]), meet) << i << " " << k;
    }
  }
}

TEST_F(Mjcf, ParentsAreFilteredAsInMujoco) {
  // base (static) - a - welded - b (two joints) - c: neighbours do not touch, but the static base does, and the world.
  const Model model = read(
      "<worldbody><geom name='floor' type='plane' size='1 1 1'/>"
      "<body name='base'><geom name='base' size='0.1'/>"
      "<body name='a'><joint/><geom name='a' size='0.1'/>"
      "<body name='welded'><geom name='welded' size='0.1'/>"
      "<body name='b'><joint axis='1 0 0'/><joint axis='0 1 0'/><geom name='b' size='0.1'/>"
      "<body name='c'><joint/><geom name='c' size='0.1'/></body></body></body></body></body></worldbody>");
  const auto touch = [&](const char* one, const char* two) {
    int a = -1, b = -1;
    for (int g = 0; g < model.num_geoms(); ++g) {
      if (model.geoms[g].name == one) a = g;
      if (model.geoms[g].name == two) b = g;
    }
    return may_collide(model, a, b);
  };
  EXPECT_TRUE(touch("base", "a"));
  EXPECT_TRUE(touch("base", "welded"));
  EXPECT_TRUE(touch("base", "b"));
  EXPECT_FALSE(touch("a", "welded"));
  EXPECT_FALSE(touch("a", "b"));
  EXPECT_FALSE(touch("welded", "b"));
  EXPECT_FALSE(touch("b", "c"));
  EXPECT_TRUE(touch("a", "c"));
  EXPECT_TRUE(touch("floor", "a"));
  EXPECT_FALSE(touch("floor", "base"));
}

TEST_F(Mjcf, ExcludesPairsAndCondim) {
  const Model model = read(
      "<worldbody><body name='a'><freejoint/><geom name='a' size='0.1' condim='1'/></body>"
      "<body name='b'><freejoint/><geom name='b' size='0.1' friction='0.7'/></body>"
      "<body name='c'><freejoint/><geom name='c' size='0.1' contype='0' conaffinity='0'/></body></worldbody>"
      "<contact><exclude body1='a' body2='b'/><pair geom1='b' geom2='c' friction='0.3 0.3 0 0 0'/></contact>");
  ASSERT_EQ(model.num_geoms(), 3);
  EXPECT_FALSE(may_collide(model, 0, 1));
  EXPECT_TRUE(may_collide(model, 1, 2));
  EXPECT_FALSE(may_collide(model, 0, 2));
  EXPECT_TRUE(model.geoms[0].material.smooth);
  EXPECT_EQ(combine(model, 0, 0).mu, 0.0);
  EXPECT_EQ(combine(model, 0, 1).mu, 1.0);  // the larger condim, and the larger friction
  EXPECT_EQ(combine(model, 1, 2).mu, 0.3);
  EXPECT_EQ(combine(model, 2, 1).mu, 0.3);
}

TEST_F(Mjcf, ActuatorsBecomeDrives) {
  const Model model =
      read(std::string("<worldbody><body><joint name='a'/>") + kInertia +
           "</body><body><joint name='b' type='slide'/>" + kInertia +
           "</body></worldbody><actuator>"
           "<motor name='m' joint='a' gear='3' ctrlrange='-1 1' ctrllimited='true'/>"
           "<position name='p' joint='b' kp='20' kv='2' gear='5' forcerange='-4 4' forcelimited='true'/>"
           "<velocity name='v' joint='a' kv='7'/>"
           "<general name='g' joint='b' gainprm='2' biastype='affine' biasprm='1 -8 -0.5'/></actuator>");
  ASSERT_EQ(model.drives.size(), 4U);
  ASSERT_EQ(file.controls.size(), 4U);
  EXPECT_EQ(model.drives[0].mode, DriveMode::kTorque);
  EXPECT_EQ(file.controls[0].scale, 3.0);
  EXPECT_EQ(file.controls[0].upper, 1.0);
  // Force on the joint: gear (kp u - kp gear q - kv gear v), at most gear times the range.
  EXPECT_EQ(model.drives[1].mode, DriveMode::kPosition);
  EXPECT_DOUBLE_EQ(model.drives[1].stiffness, 20.0 * 25.0);
  EXPECT_DOUBLE_EQ(model.drives[1].damping, 2.0 * 25.0);
  EXPECT_DOUBLE_EQ(model.drives[1].effort_limit, 4.0 * 5.0);
  EXPECT_DOUBLE_EQ(file.controls[1].scale, 1.0 / 5.0);
  EXPECT_EQ(model.drives[2].mode, DriveMode::kVelocity);
  EXPECT_DOUBLE_EQ(model.drives[2].damping, 7.0);
  EXPECT_DOUBLE_EQ(file.controls[2].scale, 1.0);
  // 2 u + 1 - 8 q - 0.5 v = 8 ((2 u + 1) / 8 - q) - 0.5 v.
  EXPECT_DOUBLE_EQ(model.drives[3].stiffness, 8.0);
  EXPECT_DOUBLE_EQ(model.drives[3].damping, 0.5);
  EXPECT_DOUBLE_EQ(file.controls[3].scale, 2.0 / 8.0);
  EXPECT_DOUBLE_EQ(file.controls[3].offset, 1.0 / 8.0);
  EXPECT_DOUBLE_EQ(model.drives[3].target, 1.0 / 8.0) << "at u = 0";
}

TEST_F(Mjcf, ForceRangesKeepBothEnds) {
  const Model model =
      read(std::string("<worldbody><body><joint name='a' actuatorfrcrange='-6 50'/>") + kInertia +
           "</body><body><joint name='b' type='slide'/>" + kInertia +
           "</body></worldbody><actuator>"
           "<motor joint='a' gear='2' forcerange='-5 10'/><motor joint='b' gear='-3' forcerange='1 4'/></actuator>");
  ASSERT_EQ(model.drives.size(), 2U);
  // 2 x (-5 to 10) within -6 to 50; -3 x (1 to 4).
  EXPECT_DOUBLE_EQ(model.drives[0].effort_middle - model.drives[0].effort_limit, -6.0);
  EXPECT_DOUBLE_EQ(model.drives[0].effort_middle + model.drives[0].effort_limit, 20.0);
  EXPECT_DOUBLE_EQ(model.drives[1].effort_middle - model.drives[1].effort_limit, -12.0);
  EXPECT_DOUBLE_EQ(model.drives[1].effort_middle + model.drives[1].effort_limit, -3.0);
  EXPECT_TRUE(notes.ignored.empty());
}

TEST_F(Mjcf, BallJointsKeepTheirLimit) {
  const auto upper = [&](const std::string& attributes) {
    const Model model =
        read("<worldbody><body><joint type='ball' " + attributes + "/>" + kInertia + "</body></worldbody>");
    EXPECT_TRUE(notes.ignored.empty());
    return model.joints[0].upper;
  };
  EXPECT_EQ(upper("range='0 0.7'"), 0.7);
  EXPECT_EQ(upper("range='0 0.7' limited='false'"), kInfinity);
  EXPECT_EQ(upper("range='0 3.2'"), kInfinity) << "no rotation is that large";
  EXPECT_EQ(upper(""), kInfinity);
}

TEST_F(Mjcf, TendonsAndEqualities) {
  const Model model =
      read(std::string("<worldbody><body name='one'><joint name='a' ref='0.2'/>") + kInertia +
           "</body><body name='two' pos='0 1 0'><joint name='b'/>" + kInertia +
           "</body></worldbody>"
           "<tendon><fixed name='t' limited='true' range='-1 3' stiffness='4' springlength='0.5' damping='0.1' "
           "frictionloss='0.2'>"
           "<joint joint='a' coef='2'/><joint joint='b' coef='-1'/></fixed></tendon>"
           "<equality><joint joint1='a' joint2='b' polycoef='0.1 3 0 0 0'/><joint joint1='b' polycoef='0.4 0 0 0 0'/>"
           "<connect body1='one' body2='two' anchor='0.3 0 0'/><weld body1='one' body2='two'/>"
           "<tendon tendon1='t' polycoef='0.5 0 0 0 0'/></equality><actuator><motor tendon='t' gear='2'/></actuator>");
  ASSERT_EQ(model.tendons.size(), 1U);
  const Tendon& t = model.tendons[0];
  ASSERT_EQ(t.terms.size(), 2U);
  EXPECT_EQ(t.terms[0], std::pair(0, 2.0));
  EXPECT_EQ(t.terms[1], std::pair(1, -1.0));
  EXPECT_EQ(t.upper, 3.0);
  EXPECT_EQ(t.rest_lower, 0.5);
  EXPECT_EQ(t.dry_friction, 0.2);
  ASSERT_EQ(model.closures.size(), 5U);
  EXPECT_EQ(model.closures[0].kind, ClosureKind::kMimic);
  EXPECT_DOUBLE_EQ(model.closures[0].ratio, 3.0);
  EXPECT_DOUBLE_EQ(model.closures[0].offset, 0.3) << "0.1 beyond a's reference";
  EXPECT_EQ(model.closures[1].ratio, 0.0);
  EXPECT_DOUBLE_EQ(model.closures[1].offset, 0.4);
  EXPECT_EQ(model.closures[2].kind, ClosureKind::kConnect);
  EXPECT_NEAR((model.closures[2].X_a.p - Vec3(0.3, 0.0, 0.0)).norm(), 0.0, 1e-15);
  EXPECT_NEAR((model.closures[2].X_b.p - Vec3(0.3, -1.0, 0.0)).norm(), 0.0, 1e-15);
  EXPECT_EQ(model.closures[3].kind, ClosureKind::kWeld);
  EXPECT_EQ(model.closures[4].kind, ClosureKind::kTendon);
  EXPECT_DOUBLE_EQ(model.closures[4].offset, 0.5 + 2.0 * 0.2);
  ASSERT_EQ(model.drives.size(), 1U);
  EXPECT_EQ(model.drives[0].tendon, 0);
  // All closures but the offsets hold at the start.
  for (const std::string& remark : model.remarks)
    EXPECT_EQ(remark.find("equality2") + remark.find("equality3"), 2 * std::string::npos) << remark;
}

TEST_F(Mjcf, KeyframesStartJoints) {
  ModelBuilder builder;
  file = add_mjcf_text(builder,
                       std::string("<mujoco><worldbody><body name='b'><freejoint/>") + kInertia +
                           "</body><body><joint name='j'/>" + kInertia +
                           "</body></worldbody><actuator><position joint='j' kp='2' ctrlrange='-1 0.5'/>"
                           "<motor joint='j' gear='3'/></actuator>"
                           "<keyframe><key name='up' qpos='1 2 3 0 1 0 0 0.5' qvel='0 0 1 0 0 2 0.25' ctrl='0.7 -1'/>"
                           "</keyframe></mujoco>",
                       "", {}, notes);
  start_at_keyframe(builder, file, "up");
  const Model model = builder.build();
  EXPECT_EQ(model.drives[0].target, 0.5) << "ctrl is clamped to its range";
  EXPECT_EQ(model.drives[1].feedforward, -3.0);
  EXPECT_EQ(model.q0.head<3>(), Vec3(1.0, 2.0, 3.0));
  EXPECT_EQ(model.q0[7], 0.5);
  // Half a turn about x: the body's z axis points down, the centre of mass lies along x.
  EXPECT_NEAR((model.v0.segment<3>(3) - Vec3(0.0, 0.0, -2.0)).norm(), 0.0, tolerance(1e-15));
  EXPECT_NEAR((model.v0.head<3>() - (Vec3(0.0, 0.0, 1.0) + Vec3(0.0, 0.0, -2.0).cross(Vec3(0.1, 0.0, 0.0)))).norm(),
              0.0, tolerance(1e-15));
  EXPECT_EQ(model.v0[6], 0.25);
  try {
    start_at_keyframe(builder, file, "upp");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no keyframe \"upp\"; did you mean \"up\"?");
  }
}

/// The first keyframe within all limits is named where the file's own start is not, and only there.
TEST_F(Mjcf, StartsOutsideOfLimitsPointToAKeyframe) {
  const std::string joints = "<worldbody><body><joint name='j' range='0.2 1'/>" + std::string(kInertia) +
                             "<body><joint name='k' range='-1 1'/>" + kInertia + "</body></body></worldbody>";
  const std::string keys = "<keyframe><key name='rest' qpos='0 0'/><key name='home' qpos='0.5 0.1'/></keyframe>";
  const std::string advice =
      "text: its keyframe \"home\" lies within all limits; start there with --keyframe "
      "\"home\", in Python and scene files with keyframe \"home\"";
  EXPECT_EQ(read(joints + keys).remarks.back(), advice);
  EXPECT_EQ(read(joints).remarks.size(), 1U) << "there is no keyframe";
  FileOptions given;
  given.joints["j"] = 0.3;
  EXPECT_TRUE(read(joints + keys, given).remarks.empty());
  ModelBuilder builder;
  file = add_mjcf_text(builder, "<mujoco><compiler angle=\"radian\"/>" + joints + keys + "</mujoco>", "", {}, notes);
  start_at_keyframe(builder, file, "home");
  EXPECT_TRUE(builder.build().remarks.empty());
}

/// A file's gravity and time step are the model's, whatever it was read for; without gravity there is none.
TEST_F(Mjcf, OptionsAreTheModels) {
  const std::string world = "<worldbody><geom size='0.1'/></worldbody>";
  Model model = read("<option gravity='1 2 3' timestep='0.003'/>" + world);
  EXPECT_EQ(model.gravity, Vec3(1.0, 2.0, 3.0));
  EXPECT_EQ(model.time_step, 0.003);
  EXPECT_EQ(make_options(model).dt, 0.003);
  EXPECT_EQ(Simulation(model).options().dt, 0.003);
  StepOptions own;
  own.dt = 0.01;
  EXPECT_EQ(Simulation(model, own).options().dt, 0.01);
  model = read("<option gravity='1 2 3'><flag gravity='disable'/></option>" + world);
  EXPECT_EQ(model.gravity, Vec3(0.0, 0.0, 0.0));
  EXPECT_EQ(model.time_step, 0.002);
  EXPECT_EQ(error_of("<option timestep='0'/>" + world), "model: time step is 0 s, expected 1e-09 to 10");
}

/// A file that excludes what MuJoCo's rule for parents that stand still would let touch contradicts nothing.
TEST_F(Mjcf, ExcludesOfWeldedParentsAreNoContradiction) {
  const std::string links = "<worldbody><body name='base'><geom size='0.1'/><body name='link'><joint/>" +
                            std::string(kInertia) + "<geom size='0.1'/></body></body></worldbody>";
  const std::string exclude = "<contact><exclude body1='base' body2='link'/></contact>";
  Model model = read(links);
  EXPECT_TRUE(may_collide(model, 0, 1));
  for (const char* flag : {"", "<option><flag filterparent='disable'/></option>"}) {
    model = read(flag + links + exclude);
    EXPECT_FALSE(may_collide(model, 0, 1));
    EXPECT_TRUE(model.remarks.empty());
  }
}

TEST_F(Mjcf, PriorityGravityCompensationAndOverride) {
  const std::string world =
      "<worldbody><body name='a' gravcomp='1.5'><freejoint/><geom size='0.1' friction='0.2' priority='2'/></body>"
      "<body name='b'><freejoint/><geom size='0.1' friction='0.7'/></body></worldbody>";
  Model model = read(world);
  EXPECT_EQ(combine(model, 0, 1).mu, 0.2);
  EXPECT_EQ(model.bodies[0].gravcomp, 1.5);
  EXPECT_TRUE(notes.ignored.empty());
  model =
      read("<option o_friction='0.4 0.4 0 0 0'><flag override='enable' spring='disable' damper='disable'/></option>" +
           world);
  EXPECT_EQ(combine(model, 0, 1).mu, 0.4);
  EXPECT_EQ(model.bodies[0].gravcomp, 0.0) << "nothing passive acts";
}

/// What is written is read back as it was.
TEST_F(Mjcf, PriorityAndGravityCompensationAreWritten) {
  ModelBuilder builder;
  builder.set_friction_combine(Combine::kMaximum);
  builder.add_ground(Plane{}, {}, Material{0.9});
  BodySpec body;
  body.name = "b";
  body.mass = 1.0;
  body.inertia = Mat3::Identity();
  body.gravcomp = -0.3;
  GeomSpec ball;
  ball.body = builder.add_body(body);
  ball.shape = Sphere{0.1};
  ball.material = Material{0.2, 0.0, false, -4};
  builder.add_geom(ball);
  FileNotes written;
  ModelBuilder again;
  add_mjcf_text(again, write_mjcf(builder.build(), 0.001, written), "", {}, notes);
  const Model model = again.build();
  EXPECT_EQ(model.bodies[0].gravcomp, -0.3);
  EXPECT_EQ(model.geoms[1].material.priority, -4);
  EXPECT_EQ(combine(model, 0, 1).mu, 0.9);
  EXPECT_TRUE(notes.ignored.empty());
  EXPECT_TRUE(written.ignored.empty());
}

TEST_F(Mjcf, LiesWhereItIsPut) {
  FileOptions options;
  options.name = "left";
  options.X_WF = make_rotation(Vec3::UnitZ(), 1.0, Vec3(5.0, 0.0, 1.0));
  const Model model =
      read(std::string(
               "<worldbody><geom name='floor' type='plane' size='1 1 1' pos='0 0 0.5'/><body name='b' pos='1 0 0'>") +
               kInertia + "<freejoint/></body><body name='arm' pos='0 1 0'><joint name='j'/>" + kInertia +
               "</body></worldbody>",
           options);
  Kinematics kin;
  compute_kinematics(model, model.q0, model.v0, kin);
  EXPECT_EQ(model.bodies[0].name, "left/b");
  EXPECT_EQ(model.joints[1].name, "left/j");
  EXPECT_NEAR((kin.X_WB[0].p - options.X_WF * Vec3(1.0, 0.0, 0.0)).norm(), 0.0, tolerance(1e-15));
  EXPECT_NEAR((kin.X_WB[0].R - options.X_WF.R).norm(), 0.0, tolerance(1e-15));
  EXPECT_NEAR((kin.X_WB[1].p - options.X_WF * Vec3(0.0, 1.0, 0.0)).norm(), 0.0, tolerance(1e-15));
  EXPECT_NEAR((model.geoms[0].X_BG.p - options.X_WF * Vec3(0.0, 0.0, 0.5)).norm(), 0.0, tolerance(1e-15));
}

TEST_F(Mjcf, BasesAreFixedOrFreed) {
  const std::string text = std::string("<worldbody><body name='b' pos='0 0 1'><freejoint/>") + kInertia +
                           "</body><body name='c'>" + kInertia + "</body></worldbody>";
  FileOptions options;
  EXPECT_EQ(read(text, options).num_v, 6);
  options.base = Base::kFixed;
  EXPECT_EQ(read(text, options).num_v, 0);
  options.base = Base::kFloating;
  EXPECT_EQ(read(text, options).num_v, 12);
}

TEST_F(Mjcf, ClosuresJoinSites) {
  // Frames that coincide, of bodies and of the world, which lies elsewhere.
  FileOptions options;
  options.X_WF = {exp_so3(Vec3(0.0, 0.0, 0.5)), Vec3(1.0, 2.0, 3.0)};
  const Model model = read(std::string("<worldbody><site name='w' pos='0.1 0.2 0.3' quat='1 0 0 1'/>"
                                       "<body><freejoint/>") +
                               kInertia + "<site name='s' pos='0.4 0.5 0.6' quat='1 1 0 0'/></body></worldbody>" +
                               "<equality><connect site1='s' site2='w'/><weld site1='w' site2='s'/></equality>",
                           options);
  EXPECT_TRUE(notes.ignored.empty());
  ASSERT_EQ(model.closures.size(), 2U);
  const Pose s{exp_so3(Vec3(0.5 * M_PI, 0.0, 0.0)), Vec3(0.4, 0.5, 0.6)};
  const Pose w = options.X_WF * Pose{exp_so3(Vec3(0.0, 0.0, 0.5 * M_PI)), Vec3(0.1, 0.2, 0.3)};
  EXPECT_EQ(model.closures[0].kind, ClosureKind::kConnect);
  EXPECT_NEAR((model.closures[0].X_a.p - s.p).norm(), 0.0, 1e-15);
  EXPECT_NEAR((model.closures[0].X_b.p - w.p).norm(), 0.0, 1e-15);
  EXPECT_EQ(model.closures[1].kind, ClosureKind::kWeld);
  EXPECT_EQ(model.closures[1].a, kGround);
  EXPECT_NEAR((model.closures[1].X_a.p - w.p).norm() + (model.closures[1].X_a.R - w.R).norm(), 0.0, 1e-14);
  EXPECT_NEAR((model.closures[1].X_b.p - s.p).norm() + (model.closures[1].X_b.R - s.R).norm(), 0.0, 1e-14);
}

TEST_F(Mjcf, TimeStepsThatNobodyMeans) {
  for (const char* step : {"100", "1e-12"}) {
    const std::string body = std::string("<worldbody><body><freejoint/>") + kInertia + "</body></worldbody>";
    EXPECT_EQ(error_of(std::string("<option timestep='") + step + "'/>" + body),
              std::string("model: time step is ") + step + " s, expected 1e-09 to 10");
  }
}

TEST_F(Mjcf, WhatHasNoEffectIsCounted) {
  static_cast<void>(read(
      std::string("<option density='1000'/><worldbody><site name='s'/><body><joint name='j' type='ball'/>") + kInertia +
      "<geom size='0.1' condim='6'/><site name='t'/></body></worldbody>"
      "<tendon><spatial><site site='s'/><site site='t'/></spatial></tendon>"
      "<actuator><motor site='t'/></actuator><sensor><ballquat joint='j'/></sensor>"));
  EXPECT_EQ(notes.ignored.count("spatial tendon"), 1U);
  EXPECT_EQ(notes.ignored.count("fluid (density, viscosity, wind)"), 1U);
  EXPECT_EQ(notes.ignored.count("torsional or rolling friction of a geom (condim 4, 6)"), 1U);
  int actuators = 0;
  for (const auto& [kind, count] : notes.ignored) actuators += kind.rfind("actuator", 0) == 0 ? count : 0;
  EXPECT_EQ(actuators, 1);
}

TEST_F(Mjcf, HeightFieldsKeepTheirHeights) {
  const Model model = read(
      "<asset><hfield name='h' nrow='2' ncol='3' size='3 2 0.5 1' elevation='0 0.2 0.4  0.6 0.8 1'/></asset>"
      "<worldbody><geom type='hfield' hfield='h'/></worldbody>");
  ASSERT_EQ(model.num_geoms(), 1);
  const HeightGrid& grid = *std::get<HeightField>(model.geoms[0].shape).grid;
  EXPECT_EQ(grid.rows, 2);
  EXPECT_EQ(grid.columns, 3);
  EXPECT_EQ(grid.half_x, 3.0);
  EXPECT_EQ(grid.half_y, 2.0);
  EXPECT_NEAR(*std::max_element(grid.height.begin(), grid.height.end()), 0.5, 1e-7);
}

TEST_F(Mjcf, BrokenFilesAreNamed) {
  EXPECT_NE(error_of("<worldbody><body></worldbody>").find("text:1: "), std::string::npos);
  EXPECT_NE(error_of("<worldbody><bod/></worldbody>").find("bod"), std::string::npos);
  EXPECT_NE(error_of("<worldbody><body><joint/></body></worldbody>").find("mass"), std::string::npos);
  EXPECT_NE(error_of("<asset><mesh name='m' file='nowhere.stl'/></asset>").find("nowhere.stl"), std::string::npos);
  FileOptions options;
  options.joints["elbo"] = 1.0;
  EXPECT_NE(error_of(std::string("<worldbody><body><joint name='elbow'/>") + kInertia + "</body></worldbody>", options)
                .find("did you mean \"elbow\""),
            std::string::npos);
  ModelBuilder builder;
  EXPECT_THROW(static_cast<void>(add_mjcf(builder, "no/such/file.xml", {}, notes)), Error);
}

TEST_F(Mjcf, SurvivesRandomDamage) {
  const std::string text =
      std::string("<worldbody><geom type='plane' size='1 1 1'/><body name='a'><joint name='j' range='-1 1'/>") +
      kInertia +
      "<geom type='capsule' size='0.1 0.2'/><body><joint type='ball'/><geom size='0.1'/></body></body></worldbody>"
      "<actuator><position joint='j' kp='3'/></actuator><equality><joint joint1='j' polycoef='0 0 0 0 0'/></equality>";
  scenes::Random random(9);
  int loaded = 0, refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string damaged = text;
    const int changes = 1 + static_cast<int>(3.0 * random.uniform());
    for (int k = 0; k < changes; ++k) {
      const auto at = static_cast<std::size_t>(random.uniform() * static_cast<double>(damaged.size()));
      const double what = random.uniform();
      if (what < 0.4) {
        damaged[at] = static_cast<char>(33 + static_cast<int>(90.0 * random.uniform()));
      } else if (what < 0.7) {
        damaged.erase(at, 1 + static_cast<std::size_t>(8.0 * random.uniform()));
      } else {
        damaged.insert(
            at,
            damaged.substr(static_cast<std::size_t>(random.uniform() * 0.5 * static_cast<double>(damaged.size())), 12));
      }
    }
    const std::string error = error_of(damaged);
    error.empty() ? ++loaded : ++refused;
  }
  EXPECT_GT(loaded, 5);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace almond
