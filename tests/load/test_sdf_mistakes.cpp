// Mistakes in signed distance shapes that were once accepted, took forever, or were told in words that did not help.

#include <algorithm>

#include "almond/base/check.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/load/npz.hpp"
#include "almond/load/scene_file.hpp"
#include "almond/load/sdf_json.hpp"
#include "almond/model/thread.hpp"
#include "load/load_fixture.hpp"
#include "load/robot_samples.hpp"

namespace almond::testing {
namespace {

std::string complaint(const std::string& text) {
  try {
    FileNotes notes;
    const SdfDescription read = parse_sdf(text, "place", "", notes);
    static_cast<void>(make_sdf_shape(read.sdf, read.surface.max_edge, read.surface.chord_error));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

void expect(const std::string& text, const std::string& words) {
  const std::string what = complaint(text);
  EXPECT_NE(what.find(words), std::string::npos) << what.substr(0, 400) << "\nexpected: " << words;
  EXPECT_LT(what.size(), 700U);
}

TEST(SdfMistakes, NameTheFieldAndTheValueOfTheFile) {
  expect(R"({"kind": "box", "size": [1, -1, 1]})", "place.size[1]: is -1, expected > 0");
  expect(R"({"kind": "capsule", "radius": 1, "length": -1})", "place.length: is -1, expected >= 0");
  expect(R"({"kind": "cylinder", "radius": 1, "length": 0})", "place.length: is 0, expected > 0");
  expect(R"({"kind": "ellipsoid", "radii": [1, 1, 0]})", "place.radii[2]: is 0, expected > 0");
  expect(R"({"kind": "hexagon", "across_flats": 1, "height": -2})", "place.height: is -2, expected > 0");
  expect(R"({"kind": "bowl", "foot_radius": 0.02, "rim_radius": 0.07, "height": 0, "wall": 0.004})",
         "place: bowl: height is 0, expected finite and > 0");
  expect(R"({"kind": "bolt", "thread": "M20", "length": -0.03})", "place.length: is -0.03, expected > 0");
  expect(R"({"kind": "bolt", "thread": "M20", "length": 0.03, "thread_length": 0.04})",
         "place: bolt: thread_length is 0.04, expected at most the length, 0.03");
  expect(R"({"kind": "bolt", "thread": "M20", "length": 0.001})", "place: bolt: length is 0.001");
  expect(R"({"kind": "union", "of": []})", "place: union of nothing");
  expect(R"({"kind": "sphere", "radius": 1, "hight": 2})",
         "place: field \"hight\" is unknown, expected kind, position, quaternion, radius, rpy, surface");
  expect(R"({"kind": "sphere", "radius": 0.1, "position": [1e9, 0, 0]})", "lies 1e+09 m from its origin");
}

TEST(SdfMistakes, WhatIsEmptyIsSaidToBe) {
  expect(R"({"kind": "intersection", "of": [{"kind": "sphere", "radius": 1},
             {"kind": "sphere", "radius": 1, "position": [9, 0, 0]}]})",
         "place: the intersection is empty, expected a solid with a volume");
  expect(R"({"kind": "offset", "by": -2, "of": {"kind": "sphere", "radius": 1}})",
         "place: the offset of sphere is empty, expected a solid with a volume");
  expect(R"({"kind": "difference", "of": [{"kind": "sphere", "radius": 1}, {"kind": "sphere", "radius": 1}]})",
         "\"difference\" is empty");
}

TEST(SdfMistakes, AFieldGivenTwiceIsRefused) {
  expect(R"({"kind": "sphere", "radius": 1, "radius": 2})", "place.radius: is given twice, expected once");
  expect(R"({"kind": "union", "of": [{"kind": "sphere", "radius": 1}, {"kind": "sphere", "radius": 1, "kind": "x"}]})",
         "place.of[1].kind: is given twice, expected once");
  EXPECT_EQ(complaint(R"({"kind": "union", "of": [{"kind": "sphere", "radius": 1}, {"kind": "sphere", "radius": 2}]})"),
            "accepted");
}

TEST(SdfMistakes, NestingIsLimited) {
  std::string deep;
  for (int k = 0; k < 50000; ++k) deep += R"({"kind":"union","of":[)";
  expect(deep, "place: has more than 200 brackets inside each other, expected fewer");
  std::string closed = R"({"kind": "sphere", "radius": 1, "comment": "[[[\"{{{"})";
  EXPECT_EQ(complaint(closed), "accepted");
  for (int k = 0; k < 40; ++k) closed = R"({"kind": "union", "of": [)" + closed + "]}";
  expect(closed, "place: a shape in it lies in 32 other shapes, expected fewer");
  EXPECT_EQ(complaint(closed).find(".of[0].of[0]"), std::string::npos);
  try {
    static_cast<void>(parse_scene(R"({"almond_scene": 1, "objects": )" + std::string(100000, '['), "", "scene.json"));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("scene.json: has more than 200 brackets"), std::string::npos);
  }
  EXPECT_THROW(static_cast<void>(NpzArchive::from_json("{\"x\": " + std::string(100000, '['), "problem")), Error);
}

TEST(SdfMistakes, NothingTakesForever) {
  expect(R"({"kind": "sphere", "radius": 0.1, "surface": {"max_edge": 1e-9}})", "surface: max_edge is 1e-09 m");
  expect(R"({"kind": "sphere", "radius": 0.1, "surface": {"chord_error": 1e-15}})", "chord_error 1e-15 m");
  expect(R"({"kind": "bolt", "thread": "M20x0.001"})", "turns of a pitch of 1e-06 m");
  std::string nested = R"({"kind": "sphere", "radius": 0.1})";
  for (int k = 0; k < 30; ++k) nested = R"({"kind": "union", "of": [)" + nested + "]}";
  EXPECT_EQ(complaint(nested), "accepted");
  std::string many;
  const std::string start = R"({"kind": "difference", "of": [{"kind": "box", "size": [1, 1, 1]})";
  for (int k = 1; k < 256; ++k)
    many += R"(, {"kind": "sphere", "radius": 0.01, "position": [0, 0, )" + std::to_string(k) + "]}";
  EXPECT_EQ(complaint(start + many + "]}"), "accepted");
  expect(start + many + R"(, {"kind": "sphere", "radius": 1}]})",
         "place: has more than 256 shapes in it, expected fewer");
}

TEST(SdfMistakes, ShapesOfAFileAreCountedTogether) {
  FileNotes notes;
  SdfTotals totals;
  totals.shapes = 9999;
  const std::string pair = R"({"kind": "union", "of": [{"kind": "sphere", "radius": 1}]})";
  EXPECT_NO_THROW(static_cast<void>(parse_sdf(pair, "place", "", notes, {}, &totals)));
  try {
    static_cast<void>(parse_sdf(pair, "place", "", notes, {}, &totals));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "place.of[0]: is shape 10001 in other shapes of the file, expected at most 10000");
  }
}

TEST(SdfThreads, MayBeOfAnySize) {
  FileNotes notes;
  const auto read = [&](const std::string& text) { return parse_sdf(text, "place", "", notes).sdf; };
  MetricThread own = make_metric_thread(0.015, 0.001);
  const Vec3 p(0.009, 0.002, -0.003);
  EXPECT_EQ(read(R"({"kind": "nut", "thread": {"diameter": 0.015, "pitch": 0.001}})")->value(p),
            make_nut(own)->value(p));
  own.nut_height = 0.02;
  EXPECT_EQ(
      read(R"({"kind": "nut", "thread": {"diameter": 0.015, "pitch": 0.001, "nut_height": 0.02}})")->bounds().upper.z(),
      0.01);
  EXPECT_EQ(read(R"({"kind": "bolt", "thread": {"diameter": 0.015, "pitch": 0.001}, "head": false})")->value(p),
            make_bolt(own, {0.0, 0.0, false})->value(p));
  expect(R"({"kind": "nut", "thread": {"diameter": 0.015}})", "place.thread: has no field \"pitch\"");
  expect(R"({"kind": "nut", "thread": {"diameter": -1, "pitch": 1}})", "place.thread.diameter: is -1, expected > 0");
  expect(R"({"kind": "nut", "thread": {"diameter": 0.01, "pitch": 0.01}})", "thread: pitch is 0.01 m");
  expect(R"({"kind": "nut", "thread": {"diameter": 0.01, "pitch": 0.001, "lead": 1}})",
         "place.thread: field \"lead\" is unknown");
  expect(R"({"kind": "nut", "thread": 20})", "place.thread: is 20, expected a text");
}

class SdfMeshMistakes : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    write_file(path("box.stl"), SampleBox().stl_text());
  }
  [[nodiscard]] std::string mesh(const std::string& file, const std::string& more) const {
    return R"({"kind": "mesh_sdf", "file": ")" + path(file) + "\"" + more + "}";
  }
};

TEST_F(SdfMeshMistakes, CellAndBandAreToldApart) {
  expect(mesh("box.stl", R"(, "scale": 0.01, "cell": 1)"),
         "the cell is 1 m, expected at most half the longest extent of the mesh");
  expect(mesh("box.stl", R"(, "scale": 0.01, "band": 1e9)"), "a band of 1e+09 m makes");
  expect(mesh("box.stl", R"(, "scale": 0.01, "cell": 1e-7)"), "a cell of 1e-07 m makes");
}

/// Before any of it is done.
TEST_F(SdfMeshMistakes, WorkOfAGridIsGuessed) {
  int steps = 0;
  FileNotes notes;
  const GridProgress count = [&](double) { ++steps; };
  try {
    static_cast<void>(parse_sdf(mesh("box.stl", R"(, "cell": 0.0075, "band": 2)"), "place", "", notes, count));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("lie at the surface, expected at most 400000"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(steps, 0);
}

TEST_F(SdfMeshMistakes, GridsOfAFileAreCountedTogether) {
  const std::string box = mesh("box.stl", R"(, "scale": 0.01, "cell": 0.001)");
  FileNotes notes;
  SdfTotals totals;
  static_cast<void>(parse_sdf(box, "place", "", notes, {}, &totals));
  ASSERT_GT(totals.grid_bytes, 0U);
  totals.grid_bytes = (std::size_t{2} << 30U) - 1;
  try {
    static_cast<void>(parse_sdf(box, "place", "", notes, {}, &totals));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("place: with it the grids of the file take 2048 MB, expected at most 2048 MB"),
        std::string::npos)
        << error.what();
  }
}

TEST_F(SdfMeshMistakes, TrianglesTheWrongWayRoundAreNoHoles) {
  // The last facet's corners in another order.
  std::string text = SampleBox().stl_text();
  const std::size_t first = text.find("vertex", text.rfind("outer loop")), second = text.find("vertex", first + 1);
  const std::size_t third = text.find("vertex", second + 1);
  const std::string a = text.substr(first, second - first), b = text.substr(second, third - second);
  text.replace(first, third - first, b + a);
  write_file(path("turned.stl"), text);
  expect(mesh("turned.stl", ""), "the triangles of the mesh disagree in orientation at 3 edges");
}

TEST_F(SdfMeshMistakes, NotesOfAMeshAreSaidOnce) {
  const std::string shape = mesh("box.stl", R"(, "scale": 0.01, "cell": 0.001)");
  const SceneFile scene = parse_scene(
      R"({"almond_scene": 1, "objects": [{"shape": )" + shape + R"(}, {"shape": )" + shape + "}]}", "", "scene.json");
  ASSERT_EQ(scene.objects.size(), 2U);
  EXPECT_FALSE(scene.objects[0].notes.said.empty());
  EXPECT_TRUE(scene.objects[1].notes.said.empty());
}

TEST(SdfMjcfMistakes, APrefixThatIsNearlyOursIsNoted) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  ModelBuilder builder("test");
  FileNotes notes;
  add_mjcf_text(builder,
                "<mujoco><custom><text name='almond_sfd:g' data='{}'/><text name='note' data='x'/></custom><worldbody>"
                "<body><freejoint/><geom name='g' type='sphere' size='0.1'/></body></worldbody></mujoco>",
                "", {}, notes);
  const std::string line = "text \"almond_sfd:g\": without effect; did you mean \"almond_sdf:g\"?";
  EXPECT_EQ(std::count(notes.said.begin(), notes.said.end(), line), 1);
  for (const std::string& said : notes.said) EXPECT_EQ(said.find("\"note\""), std::string::npos);
}

}  // namespace
}  // namespace almond::testing
