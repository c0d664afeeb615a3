// Signed distance shapes in scene files and in MJCF: the shape that was asked for, in the frame that was given, with
// errors that name the element.

#include "almond/base/check.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/load/scene_file.hpp"
#include "almond/model/sdf_solid.hpp"
#include "load/load_fixture.hpp"
#include "load/robot_samples.hpp"

namespace almond::testing {
namespace {

template <class Call>
void expect_error(Call call, const std::string& words) {
  try {
    call();
    ADD_FAILURE() << "accepted, expected: " << words;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what() << "\nexpected: " << words;
  }
}

constexpr const char* kBowl =
    R"({"kind": "bowl", "foot_radius": 0.025, "rim_radius": 0.07, "height": 0.05, "wall": 0.004})";

TEST(SdfScene, ObjectsMayHaveOne) {
  const std::string text = std::string(R"({"almond_scene": 1, "objects": [{"name": "bowl", "mass": 0.2, "friction": 0.3,
      "position": [0, 0, 1], "shape": )") +
                           kBowl + "}]}";
  const SceneFile scene = parse_scene(text, "", "scene.json");
  ASSERT_EQ(scene.objects.size(), 1U);
  const auto* shape = std::get_if<SdfShape>(&scene.objects[0].shape);
  ASSERT_NE(shape, nullptr);
  EXPECT_GT(shape->solid->surface.triangles.size(), 100U);
  EXPECT_NEAR(shape->solid->field->value(Vec3(0.0, 0.0, 0.05)), 0.046, 1e-3);  // above the bottom of 4 mm
  EXPECT_EQ(scene.objects[0].material.mu, 0.3);
}

TEST(SdfScene, ANutIsPlacedOnItsBoltAsThePageSays) {
  const SceneFile scene = parse_scene(R"({"almond_scene": 1, "objects": [
      {"name": "bolt", "shape": {"kind": "bolt", "thread": "M20"}, "position": [0, 0, 0.2]},
      {"name": "nut", "shape": {"kind": "nut", "thread": "M20"}, "position": [0, 0, 0.179], "rpy": [0, 0, -2.513274]}]})",
                                      "", "scene.json");
  const SdfSolid &bolt = *std::get<SdfShape>(scene.objects[0].shape).solid,
                 &nut = *std::get<SdfShape>(scene.objects[1].shape).solid;
  const Pose X = scene.objects[0].X_WB.inverse() * scene.objects[1].X_WB;
  double least = 1.0;
  for (const Vec3& p : nut.surface.vertices) least = std::min(least, bolt.field->value(X * p));
  EXPECT_GT(least, 5e-6);  // apart on all sides
  EXPECT_LT(least, 3e-5);
}

TEST(SdfScene, MistakesNameTheObject) {
  const auto parse = [](const std::string& shape) {
    static_cast<void>(parse_scene(R"({"almond_scene": 1, "objects": [{"shape": )" + shape + "}]}", "", "scene.json"));
  };
  expect_error([&] { parse(R"({"kind": "bowk"})"); }, "scene.json.objects[0].shape.kind: is \"bowk\"");
  expect_error([&] { parse(R"({"kind": "sphere", "radius": 1, "size": [1]})"); },
               "scene.json.objects[0].shape: field \"size\" is unknown");
  expect_error([&] { parse(R"("spher")"); }, "scene.json.objects[0].shape: is \"spher\", expected sphere, box");
}

class SdfMjcf : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  }
  static std::string world(const std::string& geom, const std::string& custom) {
    return "<mujoco><custom>" + custom + "</custom><worldbody><body name='b' pos='0 0 1'><freejoint/>" + geom +
           "</body></worldbody></mujoco>";
  }
  Model read(const std::string& text, const std::string& folder = "") {
    ModelBuilder builder("test");
    add_mjcf_text(builder, text, folder, {}, notes);
    return builder.build();
  }
  FileNotes notes;
};

TEST_F(SdfMjcf, TextsStandForTheShapeAndNotForTheMass) {
  const std::string geom = "<geom name='bowl' type='cylinder' size='0.07 0.025' pos='0 0 0.3' mass='0.4'/>";
  const Model plain = read(world(geom, "")),
              model = read(world(geom, std::string("<text name='other' data='x'/><text name='almond_sdf:bowl' data='") +
                                           kBowl + "'/>"));
  ASSERT_EQ(model.num_geoms(), 1);
  const auto* shape = std::get_if<SdfShape>(&model.geoms[0].shape);
  ASSERT_NE(shape, nullptr);
  EXPECT_LT(shape->solid->field->value(Vec3(0.0, 0.0, 0.002)), 0.0);
  EXPECT_EQ(model.geoms[0].X_BG.p, Vec3(0.0, 0.0, 0.3));
  EXPECT_EQ(model.bodies[0].mass, plain.bodies[0].mass);
  EXPECT_EQ(model.bodies[0].inertia, plain.bodies[0].inertia);
  EXPECT_EQ(notes.said.back(),
            "geom \"bowl\": collides as a signed distance shape (" + shape->solid->field->name() + ")");
}

TEST_F(SdfMjcf, FrameOfAMeshIsThatOfTheFile) {
  write_file(path("box.stl"), SampleBox().stl_binary());
  const std::string folder = std::filesystem::path(path("box.stl")).parent_path().string();
  const Model model = read(
      "<mujoco><compiler meshdir='" + folder +
          "'/><asset><mesh name='m' file='box.stl' scale='0.01 0.01 0.01'/></asset><custom><text name='almond_sdf:g' "
          "data='{\"kind\": \"mesh_sdf\", \"file\": \"box.stl\", \"scale\": 0.01, \"cell\": 0.001}'/></custom>"
          "<worldbody><body pos='0 0 1'><freejoint/><geom name='g' type='mesh' mesh='m' pos='0.1 0 0'/></body>"
          "</worldbody></mujoco>",
      folder);
  const Geom& geom = model.geoms[0];
  ASSERT_TRUE(std::holds_alternative<SdfShape>(geom.shape));
  EXPECT_LT((geom.X_BG.p - Vec3(0.1, 0.0, 0.0)).norm(), 1e-7);  // MuJoCo keeps meshes in single precision
  EXPECT_LT((geom.X_BG.R - Mat3::Identity()).norm(), 1e-6);
}

TEST_F(SdfMjcf, MistakesNameTheText) {
  const std::string geom = "<geom name='bowl' type='sphere' size='0.1'/>";
  const auto custom = [](const std::string& name, const std::string& data) {
    return "<text name='almond_sdf:" + name + "' data='" + data + "'/>";
  };
  expect_error([&] { read(world(geom, custom("bwl", kBowl))); },
               "text \"almond_sdf:bwl\": there is no geom \"bwl\"; did you mean \"bowl\"?");
  expect_error([&] { read(world(geom, custom("bowl", "{"))); }, "text \"almond_sdf:bowl\": is no JSON");
  expect_error([&] { read(world(geom, custom("bowl", R"({"kind": "pot", "radius": 0.1, "height": 0.1})"))); },
               "text \"almond_sdf:bowl\": has no field \"wall\"");
}

}  // namespace
}  // namespace almond::testing
