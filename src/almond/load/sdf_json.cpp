#include "almond/load/sdf_json.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "almond/load/file_trust.hpp"
#include "almond/load/grid_cache.hpp"
#include "almond/load/json_fields.hpp"
#include "almond/model/neural_sdf.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/thread.hpp"

namespace almond {
namespace {

using nlohmann::json;
using Fields = JsonFields<json>;

constexpr int kMaxDepth = 32;  // of shapes in shapes
constexpr int kMaxShapes = 256,
              kMaxInAll = 10000;  // in one shape; in all shapes of a file, those that stand alone free
constexpr std::size_t kMaxGridBytes = std::size_t{2} << 30U;  // of all grids of a file

/// What readers of all kinds have in common.
struct Source {
  const std::string& root;  // the outermost place
  const std::string& folder;
  FileNotes& notes;
  const GridProgress& progress;
  SdfTotals& totals;
  int& shapes;  // in the outermost one
  int depth = 0;
};

SdfPtr read_sdf(const json& value, const std::string& place, Source source);

[[noreturn]] void missing(const Fields& fields, const std::string& key) {
  throw Error(fields.place() + ": has no field " + quote(key));
}

double number(Fields& fields, const std::string& key) {
  double x = kNaN;
  fields.read(key, x);
  if (std::isnan(x)) missing(fields, key);
  return x;
}

std::string text(Fields& fields, const std::string& key) {
  std::string value;
  fields.read(key, value);
  if (value.empty()) missing(fields, key);
  return value;
}

/// A length of which a maker is given half: what is wrong with it is said of what the file has.
double positive(Fields& fields, const std::string& key) {
  const double x = number(fields, key);
  require(x > 0.0, fields.at(key) + ": is " + to_text(x) + ", expected > 0");
  return x;
}

double not_negative(Fields& fields, const std::string& key) {
  const double x = number(fields, key);
  require(x >= 0.0, fields.at(key) + ": is " + to_text(x) + ", expected >= 0");
  return x;
}

Vec3 positive_vector(Fields& fields, const std::string& key) {
  Vec3 v;
  if (!fields.read<3>(key, v)) missing(fields, key);
  for (int i = 0; i < 3; ++i)
    require(v[i] > 0.0, fields.at(key) + "[" + std::to_string(i) + "]: is " + to_text(v[i]) + ", expected > 0");
  return v;
}

const json& list(Fields& fields, const std::string& key) {
  const json* value = fields.find(key);
  if (value == nullptr) missing(fields, key);
  require(value->is_array(), fields.at(key) + ": is " + value->dump().substr(0, 40) + ", expected a list [ ... ]");
  return *value;
}

/// [[r, z], ...], where each may have a bulge.
std::vector<PathPoint> path(Fields& fields, const std::string& key, bool bulges) {
  std::vector<PathPoint> points;
  for (const json& item : list(fields, key)) {
    const std::string place = fields.at(key) + "[" + std::to_string(points.size()) + "]";
    const std::vector<double> x = Fields::numbers(item, place);
    require(x.size() == 2 || (bulges && x.size() == 3), place + ": has " + std::to_string(x.size()) +
                                                            " numbers, expected " +
                                                            (bulges ? "[r, z] or [r, z, bulge]" : "[r, z]"));
    points.push_back({x[0], x[1], x.size() == 3 ? x[2] : 0.0});
  }
  return points;
}

std::vector<SdfPtr> children(Fields& fields, const Source& source) {
  std::vector<SdfPtr> shapes;
  for (const json& item : list(fields, "of"))
    shapes.push_back(read_sdf(item, fields.at("of") + "[" + std::to_string(shapes.size()) + "]", source));
  return shapes;
}

/// "M20", "M20x1.5", or an object with diameter and pitch [m].
MetricThread thread(Fields& fields) {
  const json* value = fields.find("thread");
  if (value == nullptr) missing(fields, "thread");
  if (!value->is_object()) return find_thread(text(fields, "thread"));
  Fields inner(*value, fields.at("thread"));
  MetricThread size = make_metric_thread(positive(inner, "diameter"), positive(inner, "pitch"));
  for (const auto& [key, length] : {std::pair{"across_flats", &size.across_flats},
                                    {"nut_height", &size.nut_height},
                                    {"head_height", &size.head_height}})
    if (inner.find(key) != nullptr) *length = positive(inner, key);
  inner.refuse_others();
  return size;
}

SdfPtr read_bolt(Fields& fields, const Source&) {
  MetricThread size = thread(fields);
  std::string fit(1, size.fit);
  fields.read("fit", fit);
  require(fit.size() == 1 && std::string("efgh").find(fit) != std::string::npos,
          fields.at("fit") + ": is " + quote(fit) + ", expected e, f, g or h");
  size.fit = fit[0];
  BoltOptions options;
  for (const auto& [key, length] : {std::pair{"length", &options.length}, {"thread_length", &options.thread_length}})
    if (fields.find(key) != nullptr) *length = positive(fields, key);
  fields.read("head", options.head);
  return make_bolt(size, options);
}

SdfPtr read_difference(Fields& fields, const Source& source) {
  std::vector<SdfPtr> shapes = children(fields, source);
  require(shapes.size() >= 2, fields.at("of") + ": has " + std::to_string(shapes.size()) +
                                  " shapes, expected at least two: the first without the others");
  if (shapes.size() == 2) return make_difference(shapes[0], shapes[1]);
  return make_difference(shapes[0], make_union({shapes.begin() + 1, shapes.end()}));
}

SdfPtr read_offset(Fields& fields, const Source& source) {
  const json* child = fields.find("of");
  if (child == nullptr) missing(fields, "of");
  const double by = number(fields, "by");
  return make_offset(read_sdf(*child, fields.at("of"), source), by);
}

SdfPtr read_mesh(Fields& fields, const Source& source) {
  const std::filesystem::path file = text(fields, "file");
  GridOptions options;
  double scale = 1.0;
  fields.read("cell", options.cell);
  fields.read("band", options.band);
  fields.read("scale", scale);
  options.workers = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
  const std::string path = named_file(file.string(), source.folder, fields.at("file"));
  std::size_t& bytes = source.totals.grid_bytes;
  const SdfPtr sdf = load_grid_sdf(path, Vec3::Constant(scale), options, source.notes, source.progress, &bytes);
  require(bytes <= kMaxGridBytes, fields.place() + ": with it the grids of the file take " +
                                      std::to_string(bytes >> 20U) + " MB, expected at most " +
                                      std::to_string(kMaxGridBytes >> 20U) + " MB: fewer of them, or larger cells");
  return sdf;
}

SdfPtr read_revolved(Fields& fields, const Source&) {
  std::vector<Vec2> polygon;
  for (const PathPoint& p : path(fields, "polygon", false)) polygon.emplace_back(p.r, p.z);
  return make_revolved_solid(polygon);
}

struct Kind {
  const char* name;
  SdfPtr (*read)(Fields& fields, const Source& source);
};

// A kind that another file makes, such as a network, gets its line here.
const Kind kKinds[] = {
    {"sphere", [](Fields& f, const Source&) { return make_sphere_sdf(number(f, "radius")); }},
    {"box", [](Fields& f, const Source&) { return make_box_sdf(0.5 * positive_vector(f, "size")); }},
    {"capsule",
     [](Fields& f, const Source&) { return make_capsule_sdf(number(f, "radius"), 0.5 * not_negative(f, "length")); }},
    {"cylinder",
     [](Fields& f, const Source&) { return make_cylinder_sdf(number(f, "radius"), 0.5 * positive(f, "length")); }},
    {"cone", [](Fields& f, const Source&) { return make_cone_sdf(number(f, "radius"), 0.5 * positive(f, "length")); }},
    {"ellipsoid", [](Fields& f, const Source&) { return make_ellipsoid_sdf(positive_vector(f, "radii")); }},
    {"hexagon",
     [](Fields& f, const Source&) {
       return make_hexagon_sdf(positive(f, "across_flats"), 0.5 * positive(f, "height"));
     }},
    {"dish", [](Fields& f, const Source&) { return make_dish(path(f, "path", true), number(f, "padding")); }},
    {"revolved", read_revolved},
    {"neural_bolt", [](Fields&, const Source&) { return make_neural_bolt(); }},
    {"bowl",
     [](Fields& f, const Source&) {
       return make_bowl(number(f, "foot_radius"), number(f, "rim_radius"), number(f, "height"), number(f, "wall"));
     }},
    {"plate",
     [](Fields& f, const Source&) {
       return make_plate(number(f, "foot_radius"), number(f, "rim_radius"), number(f, "height"), number(f, "wall"));
     }},
    {"pot",
     [](Fields& f, const Source&) { return make_pot(number(f, "radius"), number(f, "height"), number(f, "wall")); }},
    {"cup",
     [](Fields& f, const Source&) {
       return make_cup(number(f, "foot_radius"), number(f, "rim_radius"), number(f, "height"), number(f, "wall"));
     }},
    {"bottle",
     [](Fields& f, const Source&) {
       return make_bottle(number(f, "radius"), number(f, "neck_radius"), number(f, "shoulder"), number(f, "height"),
                          number(f, "wall"));
     }},
    {"round_bowl",
     [](Fields& f, const Source&) {
       return make_round_bowl(number(f, "inner_radius"), number(f, "height"), number(f, "wall"));
     }},
    {"bolt", read_bolt},
    {"nut", [](Fields& f, const Source&) { return make_nut(thread(f)); }},
    {"union", [](Fields& f, const Source& s) { return make_union(children(f, s)); }},
    {"intersection", [](Fields& f, const Source& s) { return make_intersection(children(f, s)); }},
    {"difference", read_difference},
    {"offset", read_offset},
    {"mesh_sdf", read_mesh},
};

const Kind& find_kind(Fields& fields) {
  const std::string name = text(fields, "kind");
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) {
    if (name == kind.name) return kind;
    names.emplace_back(kind.name);
  }
  std::string all;
  for (const std::string& known : names) all += (all.empty() ? "" : ", ") + known;
  const std::string near = nearest_name(name, names);
  throw Error(fields.at("kind") + ": is " + quote(name) + ", expected one of " + all +
              (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
}

/// What a shape's maker says does not name the place; what is said of a field or of a shape inside does.
SdfPtr make_at(const Kind& kind, Fields& fields, const Source& source) {
  try {
    return kind.read(fields, source);
  } catch (const Error& error) {
    const std::string what = error.what();
    if (what.compare(0, source.root.size(), source.root) == 0) throw;
    const bool named = what.compare(0, std::strlen(kind.name), kind.name) == 0;
    throw Error(fields.place() + ": " + (named ? "" : std::string(kind.name) + ": ") + what);
  }
}

SdfPtr read_fields(Fields& fields, const Source& source) {
  const Kind& kind = find_kind(fields);
  SdfPtr sdf = make_at(kind, fields, source);
  const bool posed =
      fields.find("position") != nullptr || fields.find("rpy") != nullptr || fields.find("quaternion") != nullptr;
  const Pose X = read_pose(fields);
  fields.refuse_others();
  return posed ? make_posed(sdf, X) : sdf;
}

SdfPtr read_sdf(const json& value, const std::string& place, Source source) {
  ++source.depth;
  ++source.shapes;
  ++source.totals.shapes;
  require(source.depth <= kMaxDepth,
          source.root + ": a shape in it lies in " + std::to_string(kMaxDepth) + " other shapes, expected fewer");
  require(source.shapes <= kMaxShapes,
          source.root + ": has more than " + std::to_string(kMaxShapes) + " shapes in it, expected fewer");
  require(source.totals.shapes <= kMaxInAll, place + ": is shape " + std::to_string(source.totals.shapes) +
                                                 " in other shapes of the file, expected at most " +
                                                 std::to_string(kMaxInAll));
  Fields fields(value, place);
  return read_fields(fields, source);
}

}  // namespace

SdfDescription parse_sdf(const std::string& text, const std::string& place, const std::string& folder, FileNotes& notes,
                         const GridProgress& progress, SdfTotals* totals) {
  const json value = parse_json<json>(text, place);
  Fields fields(value, place);
  SdfDescription result;
  if (const json* surface = fields.find("surface")) {
    Fields inner(*surface, fields.at("surface"));
    inner.read("max_edge", result.surface.max_edge);
    inner.read("chord_error", result.surface.chord_error);
    inner.refuse_others();
    for (const double length : {result.surface.max_edge, result.surface.chord_error})
      require(length >= 0.0, inner.place() + ": has " + to_text(length) + ", expected lengths >= 0 [m]");
  }
  SdfTotals own;
  int shapes = 0;
  result.sdf = read_fields(fields, {place, folder, notes, progress, totals != nullptr ? *totals : own, shapes, 1});
  const Aabb box = result.sdf->bounds();
  require((box.lower.array() < box.upper.array()).all(),
          place + ": the " + result.sdf->name() + " is empty, expected a solid with a volume");
  require((box.upper - box.lower).allFinite(), place + ": has no finite extent, expected a solid");
  return result;
}

}  // namespace almond
