// Signed distance shapes in JSON are those made in C++, and every mistake is told with its place, the value and what
// was expected.

#include <cstdlib>

#include "almond/base/check.hpp"
#include "almond/load/sdf_json.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/thread.hpp"
#include "load/load_fixture.hpp"
#include "load/robot_samples.hpp"
#include "scenes/random.hpp"

namespace almond::testing {
namespace {

SdfDescription parse(const std::string& text, const std::string& folder = "") {
  FileNotes notes;
  return parse_sdf(text, "scene.json.shape", folder, notes);
}

struct Case {
  const char* name;
  const char* text;
  SdfPtr same;
};

const Pose kSomewhere = make_rotation(Vec3::UnitZ(), 0.5, Vec3(0.1, 0.0, 0.02));

const Case kCases[] = {
    {"sphere", R"({"kind": "sphere", "radius": 0.1})", make_sphere_sdf(0.1)},
    {"box", R"({"kind": "box", "size": [0.2, 0.1, 0.06]})", make_box_sdf(Vec3(0.1, 0.05, 0.03))},
    {"capsule", R"({"kind": "capsule", "radius": 0.1, "length": 0.4})", make_capsule_sdf(0.1, 0.2)},
    {"cylinder", R"({"kind": "cylinder", "radius": 0.1, "length": 0.4})", make_cylinder_sdf(0.1, 0.2)},
    {"cone", R"({"kind": "cone", "radius": 0.1, "length": 0.4})", make_cone_sdf(0.1, 0.2)},
    {"ellipsoid", R"({"kind": "ellipsoid", "radii": [0.1, 0.2, 0.3]})", make_ellipsoid_sdf(Vec3(0.1, 0.2, 0.3))},
    {"hexagon", R"({"kind": "hexagon", "across_flats": 0.1, "height": 0.04})", make_hexagon_sdf(0.1, 0.02)},
    {"dish", R"({"kind": "dish", "path": [[0, 0], [0.03, 0, 0.2], [0.06, 0.04]], "padding": 0.002})",
     make_dish({{0.0, 0.0}, {0.03, 0.0, 0.2}, {0.06, 0.04}}, 0.002)},
    {"revolved", R"({"kind": "revolved", "polygon": [[0.03, -0.02], [0.05, -0.01], [0.04, 0.03]]})",
     make_revolved_solid({{0.03, -0.02}, {0.05, -0.01}, {0.04, 0.03}})},
    {"bowl", R"({"kind": "bowl", "foot_radius": 0.025, "rim_radius": 0.07, "height": 0.05, "wall": 0.004})",
     make_bowl(0.025, 0.07, 0.05, 0.004)},
    {"plate", R"({"kind": "plate", "foot_radius": 0.06, "rim_radius": 0.1, "height": 0.02, "wall": 0.004})",
     make_plate(0.06, 0.1, 0.02, 0.004)},
    {"pot", R"({"kind": "pot", "radius": 0.08, "height": 0.07, "wall": 0.005})", make_pot(0.08, 0.07, 0.005)},
    {"cup", R"({"kind": "cup", "foot_radius": 0.03, "rim_radius": 0.04, "height": 0.09, "wall": 0.003})",
     make_cup(0.03, 0.04, 0.09, 0.003)},
    {"bottle",
     R"({"kind": "bottle", "radius": 0.035, "neck_radius": 0.012, "shoulder": 0.1, "height": 0.18, "wall": 0.003})",
     make_bottle(0.035, 0.012, 0.1, 0.18, 0.003)},
    {"round_bowl", R"({"kind": "round_bowl", "inner_radius": 0.08, "height": 0.05, "wall": 0.004})",
     make_round_bowl(0.08, 0.05, 0.004)},
    {"bolt", R"({"kind": "bolt", "thread": "M20", "length": 0.06, "thread_length": 0.04, "head": false, "fit": "h"})",
     [] {
       MetricThread thread = find_thread("M20");
       thread.fit = 'h';
       return make_bolt(thread, {0.06, 0.04, false});
     }()},
    {"nut", R"({"kind": "nut", "thread": "M48x5"})", make_nut(find_thread("M48x5"))},
    {"union", R"({"kind": "union", "of": [{"kind": "sphere", "radius": 0.1},
                  {"kind": "box", "size": [0.3, 0.1, 0.1], "position": [0.1, 0, 0.02], "rpy": [0, 0, 0.5]}]})",
     make_union({make_sphere_sdf(0.1), make_posed(make_box_sdf(Vec3(0.15, 0.05, 0.05)), kSomewhere)})},
    {"intersection", R"({"kind": "intersection", "of": [{"kind": "sphere", "radius": 0.1},
                  {"kind": "box", "size": [0.3, 0.1, 0.1]}]})",
     make_intersection({make_sphere_sdf(0.1), make_box_sdf(Vec3(0.15, 0.05, 0.05))})},
    {"difference", R"({"kind": "difference", "of": [{"kind": "sphere", "radius": 0.1},
                  {"kind": "box", "size": [0.3, 0.1, 0.1]}, {"kind": "sphere", "radius": 0.07}]})",
     make_difference(make_difference(make_sphere_sdf(0.1), make_box_sdf(Vec3(0.15, 0.05, 0.05))),
                     make_sphere_sdf(0.07))},
    {"offset",
     R"({"kind": "offset", "by": 0.01, "comment": "rounded", "of": {"kind": "box", "size": [0.2, 0.1, 0.06]}})",
     make_offset(make_box_sdf(Vec3(0.1, 0.05, 0.03)), 0.01)},
    {"posed", R"({"kind": "box", "size": [0.2, 0.1, 0.06], "position": [0.1, 0, 0.02],
                  "quaternion": [0.96891242171064473, 0, 0, 0.24740395925452294]})",
     make_posed(make_box_sdf(Vec3(0.1, 0.05, 0.03)), kSomewhere)},
};

class SdfJson : public ::testing::TestWithParam<Case> {};

TEST_P(SdfJson, IsTheShapeMadeInCode) {
  const SdfPtr read = parse(GetParam().text).sdf, same = GetParam().same;
  EXPECT_EQ(read->name(), same->name());
  scenes::Random random(1);
  for (int k = 0; k < 200; ++k) {
    const Vec3 p(random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2));
    EXPECT_NEAR(read->value(p), same->value(p), 1e-15);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SdfJson, ::testing::ValuesIn(kCases),
                         [](const auto& item) { return std::string(item.param.name); });

TEST(SdfJsonSurface, IsAskedForOutside) {
  const SdfDescription shape =
      parse(R"({"kind": "sphere", "radius": 0.1, "surface": {"max_edge": 0.02, "chord_error": 1e-4}})");
  EXPECT_EQ(shape.surface.max_edge, 0.02);
  EXPECT_EQ(shape.surface.chord_error, 1e-4);
}

TEST(SdfJsonMistakes, AreToldWithTheirPlace) {
  const auto expect = [](const std::string& text, const std::string& words) {
    try {
      static_cast<void>(parse(text));
      ADD_FAILURE() << text << " was accepted, expected: " << words;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what() << "\nexpected: " << words;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  };
  expect("{", "scene.json.shape: is no JSON");
  expect("[]", "scene.json.shape: is array, expected an object");
  expect("{}", "scene.json.shape: has no field \"kind\"");
  expect(R"({"kind": "bowll"})", "scene.json.shape.kind: is \"bowll\", expected one of sphere, box");
  expect(R"({"kind": "bowll"})", "did you mean \"bowl\"?");
  expect(R"({"kind": 3})", "scene.json.shape.kind: is 3, expected a text");
  expect(R"({"kind": "sphere"})", "scene.json.shape: has no field \"radius\"");
  expect(R"({"kind": "sphere", "radius": "big"})", "scene.json.shape.radius: is \"big\", expected a number");
  expect(R"({"kind": "sphere", "radius": -1})", "scene.json.shape: sphere: radius is -1, expected finite and > 0");
  expect(R"({"kind": "sphere", "radius": 1, "hight": 2})", "scene.json.shape: field \"hight\" is unknown");
  expect(R"({"kind": "pot", "radius": 1, "height": 1, "wal": 0.1})", "has no field \"wall\"");
  expect(R"({"kind": "box", "size": [1, 2]})", "scene.json.shape.size: has 2 numbers, expected 3");
  expect(R"({"kind": "union", "of": {}})", "scene.json.shape.of: is {}, expected a list [ ... ]");
  expect(R"({"kind": "union", "of": []})", "union of nothing");
  expect(R"({"kind": "union", "of": [{"kind": "sphere", "radius": 1}, {"kind": "sphere", "radius": 0}]})",
         "scene.json.shape.of[1]: sphere: radius is 0");
  expect(R"({"kind": "difference", "of": [{"kind": "sphere", "radius": 1}]})",
         "scene.json.shape.of: has 1 shapes, expected at least two");
  expect(R"({"kind": "offset", "of": {"kind": "sphere", "radius": 1}})", "has no field \"by\"");
  expect(R"({"kind": "dish", "path": [[0, 0], [1]], "padding": 0.1})",
         "scene.json.shape.path[1]: has 1 numbers, expected [r, z] or [r, z, bulge]");
  expect(R"({"kind": "bolt", "thread": "M49"})", "scene.json.shape: bolt: ");
  expect(R"({"kind": "bolt", "thread": "M48", "fit": "x"})", "scene.json.shape.fit: is \"x\", expected e, f, g or h");
  expect(R"({"kind": "mesh_sdf", "file": "nowhere.stl"})", "nowhere.stl");
  expect(R"({"kind": "sphere", "radius": 1, "surface": {"max_edge": -1}})", "scene.json.shape.surface: has -1");
  expect(R"({"kind": "intersection", "of": [{"kind": "sphere", "radius": 1},
             {"kind": "sphere", "radius": 1, "position": [9, 0, 0]}]})",
         "expected a solid");
  std::string deep = R"({"kind": "sphere", "radius": 1})";
  for (int k = 0; k < 40; ++k) deep = R"({"kind": "offset", "by": 0.1, "of": )" + deep + "}";
  expect(deep, "lies in 32 other shapes");
}

class SdfJsonMesh : public FolderTest {};

TEST_F(SdfJsonMesh, IsLookedForInTheFolderOfTheFile) {
  write_file(path("box.stl"), SampleBox().stl_text());
  FileNotes notes;
  int calls = 0;
  const std::string folder = std::filesystem::path(path("box.stl")).parent_path().string();
  const SdfPtr sdf = parse_sdf(R"({"kind": "mesh_sdf", "file": "box.stl", "scale": 0.01, "cell": 0.001})", "x", folder,
                               notes, [&](double) { ++calls; })
                         .sdf;
  EXPECT_NEAR(sdf->value(Vec3(-0.001, 0.005, 0.005)), 0.001, 1e-6);
  EXPECT_GT(calls, 0);
  EXPECT_FALSE(notes.said.empty());
}

TEST_F(SdfJsonMesh, OpenMeshesAreRefusedByName) {
  SampleBox box;
  std::string text = box.stl_text();
  text.erase(text.rfind("facet normal"), text.rfind("endsolid") - text.rfind("facet normal"));
  write_file(path("open.stl"), text);
  try {
    static_cast<void>(parse(R"({"kind": "mesh_sdf", "file": ")" + path("open.stl") + "\"}"));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("open.stl: the mesh is open: 3 edges have no partner, expected a closed one"),
              std::string::npos)
        << what;
  }
}

}  // namespace
}  // namespace almond::testing
