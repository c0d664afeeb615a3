// URDF elements become what they mean: joints, limits, inertias, shapes, mimics; names and start values are those asked
// for; and what is wrong is refused in one line with its place.

#include <algorithm>

#include "almond/dynamics/kinematics.hpp"
#include "almond/load/urdf.hpp"
#include "load/load_fixture.hpp"
#include "load/robot_samples.hpp"

namespace almond::testing {
namespace {

const char* const kInertial =
    "<inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial>";

std::string link(const std::string& name, const std::string& inside = kInertial) {
  return "<link name=\"" + name + "\">" + inside + "</link>\n";
}

std::string joint(const std::string& name, const std::string& type, const std::string& parent, const std::string& child,
                  const std::string& inside = "") {
  return "<joint name=\"" + name + "\" type=\"" + type + "\"><parent link=\"" + parent + "\"/><child link=\"" + child +
         "\"/>" + inside + "</joint>\n";
}

const char* const kLimit = "<limit lower=\"-1\" upper=\"2\" effort=\"30\" velocity=\"4\"/>";

std::string robot(const std::string& inside) { return "<robot name=\"r\">\n" + inside + "</robot>\n"; }

struct Loaded {
  ModelBuilder builder;
  FileNotes notes;
  UrdfRobot robot;
  Model model;

  explicit Loaded(const std::string& text, const FileOptions& options = {}, const std::string& folder = ".") {
    robot = add_urdf_text(builder, text, folder, options, notes);
    model = builder.build();
  }
  [[nodiscard]] const Joint& joint(const std::string& name) const { return model.joints[model.joint(name)]; }
  [[nodiscard]] double start(const std::string& name) const { return model.q0[joint(name).q_begin]; }
  [[nodiscard]] Pose pose(const std::string& body) const {
    Kinematics kin;
    compute_kinematics(model, model.q0, model.v0, kin);
    return kin.X_WB[model.body(body)];
  }
  [[nodiscard]] bool says(const std::string& part) const {
    return std::any_of(notes.said.begin(), notes.said.end(), [&](const std::string& s) { return contains(s, part); });
  }
};

std::string error_of(const std::string& text, const FileOptions& options = {}) {
  try {
    const Loaded loaded(text, options);
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  return "no error";
}

TEST(Urdf, JointsOfEveryKind) {
  const Loaded loaded(robot(
      link("base") + link("a") + link("b") + link("c") + link("d") +
      joint("turn", "revolute", "base", "a",
            std::string("<origin xyz=\"1 2 3\" rpy=\"0 0 1.5707963267948966\"/><axis xyz=\"0 2 0\"/>") + kLimit +
                "<dynamics damping=\"0.5\" friction=\"0.25\"/>") +
      joint("spin", "continuous", "a", "b", "<axis xyz=\"0 0 1\"/>") + joint("slide", "prismatic", "b", "c", kLimit) +
      joint("weld", "fixed", "c", "d", "<origin xyz=\"0 0 1\"/>")));
  EXPECT_EQ(loaded.model.num_v, 3);
  EXPECT_EQ(loaded.robot.name, "r");
  EXPECT_EQ(loaded.robot.root, loaded.model.body("base"));
  const Joint& turn = loaded.joint("turn");
  EXPECT_EQ(turn.kind, JointKind::kRevolute);
  EXPECT_EQ(turn.axis, Vec3::UnitY());
  EXPECT_EQ(turn.lower, -1.0);
  EXPECT_EQ(turn.upper, 2.0);
  EXPECT_EQ(turn.damping, 0.5);
  EXPECT_EQ(turn.dry_friction, 0.25);
  EXPECT_EQ(turn.X_PJ.p, Vec3(1.0, 2.0, 3.0));
  EXPECT_LT((turn.X_PJ.R.col(0) - Vec3::UnitY()).norm(), 1e-12);
  EXPECT_EQ(loaded.joint("spin").kind, JointKind::kContinuous);
  EXPECT_EQ(loaded.joint("slide").kind, JointKind::kPrismatic);
  EXPECT_EQ(loaded.joint("slide").axis, Vec3::UnitX());
  EXPECT_EQ(loaded.joint("weld").kind, JointKind::kFixed);
  ASSERT_EQ(loaded.robot.motors.size(), 3U);
  EXPECT_EQ(loaded.robot.motors[0].joint, loaded.model.joint("turn"));
  EXPECT_EQ(loaded.robot.motors[0].effort, 30.0);
  EXPECT_EQ(loaded.robot.motors[0].velocity, 4.0);
  EXPECT_EQ(loaded.robot.motors[1].effort, kInfinity);
}

TEST(Urdf, TheBaseIsFixedUnlessAskedFor) {
  const std::string text = robot(link("base") + link("a") + joint("j", "revolute", "base", "a", kLimit));
  FileOptions options;
  options.X_WF = make_translation(0.0, 0.0, 0.7);
  for (const Base base : {Base::kAsInFile, Base::kFixed}) {
    options.base = base;
    const Loaded loaded(text, options);
    EXPECT_EQ(loaded.model.num_v, 1);
    EXPECT_EQ(loaded.pose("base").p.z(), 0.7);
  }
  options.base = Base::kFloating;
  const Loaded loaded(text, options);
  EXPECT_EQ(loaded.model.num_v, 7);
  EXPECT_EQ(loaded.joint("root_joint").kind, JointKind::kFree);
  EXPECT_EQ(loaded.pose("base").p.z(), 0.7);
  // The name gives way to one of the file.
  const std::string taken = robot(link("base") + link("a") + joint("root_joint", "revolute", "base", "a", kLimit));
  EXPECT_EQ(Loaded(taken, options).joint("root_joint_").kind, JointKind::kFree);
  EXPECT_TRUE(contains(error_of(robot(link("base", "")), options), "no link has mass"));
}

TEST(Urdf, FloatingJointsBelowWhatStandsStill) {
  const std::string origin = "<origin xyz=\"0 0 1\"/>";
  const Loaded loaded(robot(link("world", "") + link("stand", "") + link("body") +
                            joint("mount", "fixed", "world", "stand", origin) +
                            joint("free", "floating", "stand", "body", origin)));
  EXPECT_EQ(loaded.joint("free").kind, JointKind::kFree);
  EXPECT_EQ(loaded.pose("body").p, Vec3(0.0, 0.0, 2.0));
  EXPECT_TRUE(contains(error_of(robot(link("base") + link("a") + link("b") +
                                      joint("j", "revolute", "base", "a", kLimit) + joint("f", "floating", "a", "b"))),
                       "urdf:6: joint \"f\": is floating below a link that moves"));
}

TEST(Urdf, PlanarJointsAreThree) {
  FileOptions options;
  options.joints = {{"p/x", 0.5}, {"p/y", -0.25}, {"p/angle", M_PI / 2.0}};
  const Loaded loaded(robot(link("base") + link("cart") +
                            joint("p", "planar", "base", "cart", "<origin xyz=\"0 0 1\"/><axis xyz=\"0 0 1\"/>")),
                      options);
  EXPECT_EQ(loaded.model.num_v, 3);
  const Pose X = loaded.pose("cart");
  EXPECT_LT((X.p - Vec3(0.5, -0.25, 1.0)).norm(), 1e-12);
  EXPECT_LT((X.R.col(0) - Vec3::UnitY()).norm(), 1e-12);
  EXPECT_EQ(loaded.model.bodies[loaded.model.body("cart/x")].mass, 0.0);
}

TEST(Urdf, InertialFramesAreTurnedIntoTheLink) {
  const Loaded loaded(robot(link("base", R"(<inertial><origin xyz="0.1 0.2 0.3" rpy="0 0 1.5707963267948966"/>
      <mass value="2"/><inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0" iyz="0"/></inertial>)")));
  const Body& body = loaded.model.bodies[0];
  EXPECT_EQ(body.mass, 2.0);
  EXPECT_EQ(body.com, Vec3(0.1, 0.2, 0.3));
  Mat3 expected;
  expected << 2.0, -0.1, 0.0, -0.1, 1.0, 0.0, 0.0, 0.0, 2.5;
  EXPECT_LT((body.inertia - expected).norm(), 1e-12);
}

TEST(Urdf, InertiasOfNoRealBodyAreTakenWithARemark) {
  const auto inertial = [](const char* mass, const char* ixx) {
    return std::string("<inertial><mass value=\"") + mass + "\"/><inertia ixx=\"" + ixx +
           "\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial>";
  };
  const auto remarks = [&](const char* mass, const char* ixx) {
    return Loaded(robot(link("base", "") + link("a", inertial(mass, ixx)) + link("b") +
                        joint("j", "continuous", "base", "a") + joint("k", "fixed", "a", "b")))
        .model.remarks;
  };
  EXPECT_EQ(remarks("1", "1"), std::vector<std::string>{});
  EXPECT_EQ(remarks("1", "-1"),
            std::vector<std::string>{"body \"a\": the principal moments are (-1, 1, 1) kg m², those "
                                     "of a real body are > 0"});
  EXPECT_EQ(remarks("1", "3"), std::vector<std::string>{"body \"a\": the principal moments are (1, 1, 3) kg m², the "
                                                        "largest of a real body is at most the sum of the others"});
  EXPECT_EQ(remarks("0", "1"),
            std::vector<std::string>{"body \"a\": mass is 0 but the principal moments are (1, 1, 1) kg m²"});
}

TEST(Urdf, CollisionsBecomeGeomsAndVisualsAreShown) {
  const std::string shapes = R"(<visual><geometry><mesh filename="package://x/y.dae" scale="1 2 3"/></geometry></visual>
    <visual><origin xyz="0 0 1"/><geometry><sphere radius="2"/></geometry>
      <material name="red"><color rgba="1 0.5 0 1"/></material></visual>
    <collision><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry></collision>
    <collision><geometry><sphere radius="0.5"/></geometry></collision>
    <collision><geometry><cylinder radius="0.5" length="3"/></geometry></collision>
    <collision><geometry><capsule radius="0.25" length="2"></capsule></geometry></collision>
    <collision><geometry><drake:capsule radius="0.25" length="4"/></geometry></collision>
    <collision><geometry><box size="1 0 3"/></geometry></collision>)";
  std::vector<Look> looks;
  FileOptions options;
  options.looks = &looks;
  const Loaded loaded(robot(link("base", shapes)), options);
  ASSERT_EQ(loaded.model.num_geoms(), 5);
  EXPECT_EQ(std::get<Box>(loaded.model.geoms[0].shape).half, Vec3(0.5, 1.0, 1.5));
  EXPECT_EQ(loaded.model.geoms[0].X_BG.p, Vec3::UnitZ());
  EXPECT_EQ(std::get<Sphere>(loaded.model.geoms[1].shape).radius, 0.5);
  EXPECT_EQ(std::get<Cylinder>(loaded.model.geoms[2].shape).half_length, 1.5);
  EXPECT_EQ(std::get<Capsule>(loaded.model.geoms[3].shape).half_length, 1.0);
  EXPECT_EQ(std::get<Capsule>(loaded.model.geoms[4].shape).half_length, 2.0);
  EXPECT_TRUE(loaded.says("link \"base\": a collision box without volume is left out"));
  EXPECT_EQ(loaded.robot.num_visuals, 2);
  ASSERT_EQ(looks.size(), 1U);
  EXPECT_TRUE(loaded.says("link \"base\" is not shown as it looks: mesh \"package://x/y.dae\""));
  EXPECT_EQ(std::get<Sphere>(looks[0].shape).radius, 2.0);
  EXPECT_EQ(looks[0].X_BG.p, Vec3::UnitZ());
  EXPECT_EQ(looks[0].color, (Color{1.0, 0.5, 0.0, 1.0}));
  EXPECT_EQ(loaded.notes.ignored.count("visual"), 0U);
  EXPECT_EQ(Loaded(robot(link("base", shapes))).notes.ignored.at("visual"), 2);
}

class UrdfMeshes : public FolderTest {};

TEST_F(UrdfMeshes, AreHullsOrTrianglesOrNothing) {
  write_file(path("box.stl"), SampleBox().stl_text());
  const std::string mesh = "<collision><geometry><mesh filename=\"box.stl\" scale=\"1 1 2\"/></geometry></collision>";
  write_file(path("r.urdf"), robot(link("a", mesh + mesh) + link("b", mesh) + joint("j", "fixed", "a", "b")));
  FileOptions options;
  const auto load = [&](MeshUse use) {
    options.meshes = use;
    ModelBuilder builder;
    FileNotes notes;
    add_urdf(builder, path("r.urdf"), options, notes);
    return std::make_pair(builder.build(), notes);
  };
  const auto [hulls, hull_notes] = load(MeshUse::kHull);
  ASSERT_EQ(hulls.num_geoms(), 3);
  EXPECT_EQ(std::get<ConvexMesh>(hulls.geoms[0].shape).hull, std::get<ConvexMesh>(hulls.geoms[2].shape).hull);
  EXPECT_NEAR(solid_properties(hulls.geoms[0].shape, 1.0).mass, 12.0, 1e-5);
  EXPECT_EQ(hull_notes.said.size(), 1U);
  const auto [triangles, triangle_notes] = load(MeshUse::kTriangles);
  EXPECT_EQ(std::get<TriangleMesh>(triangles.geoms[0].shape).mesh,
            std::get<TriangleMesh>(triangles.geoms[1].shape).mesh);
  const auto [none, none_notes] = load(MeshUse::kNone);
  EXPECT_EQ(none.num_geoms(), 0);
  EXPECT_EQ(none_notes.ignored.at("collision mesh"), 3);
  std::filesystem::remove(path("box.stl"));
  try {
    load(MeshUse::kHull);
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(contains(error.what(), path("r.urdf") + ":2: mesh \"box.stl\" is not there; looked for "))
        << error.what();
  }
}

TEST(Urdf, MimicsAreClosuresAndStartClosed) {
  const std::string text = robot(
      link("base") + link("a") + link("b") + link("c") + joint("lead", "revolute", "base", "a", kLimit) +
      joint("chain", "revolute", "base", "c", std::string(kLimit) + "<mimic joint=\"follow\" multiplier=\"-1\"/>") +
      joint("follow", "prismatic", "base", "b",
            std::string(kLimit) + "<mimic joint=\"lead\" multiplier=\"2\" offset=\"0.5\"/>"));
  FileOptions options;
  options.joints = {{"lead", 0.25}};
  const Loaded loaded(text, options);
  EXPECT_EQ(loaded.start("lead"), 0.25);
  EXPECT_EQ(loaded.start("follow"), 1.0);
  EXPECT_EQ(loaded.start("chain"), -1.0);
  EXPECT_EQ(loaded.model.remarks, std::vector<std::string>{});
  ASSERT_EQ(loaded.model.closures.size(), 2U);
  for (const Closure& closure : loaded.model.closures) EXPECT_EQ(closure.kind, ClosureKind::kMimic);
  EXPECT_EQ(loaded.robot.motors.size(), 1U);
  // One that names nothing moves by itself, as it does elsewhere.
  const Loaded alone(robot(link("base") + link("a") +
                           joint("j", "revolute", "base", "a", std::string(kLimit) + "<mimic joint=\"gone\"/>")));
  EXPECT_TRUE(alone.says("joint \"j\": mimics \"gone\", which does not exist"));
}

TEST(Urdf, JointsWithoutARangeMoveFreelyAndThoseThatMoveNothingAreWelded) {
  FileOptions options;
  options.joints = {{"idle", 0.5}};
  const Loaded loaded(robot(link("base") + link("a") + link("tip", "") + link("dot", "") +
                            joint("j", "revolute", "base", "a", "<limit effort=\"1\" velocity=\"1\"/>") +
                            joint("idle", "prismatic", "a", "tip", kLimit) + joint("more", "fixed", "tip", "dot")),
                      options);
  EXPECT_EQ(loaded.joint("j").lower, -kInfinity);
  EXPECT_EQ(loaded.joint("j").upper, kInfinity);
  EXPECT_EQ(loaded.joint("idle").kind, JointKind::kFixed);
  EXPECT_EQ(loaded.pose("tip").p.x(), 0.5);
  EXPECT_TRUE(loaded.says("joints that move nothing with mass, welded: \"idle\""));
  EXPECT_TRUE(
      Loaded(robot(link("base") + link("a") +
                   joint("j", "revolute", "base", "a", "<limit lower=\"1\" upper=\"1\" effort=\"1\" velocity=\"1\"/>")))
          .says("joint \"j\": both limits are 1, so it cannot move"));
}

TEST(Urdf, LockedJointsStayWhereTheyStart) {
  const std::string text =
      robot(link("a") + link("b") + link("c") +
            joint("ab", "revolute", "a", "b", std::string("<origin xyz=\"0 0 1\"/><axis xyz=\"0 1 0\"/>") + kLimit) +
            joint("bc", "revolute", "b", "c", std::string("<origin xyz=\"0 0 1\"/><axis xyz=\"0 1 0\"/>") + kLimit));
  FileOptions free, locked;
  free.joints = locked.joints = {{"ab", 0.3}, {"bc", 0.4}};
  locked.locked = {"ab"};
  const Loaded moving(text, free), still(text, locked);
  EXPECT_EQ(moving.model.num_v, 2);
  EXPECT_EQ(still.model.num_v, 1);
  EXPECT_EQ(still.robot.motors.size(), 1U);
  EXPECT_TRUE(still.notes.said.empty());  // it was asked for
  EXPECT_LT((moving.pose("c").p - still.pose("c").p).norm(), 1e-15);
  EXPECT_LT((moving.pose("c").R - still.pose("c").R).norm(), 1e-15);
  locked.locked = {"bd"};
  EXPECT_TRUE(contains(error_of(text, locked), "no joint is called \"bd\" (joints to lock); did you mean"));
}

TEST(Urdf, TwoOfThemWithNamesOfTheirOwn) {
  const std::string text = robot(link("base") + link("a") + joint("j", "revolute", "base", "a", kLimit));
  ModelBuilder builder;
  FileNotes notes;
  FileOptions options;
  for (const char* name : {"left", "right"}) {
    options.name = name;
    options.X_WF.p.y() += 1.0;
    add_urdf_text(builder, text, ".", options, notes);
  }
  const Model model = builder.build();
  EXPECT_EQ(model.num_v, 2);
  EXPECT_EQ(model.joints[model.joint("right/j")].kind, JointKind::kRevolute);
  EXPECT_EQ(model.joints[model.joint("left/root_joint")].X_PJ.p.y(), 1.0);
}

TEST(Urdf, SelfCollisionCanBeTurnedOff) {
  const std::string ball =
      std::string(kInertial) + "<collision><geometry><sphere radius=\"1\"/></geometry></collision>";
  const std::string text = robot(link("base", ball) + link("a", ball) + link("b", ball) +
                                 joint("j", "continuous", "base", "a") + joint("k", "continuous", "a", "b"));
  FileOptions options;
  EXPECT_TRUE(may_collide(Loaded(text, options).model, 0, 2));
  EXPECT_FALSE(may_collide(Loaded(text, options).model, 0, 1));
  options.self_collision = false;
  EXPECT_FALSE(may_collide(Loaded(text, options).model, 0, 2));
}

TEST(Urdf, WhatHasNoEffectIsCounted) {
  const Loaded loaded(
      robot("<material name=\"m\"><color rgba=\"1 0 0 1\"/></material>" + link("base") + link("a") +
            "<gazebo reference=\"a\"><mu1>0.2</mu1><material>x</material></gazebo><gazebo/>"
            "<transmission name=\"t\"><joint name=\"j\"/></transmission>" +
            joint("j", "continuous", "base", "a", "<safety_controller k_velocity=\"1\"/><calibration rising=\"0\"/>")));
  const std::map<std::string, int> expected = {
      {"material", 1},          {"gazebo", 1},     {"gazebo (other than mu1, mu2)", 1}, {"transmission", 1},
      {"safety_controller", 1}, {"calibration", 1}};
  EXPECT_EQ(loaded.notes.ignored, expected);
}

TEST(Urdf, GazeboGivesFrictionToTheCollisionsOfALink) {
  const std::string sphere = "<collision><geometry><sphere radius=\"1\"/></geometry></collision>";
  const auto with = [&](const std::string& gazebo) {
    return robot(link("base", kInertial + sphere) + link("a", kInertial + sphere + sphere) + gazebo +
                 joint("j", "continuous", "base", "a"));
  };
  const auto block = [](const std::string& inside) { return "<gazebo reference=\"a\">" + inside + "</gazebo>"; };
  const auto friction = [&](const Loaded& loaded) {
    EXPECT_EQ(loaded.model.geoms[0].material.mu, Material{}.mu) << "the other link keeps its own";
    EXPECT_EQ(loaded.model.geoms[1].material.mu, loaded.model.geoms[2].material.mu);
    return loaded.model.geoms[1].material.mu;
  };
  const Loaded both(with(block("<mu1> 0.9 </mu1><mu2>0.9</mu2>")));
  EXPECT_EQ(friction(both), 0.9);
  EXPECT_TRUE(both.notes.said.empty() && both.notes.ignored.empty());
  EXPECT_EQ(friction(Loaded(with(block("<mu2 value=\"0.3\"/>")))), 0.3);
  EXPECT_EQ(friction(Loaded(with(block("<mu1>0</mu1>")))), 0.0);

  const Loaded unequal(with(block("<mu1>0.9</mu1><mu2>0.4</mu2><kp>1e6</kp><x><mu1>7</mu1></x>")));
  EXPECT_EQ(friction(unequal), 0.4);
  EXPECT_EQ(unequal.notes.said, std::vector<std::string>{"link \"a\": friction 0.9 and 0.4 along two directions in "
                                                         "<gazebo>; the smaller one holds for all"});
  EXPECT_EQ(unequal.notes.ignored, (std::map<std::string, int>{{"gazebo (other than mu1, mu2)", 1}}));

  const Loaded sticky(with(block("<mu1>1e14</mu1>")));
  EXPECT_EQ(friction(sticky), 10.0);
  EXPECT_EQ(sticky.notes.said, std::vector<std::string>{"link \"a\": friction 1e+14 in <gazebo> is taken as 10"});

  for (const char* elsewhere : {"<gazebo><mu1>0.2</mu1></gazebo>", "<gazebo reference=\"j\"><mu1>0.2</mu1></gazebo>",
                                "<gazebo reference=\"a\"><plugin name=\"mu1\"/></gazebo>"}) {
    const Loaded loaded(with(elsewhere));
    EXPECT_EQ(friction(loaded), Material{}.mu) << elsewhere;
    EXPECT_EQ(loaded.notes.ignored, (std::map<std::string, int>{{"gazebo", 1}})) << elsewhere;
  }
  for (const char* wrong : {"<mu1>rough</mu1>", "<mu1>-0.1</mu1>", "<mu1/>", "<mu1>nan</mu1>", "<mu1>0.1 0.2</mu1>"}) {
    try {
      const Loaded loaded(with(block(wrong)));
      FAIL() << wrong;
    } catch (const Error& error) {
      EXPECT_TRUE(contains(error.what(), "gazebo: mu1 is ") && contains(error.what(), "expected a number >= 0"))
          << error.what();
      EXPECT_TRUE(contains(error.what(), "urdf:4: ")) << error.what();
    }
  }
}

TEST(Urdf, WrongStructureIsRefusedWithItsLine) {
  const std::string good = link("base") + link("a");
  const auto wrong = [&](const std::string& inside, const std::string& part) {
    const std::string error = error_of(robot(inside));
    EXPECT_TRUE(contains(error, part)) << error << "\nexpected " << part;
  };
  wrong(good, "urdf:3: link \"a\": no joint holds it, and none holds link \"base\", expected one root");
  wrong(good + link("a"), "urdf:4: link \"a\": the name is taken by line 3");
  wrong(good + joint("j", "fixed", "base", "b"), "urdf:4: joint \"j\": child link \"b\" does not exist");
  wrong(link("base_link") + link("a") + joint("j", "fixed", "base_lnk", "a"), "did you mean \"base_link\"?");
  wrong(good + joint("j", "fixed", "base", "a") + joint("j", "fixed", "base", "a"),
        "urdf:5: joint \"j\": the name is taken by line 4");
  wrong(good + joint("j", "fixed", "base", "a") + joint("k", "fixed", "base", "a"),
        "urdf:5: joint \"k\": link \"a\" hangs on joint \"j\" already");
  wrong(good + joint("j", "fixed", "base", "a") + joint("k", "fixed", "a", "base"), "expected one root");
  wrong(good + link("b") + link("c") + joint("j", "fixed", "base", "a") + joint("k", "fixed", "b", "c") +
            joint("l", "fixed", "c", "b"),
        "is in a loop of joints");
  wrong(good + "<joint name=\"j\" type=\"fixed\"><parent link=\"base\"/></joint>", "urdf:4: joint \"j\": no <child");
  wrong("<link/>", "urdf:2: link without a name");
  wrong("", "urdf: no links, expected at least one <link>");
  EXPECT_TRUE(contains(error_of("<robot name=\"r\"><xacro:arm/></robot>"), "expected what `xacro FILE` prints"));
  EXPECT_TRUE(contains(error_of(""), "is empty"));
  EXPECT_TRUE(contains(error_of("hello"), "no XML element"));
  EXPECT_TRUE(contains(error_of("<mujoco/>"), "the outermost element is <mujoco>, expected <robot>"));
}

TEST(Urdf, BrokenXmlIsRefusedWithItsLine) {
  EXPECT_EQ(error_of("<robot name=\"r\">\n<link name=\"a\">\n</robot>"), "urdf:3: </robot> closes <link> of line 2");
  EXPECT_EQ(error_of("<robot name=\"r\">\n<link name=\"a\"/>\n"), "urdf:1: <robot> is never closed");
  EXPECT_TRUE(contains(error_of("<robot>\n<link name=a/></robot>"), "urdf:2: <link: "));
  EXPECT_TRUE(contains(error_of("<robot>\n<!-- "), "urdf:2: a comment is never closed"));
  EXPECT_TRUE(contains(error_of("<robot/>\n<robot/>"), "urdf:2: a second outermost element"));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  EXPECT_TRUE(contains(error_of(deep), "nested deeper"));
  EXPECT_TRUE(contains(error_of(std::string("<robot>\0</robot>", 16)), "a zero byte"));
}

TEST(Urdf, WrongValuesAreRefusedWithTheirLine) {
  const auto wrong = [&](const std::string& inside, const std::string& part, const FileOptions& options = {}) {
    const std::string error = error_of(robot(inside), options);
    EXPECT_TRUE(contains(error, part)) << error << "\nexpected " << part;
  };
  const auto mass = [](const char* value) {
    return std::string("<inertial><mass value=\"") + value +
           "\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial>";
  };
  wrong(link("base", mass("-1")), "urdf:2: body \"base\": mass is -1, expected");
  wrong(link("base", mass("nan")), "urdf:2: link \"base\": ");
  wrong(link("base", mass("heavy")), "urdf:2: link \"base\": ");
  wrong(link("base", "<collision><geometry><sphere radius=\"-1\"/></geometry></collision>"), "urdf:2: ");
  wrong(link("base", "<collision><geometry><torus radius=\"1\"/></geometry></collision>"), "torus");
  wrong(link("base&#x80;"), "urdf:2: link \"base&#x80;\": cannot be read, its name is no UTF-8 text");
  const std::string two = link("base") + link("a");
  wrong(two + joint("j", "revolute", "base", "a", "<limit lower=\"2\" upper=\"1\" effort=\"1\" velocity=\"1\"/>"),
        "urdf:4: joint \"j\": limits 2 to 1, expected the lower one first");
  wrong(two + joint("j", "revolute", "base", "a"), "urdf:4: joint \"j\": ");
  wrong(two + joint("j", "hinge", "base", "a"), "joint \"j\": ");
  wrong(two + joint("j", "continuous", "base", "a", "<axis xyz=\"0 0 0\"/>"), "urdf:4: joint \"j\": axis is (0, 0, 0)");
  wrong(two + joint("j", "continuous", "base", "a", "<dynamics damping=\"-1\"/>"),
        "urdf:4: joint \"j\": damping is -1");
  wrong(two + joint("j", "continuous", "base", "a", std::string("<mimic joint=\"j\"/>")), "closes a joint on itself");
  FileOptions options;
  options.joints = {{"elbo", 1.0}};
  wrong(two + joint("elbow", "continuous", "base", "a"),
        "no joint is called \"elbo\" (start values); did you mean \"elbow\"?", options);
  options.joints = {{"elbow", 1.0}};
  wrong(two + joint("elbow", "fixed", "base", "a"), "urdf:4: joint \"elbow\": has no single position", options);
}

TEST(Urdf, OddBytesInCommentsAreNoMatter) {
  const Loaded loaded("\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"latin1\"?>\n<!-- r\xe9gl\xe9 -->" +
                      robot(link("base")) + "<!-- \xef -->\xef");
  EXPECT_EQ(loaded.model.num_bodies(), 1);
}

TEST(Urdf, DamagedTextsLoadOrThrow) {
  const std::string text =
      "<?xml version=\"1.0\"?>\n" +
      robot("<!-- comment -->" + link("base") +
            link("a", std::string(kInertial) +
                          "<collision><origin xyz=\"0 0 1\" rpy=\"1 2 3\"/><geometry><box size=\"1 2 3\"/>"
                          "</geometry></collision>") +
            link("b") + link("c", "") + link("d") + "<gazebo><x/></gazebo>" +
            joint("j", "revolute", "base", "a", std::string(kLimit) + "<axis xyz=\"0 1 0\"/>") +
            joint("k", "prismatic", "a", "b", std::string(kLimit) + "<mimic joint=\"j\" multiplier=\"2\"/>") +
            joint("l", "planar", "b", "c") + joint("m", "floating", "base", "d"));
  std::mt19937_64 random(3);
  int loaded = 0;
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(i);
    const std::string damaged = damage(text, random);
    try {
      const Loaded some(damaged);
      ++loaded;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(loaded, 100);
  EXPECT_LT(loaded, 2900);
}

}  // namespace
}  // namespace almond::testing
