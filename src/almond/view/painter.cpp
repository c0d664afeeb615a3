#include "almond/view/painter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "almond/collision/support.hpp"
#include "almond/model/sdf_solid.hpp"
#include "almond/model/triangles.hpp"

namespace almond {
namespace {

constexpr int kOver = 2;           // samples of a pixel along each side
constexpr double kSlope = 0.41;    // tan of half of the vertical angle of view, 45 degrees
constexpr double kTile = 0.25;     // of the pattern on planes [m]
constexpr double kMargin = 1.1;    // around what is to be seen
constexpr double kAmbient = 0.4;   // share of the light that comes from everywhere
constexpr double kHaze = 60.0;     // depth at which a third of a plane is left [m]
constexpr double kFarthest = 1e4;  // of a plane [m]
const Vec3 kLight = Vec3(0.35, -0.5, 0.8).normalized();
constexpr std::array<double, 3> kSky = {0.87, 0.91, 0.95};
constexpr std::array<Color, 6> kColors = {{{0.29, 0.47, 0.66, 1},
                                           {0.88, 0.57, 0.27, 1},
                                           {0.42, 0.62, 0.35, 1},
                                           {0.76, 0.37, 0.38, 1},
                                           {0.52, 0.45, 0.66, 1},
                                           {0.62, 0.55, 0.42, 1}}};
constexpr Color kGroundColor = {0.7, 0.7, 0.7, 1};

/// The unit sphere: an octahedron whose triangles are cut into four, `depth` times.
TriangleSoup make_ball(int depth) {
  TriangleSoup ball;
  ball.vertices = {Vec3::UnitX(), -Vec3::UnitX(), Vec3::UnitY(), -Vec3::UnitY(), Vec3::UnitZ(), -Vec3::UnitZ()};
  ball.triangles = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4}, {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
  for (; depth > 0; --depth) {
    std::map<std::pair<int, int>, int> middles;
    const auto middle = [&](int a, int b) {
      const auto [at, is_new] = middles.try_emplace(std::minmax(a, b), static_cast<int>(ball.vertices.size()));
      if (is_new) ball.vertices.push_back((ball.vertices[a] + ball.vertices[b]).normalized());
      return at->second;
    };
    std::vector<std::array<int, 3>> cut;
    for (const auto& [a, b, c] : ball.triangles) {
      const int ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
      cut.insert(cut.end(), {{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}});
    }
    ball.triangles = std::move(cut);
  }
  return ball;
}

TriangleSoup surface_of(const ConvexMesh& s) { return make_triangles(*s.hull); }
TriangleSoup surface_of(const TriangleMesh& s) { return *s.mesh; }
TriangleSoup surface_of(const HeightField& s) { return make_triangles(*s.grid); }
TriangleSoup surface_of(const SdfShape& s) { return s.solid->surface; }
TriangleSoup surface_of(const Plane&) { return {}; }
/// Any other convex shape is what a ball becomes when each of its points goes to the one that is farthest in its
/// direction.
template <class Convex>
TriangleSoup surface_of(const Convex& s) {
  static const TriangleSoup ball = make_ball(4);
  TriangleSoup surface = ball;
  const Core core = make_core(s);
  int branch = 0;
  for (Vec3& x : surface.vertices) x = support(core, x, branch) + core.radius * x;
  return surface;
}

/// A picture that is being made: colours, and how near what is seen there is.
struct Canvas {
  Canvas(int w, int h, const Camera& camera) : width(w), height(h), eye(camera.position) {
    // Looking straight up or down, some direction is upwards in the picture.
    const Vec3 z = (eye - camera.target).normalized();
    const Vec3 up = std::abs(z.z()) > 0.999 ? Vec3::UnitY() : Vec3::UnitZ();
    R.row(2) = z;
    R.row(0) = up.cross(z).normalized();
    R.row(1) = z.cross(Vec3(R.row(0)));
    scale = 0.5 * height / kSlope;
    near = 1e-3 * (eye - camera.target).norm();
    const auto size = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    nearness.assign(size, 0.0);
    color.assign(size, kSky);
  }
  [[nodiscard]] Vec3 ray(double x, double y) const {
    return R.transpose() * Vec3((x - 0.5 * width) / scale, (0.5 * height - y) / scale, -1.0);
  }
  /// `w` is one over the depth; what covers a pixel in part lets the rest through.
  void put(int x, int y, double w, const std::array<double, 3>& c, double opacity) {
    const auto at = static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
    if (w <= nearness[at]) return;
    for (std::size_t k = 0; k < 3; ++k) color[at][k] += opacity * (c[k] - color[at][k]);
    if (opacity >= 1.0) nearness[at] = w;
  }

  int width, height;
  Vec3 eye;
  Mat3 R;  // from world axes to right, up and backwards
  double scale, near;
  std::vector<double> nearness;
  std::vector<std::array<double, 3>> color;
};

std::array<double, 3> lit(const Color& color, const Vec3& normal) {
  const double light = kAmbient + (1.0 - kAmbient) * std::max(0.0, normal.dot(kLight));
  return {light * color[0], light * color[1], light * color[2]};
}

void draw_triangle(const Vec3 (&corners)[3], const Color& color, Canvas& canvas) {
  Vec3 p[3];  // pixels, and one over the depth
  for (int k = 0; k < 3; ++k) {
    const Vec3 seen = canvas.R * (corners[k] - canvas.eye);
    if (-seen.z() < canvas.near) return;
    const double w = -1.0 / seen.z();
    p[k] = {0.5 * canvas.width + canvas.scale * seen.x() * w, 0.5 * canvas.height - canvas.scale * seen.y() * w, w};
  }
  const double area = (p[1].x() - p[0].x()) * (p[2].y() - p[0].y()) - (p[1].y() - p[0].y()) * (p[2].x() - p[0].x());
  if (!(std::abs(area) > 1e-12)) return;
  Vec3 normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalized();
  if (normal.dot(canvas.eye - corners[0]) < 0.0) normal = -normal;  // files wind their triangles either way
  const auto c = lit(color, normal);
  const auto range = [&](int axis, int size) {
    const auto [low, high] = std::minmax({p[0][axis], p[1][axis], p[2][axis]});
    return std::pair(static_cast<int>(std::clamp(std::floor(low), 0.0, static_cast<double>(size))),
                     static_cast<int>(std::clamp(std::ceil(high), 0.0, static_cast<double>(size))));
  };
  const auto [left, right] = range(0, canvas.width);
  const auto [top, bottom] = range(1, canvas.height);
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      double share[3], w = 0.0;
      bool inside = true;
      for (int k = 0; k < 3; ++k) {
        const Vec3 &a = p[(k + 1) % 3], &b = p[(k + 2) % 3];
        share[k] = ((b.x() - a.x()) * (y + 0.5 - a.y()) - (b.y() - a.y()) * (x + 0.5 - a.x())) / area;
        inside = inside && share[k] >= 0.0;
        w += share[k] * p[k].z();
      }
      if (inside) canvas.put(x, y, w, c, color[3]);
    }
  }
}

/// Tiles to the horizon, where they fade.
void draw_plane(const Pose& X, const Color& color, Canvas& canvas) {
  const Vec3 eye = X.R.transpose() * (canvas.eye - X.p);
  for (int y = 0; y < canvas.height; ++y) {
    for (int x = 0; x < canvas.width; ++x) {
      const Vec3 ray = X.R.transpose() * canvas.ray(x + 0.5, y + 0.5);
      const double depth = -eye.z() / ray.z();  // the ray goes one metre deep
      if (eye.z() <= 0.0 || !(depth > canvas.near) || !(depth < kFarthest)) continue;
      const Vec3 at = eye + depth * ray;
      const bool dark = (std::lround(std::floor(at.x() / kTile)) + std::lround(std::floor(at.y() / kTile))) % 2 != 0;
      auto c = lit(color, X.R.col(2));
      const double clear = std::exp(-depth / kHaze);
      for (std::size_t k = 0; k < 3; ++k) c[k] = kSky[k] + clear * ((dark ? 0.93 : 1.0) * c[k] - kSky[k]);
      canvas.put(x, y, 1.0 / depth, c, color[3]);
    }
  }
}

}  // namespace

TriangleSoup make_surface(const Shape& shape) {
  return std::visit([](const auto& s) { return surface_of(s); }, shape);
}

Painter::Painter(const std::vector<Look>& looks) {
  for (const Look& look : looks) {
    if (look.role == Look::Role::kCollision) continue;
    const Color own = look.body < 0 ? kGroundColor : kColors[static_cast<std::size_t>(look.body) % kColors.size()];
    parts_.push_back({look.body, look.X_BG, make_surface(look.shape), std::holds_alternative<Plane>(look.shape),
                      look.color.value_or(own)});
  }
  // What is seen through comes last.
  std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.color[3] > b.color[3]; });
}

Camera Painter::find_camera(const std::vector<Pose>& X_WB) {
  const Vec3 view = Vec3(0.75, -0.85, 0.5).normalized();
  Vec3 target = Vec3::Zero();
  for (const Pose& X : X_WB) target += X.p / static_cast<double>(X_WB.size());
  if (!distance_) {
    double radius = 0.0;
    for (const Part& part : parts_) {
      const Pose X = part.body < 0 ? part.X_BG : X_WB[static_cast<std::size_t>(part.body)] * part.X_BG;
      if (part.body < 0 && !X_WB.empty()) continue;  // walls may be anywhere
      for (const Vec3& x : part.surface.vertices) radius = std::max(radius, (X * x - target).norm());
    }
    distance_ = kMargin * std::max(radius, 1e-3) / std::sin(std::atan(kSlope));
  }
  return {target + *distance_ * view, target};
}

std::vector<std::uint8_t> Painter::draw(const std::vector<Pose>& X_WB, int width, int height,
                                        const std::optional<Camera>& camera) {
  Canvas canvas(kOver * width, kOver * height, camera ? *camera : find_camera(X_WB));
  for (const Part& part : parts_) {
    const Pose X = part.body < 0 ? part.X_BG : X_WB[static_cast<std::size_t>(part.body)] * part.X_BG;
    if (part.plane) draw_plane(X, part.color, canvas);
    for (const auto& [a, b, c] : part.surface.triangles)
      draw_triangle({X * part.surface.vertices[a], X * part.surface.vertices[b], X * part.surface.vertices[c]},
                    part.color, canvas);
  }
  std::vector<std::uint8_t> bytes;
  bytes.reserve(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (std::size_t k = 0; k < 3; ++k) {
        double sum = 0.0;
        for (int i = 0; i < kOver * kOver; ++i)
          sum +=
              canvas.color[static_cast<std::size_t>((kOver * y + i / kOver) * canvas.width + kOver * x + i % kOver)][k];
        bytes.push_back(static_cast<std::uint8_t>(std::lround(255.0 * std::clamp(sum / (kOver * kOver), 0.0, 1.0))));
      }
    }
  }
  return bytes;
}

}  // namespace almond
