#include "almond/model/sdf_solid.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/model/sdf_surface.hpp"
#include "almond/model/triangles.hpp"

namespace almond {
namespace {

constexpr double kEdgePerRadius = 1.0 / 8.0, kChordPerRadius = 2e-3;
constexpr double kFarthest = 1e6;  // from the origin, in radii: beyond, positions on the surface lose their digits
constexpr int kLeaf = 12;

/// Leaves out vertices that no triangle has, and triangles without area.
void clean_up(TriangleSoup& soup) {
  std::vector<int> number(soup.vertices.size(), -1);
  TriangleSoup result;
  for (const auto& triangle : soup.triangles) {
    const Vec3 &a = soup.vertices[triangle[0]], &b = soup.vertices[triangle[1]], &c = soup.vertices[triangle[2]];
    const double longest = std::max({(b - a).squaredNorm(), (c - a).squaredNorm(), (c - b).squaredNorm()});
    if ((b - a).cross(c - a).norm() <= 1e-9 * longest) continue;
    std::array<int, 3> corners;
    for (int k = 0; k < 3; ++k) {
      int& v = number[triangle[k]];
      if (v < 0) {
        v = static_cast<int>(result.vertices.size());
        result.vertices.push_back(soup.vertices[triangle[k]]);
      }
      corners[k] = v;
    }
    result.triangles.push_back(corners);
  }
  soup = std::move(result);
}

/// Cuts and chords leave vertices beside the surface: they are moved onto it, at edges from face to face.
void settle_vertices(SdfSolid& solid) {
  solid.normals.reserve(solid.surface.vertices.size());
  for (Vec3& p : solid.surface.vertices) {
    SdfSample s = solid.field->sample(p);
    for (int round = 0; round < 40 && std::abs(s.d) > 1e-12; ++round) {
      p -= s.d * s.g;
      s = solid.field->sample(p);
    }
    solid.normals.push_back(s.g);
  }
}

void measure(SdfSolid& solid) {
  const TriangleSoup& soup = solid.surface;
  for (const auto& [i, j, k] : soup.triangles) {
    const Vec3 &a = soup.vertices[i], &b = soup.vertices[j], &c = soup.vertices[k];
    SdfBlock block;
    for (const Vec3& p : {Vec3((a + b + c) / 3.0), Vec3(0.5 * (a + b)), Vec3(0.5 * (b + c)), Vec3(0.5 * (c + a))})
      block.add(p);
    solid.field->sample(block);
    for (int n = 0; n < block.count; ++n) solid.chord_error = std::max(solid.chord_error, std::abs(block.d[n]));
    solid.max_edge = std::max({solid.max_edge, (b - a).norm(), (c - b).norm(), (a - c).norm()});
  }
}

/// A convex polytope as the intersection of the half-spaces of its faces: exact before a face, less before an edge.
struct PolytopeSdf final : Sdf {
  std::shared_ptr<const Polytope> hull;
  using Sdf::sample;
  void sample(SdfBlock& b) const override {
    std::fill_n(b.d, b.count, -kInfinity);
    for (std::size_t f = 0; f < hull->faces.size(); ++f) {
      const Vec3 n = hull->normals[f];
      const double nx = n.x(), ny = n.y(), nz = n.z(), offset = n.dot(hull->vertices[hull->faces[f][0]]);
      for (int i = 0; i < b.count; ++i) {
        const double d = nx * b.x[i] + ny * b.y[i] + nz * b.z[i] - offset;
        const bool take = d > b.d[i];
        b.d[i] = take ? d : b.d[i];
        b.gx[i] = take ? nx : b.gx[i];
        b.gy[i] = take ? ny : b.gy[i];
        b.gz[i] = take ? nz : b.gz[i];
      }
    }
  }
  [[nodiscard]] Aabb bounds() const override {
    Aabb box;
    for (const Vec3& v : hull->vertices) box.add(v);
    return box;
  }
  [[nodiscard]] bool exact() const override { return false; }
  [[nodiscard]] std::string name() const override { return "convex mesh"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    for (const std::vector<int>& face : hull->faces)
      for (std::size_t k = 2; k < face.size(); ++k)
        add_triangle(hull->vertices[face[0]], hull->vertices[face[k - 1]], hull->vertices[face[k]], options, soup);
  }
};

using SolidPtr = std::shared_ptr<const SdfSolid>;

SolidPtr make_surface(TriangleSoup soup) {
  auto solid = std::make_shared<SdfSolid>();
  solid->surface = std::move(soup);
  solid->tree = make_surface_tree(solid->surface, kLeaf);
  return solid;
}

struct MakeCounterpart {
  SolidPtr operator()(const Sphere& s) const {
    auto solid = std::make_shared<SdfSolid>();
    solid->field = make_sphere_sdf(s.radius);
    return solid;
  }
  SolidPtr operator()(const Capsule& s) const { return make_sdf_solid(make_capsule_sdf(s.radius, s.half_length)); }
  SolidPtr operator()(const Plane&) const { return nullptr; }
  SolidPtr operator()(const Box& s) const { return make_sdf_solid(make_box_sdf(s.half)); }
  SolidPtr operator()(const Cylinder& s) const { return make_sdf_solid(make_cylinder_sdf(s.radius, s.half_length)); }
  SolidPtr operator()(const Cone& s) const { return make_sdf_solid(make_cone_sdf(s.radius, s.half_length)); }
  SolidPtr operator()(const Ellipsoid& s) const { return make_sdf_solid(make_ellipsoid_sdf(s.radii)); }
  SolidPtr operator()(const ConvexMesh& s) const {
    auto sdf = std::make_shared<PolytopeSdf>();
    sdf->hull = s.hull;
    return make_sdf_solid(sdf);
  }
  SolidPtr operator()(const TriangleMesh& s) const { return make_surface(*s.mesh); }
  SolidPtr operator()(const HeightField& s) const { return make_surface(make_triangles(*s.grid)); }
  SolidPtr operator()(const SdfShape& s) const { return s.solid; }
};

struct Moments {
  double volume = 0.0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();

  /// A cube of half edge h about p, filled to the given share.
  void add(const Vec3& p, double h, double share) {
    const double v = share * 8.0 * h * h * h;
    volume += v;
    first += v * p;
    second += v * (p * p.transpose() + Mat3::Identity() * (h * h / 3.0));
  }
};

}  // namespace

std::shared_ptr<const SdfSolid> make_sdf_solid(SdfPtr field, SurfaceOptions options) {
  require(field != nullptr, "signed distance shape: the function is missing");
  const Aabb box = field->bounds();
  const std::string subject = "signed distance shape " + quote(field->name());
  require((box.lower.array() < box.upper.array()).all(), subject + " is empty, expected a solid with a volume");
  require(box.lower.allFinite() && box.upper.allFinite(), subject + " has no bounds, expected a finite solid");
  const double radius = 0.5 * (box.upper - box.lower).norm(),
               away = box.lower.cwiseAbs().cwiseMax(box.upper.cwiseAbs()).maxCoeff();
  require(away < kFarthest * radius,
          subject + " of radius " + to_text(radius) + " m lies " + to_text(away) +
              " m from its origin, expected less than a million radii: a position nearer by");
  for (const double* value : {&options.max_edge, &options.chord_error})
    require(std::isfinite(*value) && *value >= 0.0,
            subject + ": edge or chord of " + to_text(*value) + ", expected >= 0");
  if (options.max_edge == 0.0) options.max_edge = kEdgePerRadius * radius;
  if (options.chord_error == 0.0) options.chord_error = kChordPerRadius * radius;
  auto solid = std::make_shared<SdfSolid>();
  solid->field = std::move(field);
  solid->field->add_surface(options, solid->surface);
  clean_up(solid->surface);
  require(!solid->surface.triangles.empty(), subject + " is empty, expected a solid with a volume");
  settle_vertices(*solid);
  solid->tree = make_surface_tree(solid->surface, kLeaf);
  measure(*solid);
  return solid;
}

SdfShape make_sdf_shape(std::shared_ptr<const Sdf> field, double max_edge, double chord_error) {
  return {make_sdf_solid(std::move(field), {max_edge, chord_error})};
}

SolidPtr make_counterpart(const Shape& shape) { return std::visit(MakeCounterpart{}, shape); }

MassProperties integrate(const Sdf& sdf) {
  constexpr int kFinest = 384;  // cells along the longest side
  const Aabb box = sdf.bounds();
  const Vec3 size = box.upper - box.lower, middle = 0.5 * (box.lower + box.upper);
  int levels = 0;
  while ((8 << levels) < kFinest) ++levels;
  double h = 0.5 * size.maxCoeff() / 8.0;
  std::vector<Vec3> cells, next;
  for (double x = box.lower.x() + h; x < box.upper.x() + h; x += 2.0 * h)
    for (double y = box.lower.y() + h; y < box.upper.y() + h; y += 2.0 * h)
      for (double z = box.lower.z() + h; z < box.upper.z() + h; z += 2.0 * h) cells.emplace_back(x, y, z);
  Moments sum;
  SdfBlock block;
  for (int level = 0; level <= levels; ++level, h *= 0.5) {
    next.clear();
    const double reach = std::sqrt(3.0) * h * (1.0 + sdf.slack());
    for (std::size_t begin = 0; begin < cells.size(); begin += SdfBlock::kSize) {
      block.count = 0;
      for (std::size_t i = begin; i < std::min(cells.size(), begin + SdfBlock::kSize); ++i) block.add(cells[i]);
      sdf.sample(block);
      for (int i = 0; i < block.count; ++i) {
        const Vec3 p = block.point(i);
        if (block.d[i] >= reach) continue;
        if (block.d[i] <= -reach) {
          sum.add(p - middle, h, 1.0);
        } else if (level < levels) {
          for (int k = 0; k < 8; ++k)
            next.push_back(
                p + 0.5 * h * Vec3((k & 1) != 0 ? 1.0 : -1.0, (k & 2) != 0 ? 1.0 : -1.0, (k & 4) != 0 ? 1.0 : -1.0));
        } else {
          // Along the gradient the cube is 2 h (|g_x| + |g_y| + |g_z|) wide.
          const double width = 2.0 * h * block.gradient(i).lpNorm<1>();
          sum.add(p - middle, h, std::clamp(0.5 - block.d[i] / width, 0.0, 1.0));
        }
      }
    }
    cells.swap(next);
  }
  require(sum.volume > 0.0, "signed distance shape " + quote(sdf.name()) + " is empty, expected a solid with a volume");
  const Vec3 com = sum.first / sum.volume;
  const Mat3 C = sum.second - sum.volume * com * com.transpose();
  return {sum.volume, middle + com, C.trace() * Mat3::Identity() - C};
}

}  // namespace almond
