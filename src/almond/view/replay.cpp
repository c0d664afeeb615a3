#include "almond/view/replay.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "almond/base/check.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/json_fields.hpp"
#include "almond/load/npz.hpp"
#include "almond/load/problem_fields.hpp"
#include "almond/model/sdf_solid.hpp"
#include "almond/model/triangles.hpp"
#include "almond/view/blob.hpp"
#include "almond/view/replay_frames.hpp"

namespace almond {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLength = 1e-5;           // [m] steps of stored positions
constexpr double kUnit = 1.0 / 32767.0;    // of components of unit vectors and quaternions
constexpr double kApartS = 0.1;            // between hard steps that are kept
constexpr double kTraceBudgetMs = 2000.0;  // of one solver on one step
constexpr std::size_t kMostTracePoints = 400;

Json to_json(const ArrayPlace& place) {
  Json json = {{"type", place.type}, {"offset", place.offset}, {"length", place.length}};
  const bool packed = place.type == std::string("i32") || place.type == std::string("i16");
  if (place.packing.delta > 0) json["delta"] = place.packing.delta;
  if (packed) json["shuffle"] = true;
  if (place.packing.scale != 1.0) json["scale"] = place.packing.scale;
  return json;
}

Json list(const Vec3& v) { return {v.x(), v.y(), v.z()}; }

/// Kinds and sizes as the page draws them; meshes that are shared are stored once.
class Shapes {
 public:
  explicit Shapes(Sections& sections) : sections_(sections) {}

  void describe(const Shape& shape, Json& geom) {
    std::visit([&](const auto& s) { add(s, geom); }, shape);
  }
  [[nodiscard]] const Json& meshes() const { return meshes_; }

 private:
  static void put(const char* kind, Json size, Json& geom) {
    geom["kind"] = kind;
    geom["size"] = std::move(size);
  }
  static void add(const Sphere& s, Json& geom) { put("sphere", {s.radius}, geom); }
  static void add(const Capsule& s, Json& geom) { put("capsule", {s.radius, s.half_length}, geom); }
  static void add(const Plane&, Json& geom) { put("plane", Json::array(), geom); }
  static void add(const Box& s, Json& geom) { put("box", list(s.half), geom); }
  static void add(const Cylinder& s, Json& geom) { put("cylinder", {s.radius, s.half_length}, geom); }
  static void add(const Cone& s, Json& geom) { put("cone", {s.radius, s.half_length}, geom); }
  static void add(const Ellipsoid& s, Json& geom) { put("ellipsoid", list(s.radii), geom); }
  void add(const ConvexMesh& s, Json& geom) {
    put_mesh(
        s.hull.get(), [&] { return make_triangles(*s.hull); }, geom);
  }
  void add(const TriangleMesh& s, Json& geom) {
    put_mesh(
        s.mesh.get(), [&] { return *s.mesh; }, geom);
  }
  void add(const SdfShape& s, Json& geom) {
    put_mesh(
        s.solid.get(), [&] { return s.solid->surface; }, geom);
  }
  void add(const HeightField& s, Json& geom) {
    put_mesh(
        s.grid.get(), [&] { return make_triangles(*s.grid); }, geom);
  }

  template <class Make>
  void put_mesh(const void* key, const Make& make, Json& geom) {
    const auto [found, is_new] = index_.try_emplace(key, static_cast<int>(meshes_.size()));
    if (is_new) {
      const TriangleSoup soup = make();
      std::vector<float> positions;
      std::vector<std::uint32_t> indices;
      for (const Vec3& v : soup.vertices)
        for (const double x : v) positions.push_back(static_cast<float>(x));
      for (const auto& triangle : soup.triangles)
        for (const int i : triangle) indices.push_back(static_cast<std::uint32_t>(i));
      meshes_.push_back(
          {{"positions", to_json(sections_.add(positions))}, {"indices", to_json(sections_.add(indices))}});
    }
    put("mesh", Json::array(), geom);
    geom["mesh"] = found->second;
  }

  Sections& sections_;
  std::map<const void*, int> index_;
  Json meshes_ = Json::array();
};

Json describe_geoms(const std::vector<Look>& looks, Shapes& shapes) {
  static constexpr const char* kRoles[] = {"collision", "visual", "both"};
  Json geoms = Json::array();
  for (const Look& look : looks) {
    const Vec4 q = matrix_to_quaternion(look.X_BG.R);
    Json geom = {{"name", look.name}, {"body", look.body}, {"role", kRoles[static_cast<int>(look.role)]}};
    shapes.describe(look.shape, geom);
    geom["position"] = list(look.X_BG.p);
    geom["quaternion"] = {q[0], q[1], q[2], q[3]};
    geom["color"] = look.color ? Json(*look.color) : Json(nullptr);
    geoms.push_back(std::move(geom));
  }
  return geoms;
}

Json describe_bodies(const Model& model) {
  Json bodies = Json::array();
  for (const Body& body : model.bodies)
    bodies.push_back({{"name", body.name}, {"parent", body.parent}, {"mass", body.mass}, {"com", list(body.com)}});
  return bodies;
}

/// Points of a trace, thinned out evenly where there are very many. Independent parts of a problem are solved one after
/// another, each counting from 0: here the count goes on.
Json describe_trace(const StepInside::Trace& trace) {
  Json iterations = Json::array(), times = Json::array(), residuals = Json::array();
  const std::size_t count = trace.points.size(), stride = std::max<std::size_t>(1, count / kMostTracePoints);
  int before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && trace.points[i].iteration < trace.points[i - 1].iteration) before += trace.points[i - 1].iteration;
    if (i % stride != 0 && i + 1 != count) continue;
    iterations.push_back(before + trace.points[i].iteration);
    times.push_back(trace.points[i].time_ms);
    residuals.push_back(trace.points[i].residual);
  }
  return {{"solver", trace.solver},
          {"status", trace.status},
          {"iterations", iterations},
          {"time_ms", times},
          {"residual", residuals}};
}

Json describe_inside(const StepInside& inside, const Model& model, const std::string& title) {
  Json contacts = Json::array(), traces = Json::array();
  const auto name = [&](int geom) { return geom < 0 ? std::string("ground") : model.geoms[geom].name; };
  for (const FrameContact& c : inside.contacts)
    contacts.push_back({{"names", name(c.geom_a) + " | " + name(c.geom_b)},
                        {"mode", to_string(c.mode)},
                        {"gap_mm", 1e3 * c.gap},
                        {"normal_force", c.force.dot(c.n)},
                        {"residual", c.residual}});
  for (const StepInside::Trace& trace : inside.traces) traces.push_back(describe_trace(trace));
  return {{"step", inside.step},
          {"file", title + "_step" + std::to_string(inside.step) + ".npz"},
          {"traces", std::move(traces)},
          {"contacts", std::move(contacts)}};
}

/// A series of one value per step.
struct Series {
  const char *name, *unit;
  bool log;
  std::vector<float> values;
};

/// Whether nobody told any of them.
bool all_nan(const std::vector<float>& values) {
  return !values.empty() && std::all_of(values.begin(), values.end(), [](float x) { return std::isnan(x); });
}

}  // namespace

ContactProblem copy_problem(const Simulation& simulation, const std::string& name) {
  const StepWorkspace& last = simulation.last();
  ContactProblem problem = last.assembly.problem;
  problem.name = name;
  problem.lambda0.clear();
  problem.v0.clear();
  if (simulation.options().solver.warm_start) {
    const GrowVector &v = last.start_v, &lambda = last.start_lambda;
    problem.v0.assign(v.data(), v.data() + v.size());
    problem.lambda0.assign(lambda.data(), lambda.data() + lambda.size());
  }
  return problem;
}

StepInside record_inside(const Simulation& simulation) {
  StepInside inside;
  Frame frame;
  record_step(simulation, frame);
  inside.step = frame.step;
  inside.contacts = std::move(frame.contacts);
  inside.problem = copy_problem(simulation, "step" + std::to_string(frame.step));
  return inside;
}

std::string inside_json(const StepInside& inside, const Model& model, const std::string& title) {
  return describe_inside(inside, model, title).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string inside_npz(const StepInside& inside) { return fields_from_problem(inside.problem).to_bytes("replay"); }

void add_traces(const Settings& settings, StepInside& inside) {
  const SolverKind other = settings.solver == SolverKind::kPgs ? SolverKind::kAuto : SolverKind::kPgs;
  for (const SolverKind solver : {settings.solver, other}) {
    Settings traced = settings;
    traced.solver = solver;
    traced.trace = true;
    traced.warm_start = false;  // cold, so that there is something to see
    traced.budget_ms = kTraceBudgetMs;
    Workspace workspace;
    Solution solution;
    const Status status = solve(inside.problem, traced, workspace, solution);
    inside.traces.push_back({to_string(solver), to_string(status), std::move(solution.info.trace)});
  }
}

namespace {

/// A step kept whole, with a frame of its own so that it can be seen, too.
struct Kept {
  int iterations;  // -1: asked for
  StepInside inside;
  Frame frame;
};

}  // namespace

struct Replay::Impl {
  const Model* model;
  std::vector<Look> looks;
  ReplayOptions options;
  double dt = 0.0;
  int stride = 1;  // steps per frame
  int steps = 0;

  FrameArrays frames;
  std::vector<double> series_time;
  std::vector<Series> series = {{"residual", "N s", true, {}},   {"contacts", "", false, {}},
                                {"iterations", "", false, {}},   {"step time", "ms", true, {}},
                                {"solve time", "ms", true, {}},  {"energy", "J", false, {}},
                                {"penetration", "mm", true, {}}, {"natural map", "", true, {}}};
  std::vector<Kept> inside;
  Frame scratch;

  [[nodiscard]] bool frame_is_due() const { return steps % stride == 0; }

  /// Keeps the step if it was asked for, or needed more iterations than the easiest of those kept. Of hard steps that
  /// follow each other, which are one impact, only the hardest is kept.
  void look_inside(const Simulation& simulation, int iterations) {
    const auto keep = [&](int rank) {
      Kept kept{rank, record_inside(simulation), {}};
      record_step(simulation, kept.frame);
      return kept;
    };
    if (std::find(options.inside.begin(), options.inside.end(), steps) != options.inside.end()) {
      inside.push_back(keep(-1));
      return;
    }
    if (options.hardest <= 0 || simulation.last().contacts.points.empty()) return;
    const double now = simulation.state().time - dt;
    Kept *easiest = nullptr, *same = nullptr;
    int count = 0;
    for (Kept& each : inside) {
      if (each.iterations < 0) continue;
      ++count;
      if (easiest == nullptr || each.iterations < easiest->iterations) easiest = &each;
      if (now - each.frame.time < kApartS) same = &each;
    }
    if (same != nullptr) easiest = same;
    if (same == nullptr && count < options.hardest) {
      inside.push_back(keep(iterations));
    } else if (iterations > easiest->iterations) {
      *easiest = keep(iterations);
    }
  }

  void add_figures(double begin, const StepReport& report, double energy) {
    const auto known = [](int count) { return count < 0 ? kNaN : static_cast<double>(count); };
    const double values[] = {report.residual,          known(report.contacts), known(report.iterations),
                             report.step_ms,           report.solve_ms,        energy,
                             1e3 * report.penetration, report.natural_map};
    for (std::size_t i = 0; i < series.size(); ++i) series[i].values.push_back(static_cast<float>(values[i]));
    series_time.push_back(begin);
    ++steps;
  }

  std::string write(const std::vector<std::pair<std::string, std::string>>& facts, const Settings& settings) {
    for (const Kept& kept : inside) frames.add(kept.frame);
    Sections sections;
    Shapes shapes(sections);
    const std::size_t bodies = model->bodies.size();
    Json header = {{"title", options.title},          {"facts", facts},  {"dt", dt},
                   {"gravity", list(model->gravity)}, {"up", {0, 0, 1}}, {"bodies", describe_bodies(*model)}};
    if (options.follow >= 0) header["follow"] = options.follow;
    header["geoms"] = describe_geoms(looks, shapes);
    header["meshes"] = shapes.meshes();
    header["frames"] = {{"count", frames.time.size()},
                        {"step", to_json(sections.add(frames.step))},
                        {"time", to_json(sections.add(frames.time))},
                        {"position", to_json(sections.add(frames.position, {3 * bodies, kFrameLength}))},
                        {"quaternion", to_json(sections.add(frames.quaternion, {4 * bodies, kFrameUnit}))}};
    const ContactArrays& contacts = frames.contacts;
    // Where there are none, the page has no legend and no switches for them.
    if (!contacts.mode.empty())
      header["contacts"] = {{"start", to_json(sections.add(frames.contact_start))},
                            {"position", to_json(sections.add(contacts.position))},
                            {"normal", to_json(sections.add(contacts.normal, {0, kFrameUnit}))},
                            {"force", to_json(sections.add(contacts.force))},
                            {"mode", to_json(sections.add(contacts.mode))},
                            {"mu", to_json(sections.add(contacts.mu))},
                            {"geoms", to_json(sections.add(contacts.geoms))}};
    if (!contacts.mode.empty() && !all_nan(contacts.residual))
      header["contacts"]["residual"] = to_json(sections.add(contacts.residual));
    Json rows = Json::array();
    for (const Series& s : series) {
      if (all_nan(s.values)) continue;
      rows.push_back({{"name", s.name}, {"unit", s.unit}, {"log", s.log}, {"values", to_json(sections.add(s.values))}});
    }
    header["series"] = std::move(rows);
    header["series_time"] = to_json(sections.add(series_time));
    std::sort(inside.begin(), inside.end(), [](const auto& a, const auto& b) { return a.inside.step < b.inside.step; });
    Json details = Json::array();
    for (auto& [iterations, step, seen] : inside) {
      add_traces(settings, step);
      Json one = describe_inside(step, *model, options.title);
      const std::string npz = inside_npz(step);
      one["data"] = to_json(sections.add(std::vector<std::uint8_t>(npz.begin(), npz.end())));
      details.push_back(std::move(one));
    }
    header["inside"] = std::move(details);
    return make_blob(header.dump(-1, ' ', false, Json::error_handler_t::replace), sections);
  }
};

Replay::Replay(const Model& model, std::vector<Look> looks, double dt, ReplayOptions options)
    : impl_(std::make_unique<Impl>()) {
  impl_->model = &model;
  impl_->looks = std::move(looks);
  impl_->options = std::move(options);
  impl_->dt = dt;
  require(std::isfinite(impl_->options.fps) && impl_->options.fps > 0.0,
          "frames per second are " + std::to_string(impl_->options.fps) + ", expected > 0");
  impl_->stride = std::max(1, static_cast<int>(std::lround(std::min(1e6, 1.0 / (impl_->options.fps * dt)))));
}
Replay::~Replay() = default;
Replay::Replay(const Replay& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Replay::Replay(Replay&&) noexcept = default;
Replay& Replay::operator=(Replay&&) noexcept = default;

void Replay::add_step(Simulation& simulation, const StepReport& report) {
  Impl& r = *impl_;
  if (r.frame_is_due()) {
    record_step(simulation, r.scratch);
    r.frames.add(r.scratch);
  }
  r.look_inside(simulation, report.iterations);
  r.add_figures(simulation.state().time - r.dt, report, simulation.energy().total());
}

void Replay::add_step(const Frame& frame, const StepReport& report, double energy) {
  Impl& r = *impl_;
  if (r.frame_is_due()) r.frames.add(frame);
  r.add_figures(frame.time, report, energy);
}

std::string Replay::finish(Simulation& simulation, const std::vector<std::pair<std::string, std::string>>& facts) {
  Frame& frame = impl_->scratch;
  const bool stepped = impl_->steps > 0;
  if (stepped) record_step(simulation, frame);  // the end is shown with the contacts that led to it
  const std::vector<FrameContact> contacts = stepped ? frame.contacts : std::vector<FrameContact>();
  record_state(simulation, frame);
  frame.contacts = contacts;
  impl_->frames.add(impl_->scratch);
  return gzip(impl_->write(facts, simulation.options().solver));
}

std::string Replay::finish(const Frame& end, const std::vector<std::pair<std::string, std::string>>& facts) {
  impl_->frames.add(end);
  return gzip(impl_->write(facts, {}));
}

namespace {

/// What a replay says of itself. 2000 balls take 2.3 MB and 135 thousand values.
nlohmann::json parse_header(std::string_view text, const std::string& place) {
  constexpr std::size_t kMostBytes = 64'000'000;
  constexpr std::ptrdiff_t kMostValues = 4'000'000;  // some 500 MB
  require(text.size() <= kMostBytes,
          place + ": takes " + std::to_string(text.size()) + " bytes, expected at most " + std::to_string(kMostBytes));
  const auto values = std::count_if(text.begin(), text.end(), [](char c) { return c == ',' || c == '[' || c == '{'; });
  require(values <= kMostValues,
          place + ": has about " + std::to_string(values) + " values, expected at most " + std::to_string(kMostValues));
  return parse_json<nlohmann::json>(std::string(text), place);
}

}  // namespace

double replay_length(const std::string& zipped, const std::string& label) {
  const std::string bytes = gunzip(zipped, most_unpacked(zipped.size()), label),
                    why = label + ": damaged, expected a replay";
  std::uint32_t length = 0;
  require(bytes.size() > 12 && bytes.compare(0, 8, "almondR1") == 0, why);
  std::memcpy(&length, bytes.data() + 8, sizeof length);
  const std::size_t sections = 12 + std::size_t{length};
  require(sections <= bytes.size(), why);
  const nlohmann::json header =
      parse_header({bytes.data() + 12, length}, label + ": damaged, the header of the replay");
  std::size_t count = 0, offset = 0;
  try {
    const nlohmann::json& place = header.at("frames").at("time");
    require(place.at("length").is_number_unsigned() && place.at("offset").is_number_unsigned(), why);
    require(place.at("type") == "f64", why);
    count = place.at("length").get<std::size_t>();
    offset = place.at("offset").get<std::size_t>();
  } catch (const nlohmann::json::exception&) {
    throw Error(why);
  }
  const std::size_t room = bytes.size() - sections;
  require(count > 0 && offset <= room && count <= (room - offset) / sizeof(double), why);
  const std::size_t start = sections + offset;
  double first = 0.0, last = 0.0;
  std::memcpy(&first, bytes.data() + start, sizeof first);
  std::memcpy(&last, bytes.data() + start + (count - 1) * sizeof last, sizeof last);
  return last - first;
}

std::string make_still(Simulation& simulation, const std::vector<Look>& looks, const std::string& title,
                       const std::vector<std::pair<std::string, std::string>>& facts) {
  ReplayOptions options;
  options.title = title;
  Replay replay(simulation.model(), looks, simulation.options().dt, options);
  return replay.finish(simulation, facts);
}

}  // namespace almond
