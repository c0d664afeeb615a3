// Proves that a replay holds what was simulated: poses to its stated step, contacts that carry the weight, every step's
// figures; that damaged pages are refused; and that the bytes of its parts come back as they went in.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "almond/base/check.hpp"
#include "almond/load/npz.hpp"
#include "almond/model/builder.hpp"
#include "almond/view/blob.hpp"
#include "almond/view/page.hpp"
#include "almond/view/replay.hpp"
#include "scenes/random.hpp"
#include "scenes/scene.hpp"

namespace almond {
namespace {

using Json = nlohmann::json;

/// Reads a replay as a page does.
struct Reader {
  explicit Reader(const std::string& zipped) : bytes(gunzip(zipped, 1U << 30, "replay")) {
    EXPECT_EQ(bytes.substr(0, 8), "almondR1");
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + 8, 4);
    EXPECT_EQ((12 + length) % 8, 0U);
    header = Json::parse(bytes.substr(12, length));
    start = 12 + length;
  }

  [[nodiscard]] std::vector<double> array(const Json& place) const {
    const std::string type = place.at("type");
    const std::size_t width = static_cast<std::size_t>(std::stoi(type.substr(1))) / 8, count = place.at("length");
    const std::size_t offset = start + place.at("offset").get<std::size_t>();
    EXPECT_EQ(place.at("offset").get<std::size_t>() % 8, 0U);
    EXPECT_LE(offset + width * count, bytes.size());
    const std::size_t delta = place.value("delta", std::size_t{0});
    std::vector<double> values(count);
    std::vector<std::uint64_t> words(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t word = 0;
      for (std::size_t b = 0; b < width; ++b) {
        const std::size_t at = place.value("shuffle", false) ? b * count + i : width * i + b;
        word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[offset + at])) << (8 * b);
      }
      if (delta > 0 && i >= delta) word += words[i - delta];
      words[i] = word;
      values[i] = number(type, word) * place.value("scale", 1.0);
    }
    return values;
  }

  static double number(const std::string& type, std::uint64_t word) {
    if (type == "f64") return std::bit_cast<double>(word);
    if (type == "f32") return std::bit_cast<float>(static_cast<std::uint32_t>(word));
    if (type == "i32") return static_cast<std::int32_t>(word);
    if (type == "i16") return static_cast<std::int16_t>(word);
    if (type == "u32") return static_cast<std::uint32_t>(word);
    return static_cast<std::uint8_t>(word);
  }

  std::string bytes;
  Json header;
  std::size_t start = 0;
};

TEST(Inside, IterationsGoOnFromOnePartOfAProblemToTheNext) {
  StepInside inside;
  inside.traces.push_back({"pgs", "solved", {}});
  for (const int iteration : {0, 3, 7, 0, 2, 0, 1}) {
    TracePoint point;
    point.iteration = iteration;
    inside.traces[0].points.push_back(point);
  }
  const Json json = Json::parse(inside_json(inside, Model(), "test"));
  EXPECT_EQ(json["traces"][0]["iterations"].get<std::vector<int>>(), (std::vector<int>{0, 3, 7, 7, 9, 9, 10}));
}

TEST(Blob, Base64AndGzipComeBack) {
  scenes::Random random(3);
  for (const int size : {0, 1, 2, 3, 4, 1000, 100000}) {
    std::string bytes;
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(random.uniform(0.0, 256.0));
    EXPECT_EQ(from_base64(to_base64(bytes), "test"), bytes);
    EXPECT_EQ(gunzip(gzip(bytes), 1U << 20, "test"), bytes);
  }
  EXPECT_EQ(to_base64("almond"), "YWxtb25k");
  EXPECT_THROW(static_cast<void>(from_base64("YWx*", "x.html")), Error);
  const std::string zipped = gzip(std::string(100000, 'a'));
  EXPECT_THROW(static_cast<void>(gunzip(zipped, 1000, "x.html")), Error) << "a bomb";
  EXPECT_THROW(static_cast<void>(gunzip(zipped.substr(0, zipped.size() / 2), 1U << 20, "x.html")), Error);
}

TEST(Blob, DifferencesWrapAround) {
  Sections sections;
  const std::vector<std::int16_t> values = {32767, -32768, 0, -1, 32767, -32768};
  const ArrayPlace place = sections.add(values, {2, 1.0});
  const Reader reader(gzip(make_blob("{}", sections)));
  const Json json = {
      {"type", place.type}, {"offset", place.offset}, {"length", place.length}, {"delta", 2}, {"shuffle", true}};
  EXPECT_EQ(reader.array(json), std::vector<double>(values.begin(), values.end()));
}

TEST(Frame, SharesOfContactsMakeUpTheResidualOfTheStep) {
  const scenes::Scene scene = scenes::make_scene("tower");
  StepOptions options = scene.options;
  options.solver.solver = SolverKind::kPgs;
  options.solver.max_iterations = 2;  // far from solved, so that rounding does not count
  Simulation sim(scene.model, options);
  const StepReport report = sim.step();
  Frame frame;
  record_step(sim, frame);
  ASSERT_GT(frame.contacts.size(), 4U);
  double sum = 0.0;
  for (const FrameContact& contact : frame.contacts) sum += contact.residual * contact.residual;
  EXPECT_GT(report.residual, 1e-9);
  EXPECT_NEAR(std::sqrt(sum), report.residual, 1e-6 * report.residual);
}

TEST(Replay, HoldsPosesContactsAndFigures) {
  const scenes::Scene scene = scenes::make_scene("tower");
  Simulation sim(scene.model, scene.options);
  ReplayOptions options;
  options.title = "tower";
  options.inside = {5};
  Replay replay(sim.model(), make_looks(sim.model(), {}), sim.options().dt, options);
  const int kSteps = 60;
  std::vector<Frame> frames;
  std::vector<double> residuals;
  double weight = 0.0;
  for (const Body& body : sim.model().bodies) weight += body.mass * 9.81;
  for (int i = 0; i < kSteps; ++i) {
    const StepReport report = sim.step();
    replay.add_step(sim, report);
    residuals.push_back(report.residual);
    frames.emplace_back();
    record_step(sim, frames.back());
  }
  const Reader reader(replay.finish(sim, {{"solver", "auto"}}));
  const Json& head = reader.header;
  EXPECT_EQ(head["title"], "tower");
  EXPECT_EQ(head["bodies"].size(), sim.model().bodies.size());
  EXPECT_EQ(head["geoms"].size(), sim.model().geoms.size());

  const std::vector<double> steps = reader.array(head["frames"]["step"]), p = reader.array(head["frames"]["position"]),
                            q = reader.array(head["frames"]["quaternion"]), time = reader.array(head["frames"]["time"]);
  const std::size_t bodies = sim.model().bodies.size();
  std::set<double> wanted = {kSteps};                                                     // the end,
  for (int i = 0; i < kSteps; i += 4) wanted.insert(i);                                   // 240 Hz seen at 60,
  for (const Json& record : head["inside"]) wanted.insert(record["step"].get<double>());  // and steps kept whole
  EXPECT_TRUE(wanted.count(5));
  ASSERT_EQ(steps, std::vector<double>(wanted.begin(), wanted.end()));
  EXPECT_EQ(steps.back(), kSteps);
  for (std::size_t f = 0; f + 1 < steps.size(); ++f) {
    const Frame& frame = frames[static_cast<std::size_t>(steps[f])];
    EXPECT_DOUBLE_EQ(time[f], frame.time);
    for (std::size_t b = 0; b < bodies; ++b) {
      for (int k = 0; k < 3; ++k) EXPECT_NEAR(p[3 * (f * bodies + b) + k], frame.bodies[b].p[k], 0.51e-5);
      const Vec4 rotation(q[4 * (f * bodies + b)], q[4 * (f * bodies + b) + 1], q[4 * (f * bodies + b) + 2],
                          q[4 * (f * bodies + b) + 3]);
      EXPECT_NEAR(std::abs(rotation.dot(matrix_to_quaternion(frame.bodies[b].R))), 1.0, 1e-4);
    }
  }
  // What stands on the ground presses with the weight of all.
  const std::vector<double> first = reader.array(head["contacts"]["start"]),
                            force = reader.array(head["contacts"]["force"]),
                            geoms = reader.array(head["contacts"]["geoms"]),
                            normal = reader.array(head["contacts"]["normal"]);
  ASSERT_EQ(first.size(), steps.size() + 1);
  double pressed = 0.0;
  for (std::size_t c = static_cast<std::size_t>(first[14]); c < static_cast<std::size_t>(first[15]); ++c)
    if (sim.model().geoms[static_cast<std::size_t>(geoms[2 * c])].body == kGround) pressed += force[3 * c + 2];
  EXPECT_NEAR(pressed, weight, 1e-5 * weight);
  EXPECT_NEAR(normal[2], 1.0, 1e-4);

  for (const Json& series : head["series"]) {
    const std::vector<double> values = reader.array(series["values"]);
    ASSERT_EQ(values.size(), static_cast<std::size_t>(kSteps)) << series["name"];
    if (series["name"] == "residual") {
      for (int i = 0; i < kSteps; ++i) EXPECT_FLOAT_EQ(static_cast<float>(values[i]), static_cast<float>(residuals[i]));
    }
  }
  // The step asked for and hard ones, 0.1 s apart, each with a problem that loads and traces that end low.
  std::vector<int> hard;
  for (const Json& inside : head["inside"])
    if (inside["step"] != 5) hard.push_back(inside["step"]);
  ASSERT_GE(hard.size(), 2U);
  for (std::size_t i = 1; i < hard.size(); ++i) EXPECT_GE(hard[i], hard[i - 1] + 24);
  bool asked = false;
  for (const Json& inside : head["inside"]) {
    asked = asked || inside["step"] == 5;
    const std::vector<double> data = reader.array(inside["data"]);
    std::string npz;
    for (const double byte : data) npz += static_cast<char>(static_cast<unsigned char>(byte));
    EXPECT_NO_THROW(static_cast<void>(NpzArchive::from_bytes(npz, "inside")));
    ASSERT_EQ(inside["traces"].size(), 2U);
    EXPECT_EQ(inside["traces"][0]["solver"], "auto");
    EXPECT_EQ(inside["traces"][1]["solver"], "pgs");
    EXPECT_LE(inside["traces"][0]["residual"].back().get<double>(), 1e-8);
    EXPECT_FALSE(inside["contacts"].empty());
  }
  EXPECT_TRUE(asked);
}

TEST(Replay, EveryShapeIsDescribed) {
  ModelBuilder builder;
  builder.add_ground(Plane{});
  auto grid = std::make_shared<HeightGrid>();
  *grid = {3, 4, 1.0, 2.0, std::vector<double>(12, 0.5)};
  builder.add_ground(HeightField{grid}, make_translation(0.0, 0.0, -5.0));
  const std::vector<Vec3> corners = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const auto hull = make_polytope(corners);
  const std::vector<Shape> shapes = {Sphere{0.1},        Capsule{0.1, 0.2}, Box{Vec3(0.1, 0.2, 0.3)},
                                     Cylinder{0.1, 0.2}, Cone{0.1, 0.2},    Ellipsoid{Vec3(1, 2, 3)},
                                     ConvexMesh{hull},   ConvexMesh{hull}};
  double z = 10.0;
  for (const Shape& shape : shapes) {
    builder.add_solid("s" + std::to_string(z), shape, 1.0, make_translation(0.0, 0.0, z));
    z += 10.0;
  }
  Simulation sim(builder.build());
  const Reader reader(make_still(sim, make_looks(sim.model(), {}), "shapes", {}));
  std::vector<std::string> kinds;
  for (const Json& geom : reader.header["geoms"]) kinds.push_back(geom["kind"]);
  EXPECT_EQ(kinds, (std::vector<std::string>{"plane", "mesh", "sphere", "capsule", "box", "cylinder", "cone",
                                             "ellipsoid", "mesh", "mesh"}));
  ASSERT_EQ(reader.header["meshes"].size(), 2U) << "a hull that two geoms share is stored once";
  EXPECT_EQ(reader.array(reader.header["meshes"][0]["positions"]).size(), 36U);
  EXPECT_EQ(reader.array(reader.header["meshes"][0]["indices"]).size(), 36U);  // 6 cells of two triangles
  EXPECT_EQ(reader.array(reader.header["meshes"][1]["indices"]).size(), 12U);
}

std::string error_of_header(const std::string& header) {
  try {
    static_cast<void>(replay_length(gzip(make_blob(header, {})), "x.html"));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Replay, HeadersThatWouldFillTheMemoryAreRefused) {
  const auto has = [](const std::string& error, const std::string& words) {
    EXPECT_TRUE(error.starts_with("x.html: damaged")) << error;
    EXPECT_NE(error.find(words), std::string::npos) << error;
  };
  std::string lists = "{\"x\":[[]";
  for (int i = 0; i < 2100000; ++i) lists += ",[]";
  has(error_of_header(lists + "]}"), "values, expected at most 4000000");
  has(error_of_header(std::string(64000001, ' ')), "bytes, expected at most 64000000");
  has(error_of_header(std::string(5000, '[')), "more than 200 brackets inside each other");
  has(error_of_header(R"({"frames":1,"frames":2})"), "given twice");
  has(error_of_header(R"({"frames":{"time":{"type":"f64","length":1,"offset":-8}}})"), "expected a replay");
  has(error_of_header(R"({"frames":{"time":{"type":"f64","length":1,"offset":18446744073709551608}}})"), "a replay");
  has(error_of_header(R"({"frames":{"time":{"type":"f64","length":1e300,"offset":0}}})"), "expected a replay");
}

TEST(Page, ReplaysComeBack) {
  if (!have_page()) GTEST_SKIP() << "built without the web page";
  const std::vector<std::string> replays = {gzip("one"), gzip("two")};
  EXPECT_EQ(replays_of_page(make_page(replays), "x.html"), replays);
}

TEST(Page, OthersAreRefused) {
  EXPECT_THROW(static_cast<void>(replays_of_page("<html></html>", "x.html")), Error);
  const std::string open = "<script type=\"application/x-almond-replay\">";
  EXPECT_THROW(static_cast<void>(replays_of_page(open + "YWxt", "x.html")), Error) << "cut off";
  EXPECT_THROW(static_cast<void>(replays_of_page(open + "YWxt</script>", "x.html")), Error) << "no gzip";
}

}  // namespace
}  // namespace almond
