// COLLADA 1.4 and 1.5 (.dae): the geometries that the file's scene shows, each under the transforms of its nodes.
//
//   scene -> visual_scene -> node (matrix, translate, rotate, scale) -> instance_geometry -> mesh
//         -> triangles, polylist, polygons, trifans, tristrips -> vertices -> POSITION source -> accessor ->
//         float_array

#include <Eigen/Geometry>
#include <cmath>
#include <map>
#include <unordered_map>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/mesh_import.hpp"
#include "almond/load/mesh_words.hpp"
#include "almond/load/xml_scan.hpp"

namespace almond {
namespace {

constexpr std::size_t kMost = 10'000'000;              // vertices, and triangles; a mesh may be shown many times
constexpr int kMaxShown = 1'000'000, kMaxDepth = 200;  // nodes and what is in them, as often as they are shown

using Transform = Eigen::Affine3d;

class Reader {
 public:
  Reader(const std::string& path, const std::string& text)
      : path_(path), text_(text), elements_(scan_xml(text, path)), children_(elements_.size()) {
    for (int i = 1; i < static_cast<int>(elements_.size()); ++i) children_[elements_[i].parent].push_back(i);
    for (int i = 0; i < static_cast<int>(elements_.size()); ++i)
      if (const std::string* id = elements_[i].attribute("id")) ids_.emplace(*id, i);
  }

  TriangleSoup read() {
    require(elements_[0].name == "COLLADA",
            at(0) + "the outermost element is <" + elements_[0].name + ">, expected <COLLADA>");
    Transform X = Transform::Identity();
    if (const int unit = child(child(0, "asset"), "unit"); unit >= 0) {
      const std::string* meter = elements_[unit].attribute("meter");
      const std::optional<double> size = meter == nullptr ? 1.0 : to_number<double>(*meter);
      require(size.has_value() && std::isfinite(*size) && *size > 0.0,
              at(unit) + "meter is " + quote(meter == nullptr ? "" : *meter) + ", expected > 0");
      X.linear() *= *size;
    }
    const int instance = child(child(0, "scene"), "instance_visual_scene");
    const int scene =
        instance >= 0 ? target(instance, "url") : child(child(0, "library_visual_scenes"), "visual_scene");
    if (scene >= 0) {
      for (const int node : named(scene, "node")) add_node(node, X, 0);
    } else {  // nothing is shown: then all there is
      for (const int geometry : named(child(0, "library_geometries"), "geometry")) add_geometry(geometry, X);
    }
    return std::move(soup_);
  }

 private:
  [[nodiscard]] std::string at(int element) const {
    return path_ + ":" + std::to_string(elements_[element].line) + ": ";
  }

  [[nodiscard]] std::vector<int> named(int parent, const char* name) const {
    std::vector<int> found;
    if (parent < 0) return found;
    for (const int i : children_[parent])
      if (elements_[i].name == name) found.push_back(i);
    return found;
  }

  [[nodiscard]] int child(int parent, const char* name) const {
    const std::vector<int> all = named(parent, name);
    return all.empty() ? -1 : all[0];
  }

  /// The element that an attribute such as url="#id" names.
  [[nodiscard]] int target(int element, const char* attribute) const {
    const std::string* url = elements_[element].attribute(attribute);
    const auto found = url == nullptr || url->empty() || (*url)[0] != '#' ? ids_.end() : ids_.find(url->substr(1));
    if (found == ids_.end())
      throw Error(at(element) + attribute + " is " + quote(url == nullptr ? "" : *url) +
                  ", expected # and the id of an element");
    return found->second;
  }

  template <class Number>
  [[nodiscard]] std::vector<Number> numbers(int element) const {
    std::vector<Number> values;
    const XmlElement& e = elements_[element];
    std::string_view rest = std::string_view(text_).substr(e.text_begin, e.text_end - e.text_begin);
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      const std::optional<Number> value = to_number<Number>(word);
      if (!value) throw Error(at(element) + quote(std::string(word)) + " in <" + e.name + ">, expected a number");
      values.push_back(*value);
    }
    return values;
  }

  [[nodiscard]] int integer(int element, const char* attribute, int otherwise) const {
    const std::string* text = elements_[element].attribute(attribute);
    if (text == nullptr) return otherwise;
    const std::optional<int> value = to_number<int>(*text);
    require(value.has_value() && *value >= 0 && *value < 1'000'000'000,
            at(element) + attribute + " is " + quote(*text) + ", expected a count");
    return *value;
  }

  [[nodiscard]] Transform transform_of(int node) const {
    Transform X = Transform::Identity();
    for (const int i : children_[node]) {
      const std::string& name = elements_[i].name;
      const std::size_t count = name == "matrix"                         ? 16
                                : name == "rotate"                       ? 4
                                : name == "translate" || name == "scale" ? 3
                                                                         : 0;
      if (count == 0) continue;
      const std::vector<double> x = numbers<double>(i);
      require(x.size() == count,
              at(i) + "<" + name + "> has " + std::to_string(x.size()) + " numbers, expected " + std::to_string(count));
      if (name == "matrix") {
        Transform M;
        M.matrix() = Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(x.data());
        M.makeAffine();
        X = X * M;
      } else if (name == "rotate") {
        const Vec3 axis(x[0], x[1], x[2]);
        if (axis.norm() > 0.0) X.rotate(Eigen::AngleAxisd(x[3] * M_PI / 180.0, axis.normalized()));
      } else if (name == "translate") {
        X.translate(Vec3(x[0], x[1], x[2]));
      } else {
        X.scale(Vec3(x[0], x[1], x[2]));
      }
    }
    return X;
  }

  void add_node(int node, const Transform& X_above, int depth) {
    shown_ += 1 + static_cast<int>(children_[node].size());
    if (depth >= kMaxDepth || shown_ > kMaxShown)  // n lines show up to 2^n of them
      throw Error(at(node) + "nodes show each other without end, expected " + std::to_string(kMaxShown) +
                  " of them and their parts at most, in " + std::to_string(kMaxDepth) + " levels");
    const Transform X = X_above * transform_of(node);
    for (const int i : children_[node]) {
      const std::string& name = elements_[i].name;
      if (name == "node") add_node(i, X, depth + 1);
      if (name == "instance_node") add_node(target(i, "url"), X, depth + 1);
      if (name == "instance_geometry") add_geometry(target(i, "url"), X);
      if (name == "instance_controller") {
        const int skin = child(target(i, "url"), "skin");
        if (skin >= 0) add_geometry(target(skin, "source"), X);
      }
    }
  }

  void add_geometry(int geometry, const Transform& X) {
    auto found = geometries_.find(geometry);
    if (found == geometries_.end()) found = geometries_.emplace(geometry, read_geometry(geometry)).first;
    const TriangleSoup& from = found->second;
    check_size(soup_.vertices.size() + from.vertices.size(), soup_.triangles.size() + from.triangles.size());
    const int first = static_cast<int>(soup_.vertices.size());
    for (const Vec3& p : from.vertices) soup_.vertices.emplace_back(X * p);
    const bool mirrored = X.linear().determinant() < 0.0;
    for (const auto& t : from.triangles)
      soup_.triangles.push_back({first + t[0], first + t[mirrored ? 2 : 1], first + t[mirrored ? 1 : 2]});
  }

  /// Of what is shown, and of what is read: many geometries may share one array.
  void check_size(std::size_t vertices, std::size_t triangles) const {
    if (vertices > kMost || triangles > kMost)
      throw Error(path_ + ": more than " + std::to_string(kMost) + (vertices > kMost ? " vertices" : " triangles") +
                  ", expected fewer");
  }

  TriangleSoup read_geometry(int geometry) {
    TriangleSoup soup;
    std::map<int, int> first_of;  // source -> its first vertex
    const int mesh = child(geometry, "mesh");
    if (mesh < 0) return soup;  // a spline
    for (const int i : children_[mesh]) {
      const std::string& name = elements_[i].name;
      if (name == "triangles" || name == "polylist" || name == "polygons" || name == "trifans" || name == "tristrips")
        add_primitive(i, first_of, soup);
    }
    vertices_read_ += soup.vertices.size();
    triangles_read_ += soup.triangles.size();
    return soup;
  }

  /// The vertices that a <triangles> or the like counts in; they are read once.
  int read_positions(int input, std::map<int, int>& first_of, TriangleSoup& soup) {
    int source = target(input, "source");
    if (elements_[source].name == "vertices") {
      int position = -1;
      for (const int i : named(source, "input")) {
        const std::string* semantic = elements_[i].attribute("semantic");
        if (semantic != nullptr && *semantic == "POSITION") position = i;
      }
      require(position >= 0, at(source) + "no input with semantic=\"POSITION\", expected one");
      source = target(position, "source");
    }
    const auto known = first_of.find(source);
    if (known != first_of.end()) return known->second;
    const int accessor = child(child(source, "technique_common"), "accessor");
    require(accessor >= 0, at(source) + "no accessor, expected one");
    const std::vector<double>& values = array(target(accessor, "source"));
    const std::size_t stride = integer(accessor, "stride", 1), offset = integer(accessor, "offset", 0);
    std::size_t place[3] = {0, 1, 2};
    const std::vector<int> params = named(accessor, "param");
    for (std::size_t k = 0; k < params.size(); ++k) {
      const std::string* name = elements_[params[k]].attribute("name");
      for (int axis = 0; axis < 3; ++axis)
        if (name != nullptr && *name == std::string(1, static_cast<char>('X' + axis))) place[axis] = k;
    }
    const std::size_t reach = std::max({place[0], place[1], place[2]});
    require(stride > reach, at(accessor) + "stride is " + std::to_string(stride) + ", expected at least 3");
    const int first = first_of[source] = static_cast<int>(soup.vertices.size());
    const std::size_t count = values.size() > offset + reach ? (values.size() - offset - reach - 1) / stride + 1 : 0;
    check_size(vertices_read_ + soup.vertices.size() + count, 0);
    for (std::size_t k = offset; k + reach < values.size(); k += stride)
      soup.vertices.emplace_back(values[k + place[0]], values[k + place[1]], values[k + place[2]]);
    return first;
  }

  const std::vector<double>& array(int element) {
    const auto found = arrays_.find(element);
    return found != arrays_.end() ? found->second : arrays_.emplace(element, numbers<double>(element)).first->second;
  }

  void add_primitive(int primitive, std::map<int, int>& first_of, TriangleSoup& soup) {
    int vertex_input = -1;
    std::size_t stride = 1;
    for (const int i : named(primitive, "input")) {
      const std::string* semantic = elements_[i].attribute("semantic");
      stride = std::max<std::size_t>(stride, integer(i, "offset", 0) + 1);
      if (semantic != nullptr && (*semantic == "VERTEX" || (*semantic == "POSITION" && vertex_input < 0)))
        vertex_input = i;
    }
    require(vertex_input >= 0, at(primitive) + "no input with semantic=\"VERTEX\", expected one");
    const std::size_t offset = integer(vertex_input, "offset", 0);
    const int first = read_positions(vertex_input, first_of, soup);
    const int size = static_cast<int>(soup.vertices.size()) - first;
    const std::string& kind = elements_[primitive].name;
    std::vector<int> lists = named(primitive, "p");
    for (const int holed : named(primitive, "ph"))
      if (const int outline = child(holed, "p"); outline >= 0) lists.push_back(outline);
    for (const int list : lists) {
      const std::vector<long> all = numbers<long>(list);
      std::vector<int> corners;
      for (std::size_t k = offset; k < all.size(); k += stride) {
        require(all[k] >= 0 && all[k] < size,
                at(list) + "a face names vertex " + std::to_string(all[k]) + " of " + std::to_string(size));
        corners.push_back(first + static_cast<int>(all[k]));
      }
      add_faces(primitive, kind, corners, soup);
      check_size(0, triangles_read_ + soup.triangles.size());
    }
  }

  void add_faces(int primitive, const std::string& kind, const std::vector<int>& corners, TriangleSoup& soup) {
    if (kind == "triangles") {
      for (std::size_t k = 2; k < corners.size(); k += 3)
        soup.triangles.push_back({corners[k - 2], corners[k - 1], corners[k]});
    } else if (kind == "polylist") {
      const int counts = child(primitive, "vcount");
      require(counts >= 0, at(primitive) + "no <vcount>, expected one");
      std::size_t begin = 0;
      for (const int count : numbers<int>(counts)) {
        require(count >= 0 && begin + static_cast<std::size_t>(count) <= corners.size(),
                at(counts) + "counts more corners than the " + std::to_string(corners.size()) + " of <p>");
        if (count >= 3)
          add_polygon({corners.begin() + static_cast<std::ptrdiff_t>(begin),
                       corners.begin() + static_cast<std::ptrdiff_t>(begin + count)},
                      soup);
        begin += static_cast<std::size_t>(count);
      }
    } else if (kind == "polygons") {
      if (corners.size() >= 3) add_polygon(corners, soup);
    } else {
      for (std::size_t k = 2; k < corners.size(); ++k) {
        const bool fan = kind == "trifans", odd = k % 2 == 1;
        const int a = fan ? corners[0] : corners[k - 2], b = corners[k - 1], c = corners[k];
        soup.triangles.push_back(fan || !odd ? std::array{a, b, c} : std::array{b, a, c});
      }
    }
  }

  const std::string& path_;
  const std::string& text_;
  std::vector<XmlElement> elements_;
  std::vector<std::vector<int>> children_;  // (elements)
  std::unordered_map<std::string, int> ids_;
  std::map<int, std::vector<double>> arrays_;  // by element
  std::map<int, TriangleSoup> geometries_;     // by element
  std::size_t vertices_read_ = 0, triangles_read_ = 0;
  TriangleSoup soup_;
  int shown_ = 0;
};

}  // namespace

TriangleSoup import_dae(const std::string& path, const std::string& text) { return Reader(path, text).read(); }

}  // namespace almond
