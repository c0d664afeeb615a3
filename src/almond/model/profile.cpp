#include "almond/model/profile.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/model/profile_pieces.hpp"
#include "almond/model/sdf_surface.hpp"

namespace almond {
namespace {

constexpr double kPi = std::numbers::pi;

/// r and the nearest points of a profile to the points of a block.
struct Nearest {
  alignas(64) double r[SdfBlock::kSize], best[SdfBlock::kSize], cr[SdfBlock::kSize], cz[SdfBlock::kSize];

  explicit Nearest(const SdfBlock& b) {
    for (int i = 0; i < b.count; ++i) {
      r[i] = std::sqrt(b.x[i] * b.x[i] + b.y[i] * b.y[i]);
      best[i] = kInfinity;
      cr[i] = cz[i] = 0.0;
    }
  }

  void keep(int i, double z, double pr, double pz) {
    const double dr = r[i] - pr, dz = z - pz, d2 = dr * dr + dz * dz;
    const bool better = d2 < best[i];
    best[i] = better ? d2 : best[i];
    cr[i] = better ? pr : cr[i];
    cz[i] = better ? pz : cz[i];
  }

  void add(const Piece& piece, const SdfBlock& b) {
    const double ar = piece.a.x(), az = piece.a.y(), br = piece.b.x(), bz = piece.b.y();
    if (piece.arc) {
      const double ox = piece.center.x(), oz = piece.center.y(), mr = piece.middle.x(), mz = piece.middle.y();
      const double radius = piece.radius, cosine = piece.cosine;
      for (int i = 0; i < b.count; ++i) {
        const double vr = r[i] - ox, vz = b.z[i] - oz, length = std::sqrt(vr * vr + vz * vz);
        const double scale = length > 0.0 ? radius / std::max(length, 1e-300) : 0.0;
        const bool within = vr * mr + vz * mz >= cosine * length;
        const bool to_a = (vr - (ar - ox)) * (vr - (ar - ox)) + (vz - (az - oz)) * (vz - (az - oz)) <
                          (vr - (br - ox)) * (vr - (br - ox)) + (vz - (bz - oz)) * (vz - (bz - oz));
        const double er = to_a ? ar : br, ez = to_a ? az : bz;
        keep(i, b.z[i], within ? ox + scale * vr : er, within ? oz + scale * vz : ez);
      }
      return;
    }
    const double ur = br - ar, uz = bz - az, inverse = 1.0 / piece.length2;
    for (int i = 0; i < b.count; ++i) {
      double t = ((r[i] - ar) * ur + (b.z[i] - az) * uz) * inverse;
      t = std::min(std::max(t, 0.0), 1.0);
      keep(i, b.z[i], ar + t * ur, az + t * uz);
    }
  }

  /// Whether some point of the block is nearer to a box than to what was found so far.
  [[nodiscard]] bool may_be_nearer(const SdfBlock& b, const Box2& box) const {
    int any = 0;
    for (int i = 0; i < b.count; ++i) {
      const double dr = std::max(std::max(box.lower.x() - r[i], r[i] - box.upper.x()), 0.0),
                   dz = std::max(std::max(box.lower.y() - b.z[i], b.z[i] - box.upper.y()), 0.0);
      any |= static_cast<int>(dr * dr + dz * dz <= best[i]);
    }
    return any != 0;
  }
  /// Goes down the tree, to the side nearer to the first point first. `leaf` gets a range of pieces, `far` a node that
  /// no point is near to.
  template <class Leaf, class Far>
  void walk(const std::vector<PieceNode>& nodes, const SdfBlock& b, const Leaf& leaf, const Far& far) const {
    if (nodes.size() == 1) return leaf(nodes[0]);  // most profiles have a few pieces
    int open[64], top = 0;
    open[top++] = 0;
    while (top > 0) {
      const int number = open[--top];
      const PieceNode& node = nodes[number];
      if (node.joined && !may_be_nearer(b, node.box)) {
        far(node);
      } else if (node.second < 0) {
        leaf(node);
      } else {
        const Vec2 p(r[0], b.z[0]);
        const auto squared = [&](int child) {
          const Box2& box = nodes[child].box;
          return (box.lower - p).cwiseMax(p - box.upper).cwiseMax(0.0).squaredNorm();
        };
        const bool first_is_nearer = squared(number + 1) <= squared(node.second);
        open[top++] = first_is_nearer ? node.second : number + 1;
        open[top++] = first_is_nearer ? number + 1 : node.second;
      }
    }
  }

  /// d and the gradient's components along r and z, given on which side the point lies; turns them into space.
  void finish(int i, double d, double gr, double gz, SdfBlock& b) const {
    const double inverse = 1.0 / std::max(r[i], 1e-300);
    const bool off_axis = r[i] > 0.0;
    b.d[i] = d;
    b.gx[i] = off_axis ? gr * b.x[i] * inverse : gr;
    b.gy[i] = off_axis ? gr * b.y[i] * inverse : 0.0;
    b.gz[i] = gz;
  }
};

Aabb box_around(double r, double low, double high) { return {Vec3(-r, -r, low), Vec3(r, r, high)}; }

// ---- The padded path ----

class DishSdf final : public Sdf {
 public:
  DishSdf(std::vector<Piece> pieces, double padding)
      : pieces_(std::move(pieces)), padding_(padding), on_axis_(pieces_.front().a.x() == 0.0) {
    tree_ = make_piece_tree(pieces_);
    const Box2& box = tree_[0].box;
    bounds_ = box_around(box.upper.x() + padding, box.lower.y() - padding, box.upper.y() + padding);
  }

  using Sdf::sample;
  void sample(SdfBlock& b) const override {
    Nearest nearest(b);
    const auto add = [&](const PieceNode& node) {
      for (int k = node.begin; k < node.end; ++k) nearest.add(pieces_[k], b);
    };
    nearest.walk(tree_, b, add, [](const PieceNode&) {});
    for (int i = 0; i < b.count; ++i) {
      const double length = std::sqrt(nearest.best[i]), inverse = 1.0 / std::max(length, 1e-300);
      nearest.finish(i, length - padding_, (nearest.r[i] - nearest.cr[i]) * inverse,
                     length > 0.0 ? (b.z[i] - nearest.cz[i]) * inverse : 1.0, b);
    }
  }
  [[nodiscard]] Aabb bounds() const override { return bounds_; }
  [[nodiscard]] std::string name() const override { return "dish"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    add_revolved(make_contour(options), options, soup);
  }

 private:
  /// One side of a piece, `padding_` away from it: side = -1 right, +1 left, always in the path's direction.
  [[nodiscard]] std::vector<Vec2> offset_piece(const Piece& piece, double side, const SurfaceOptions& options) const {
    if (piece.arc) {
      // Left of a counterclockwise arc lies its centre.
      const double radius = piece.radius - side * std::copysign(padding_, piece.sweep);
      if (radius <= 0.0) return {};
      return sample_arc(piece.center, radius, piece.start, piece.start + piece.sweep, options);
    }
    const Vec2 t = piece.tangent(false), shift = side * padding_ * Vec2(-t.y(), t.x());
    std::vector<Vec2> points{piece.a + shift};
    add_segment(piece.b + shift, options, points);
    return points;
  }

  /// From the normal of one piece to that of the next, on the given side: around the outside of a bend, or to where
  /// both offsets meet on its inside.
  void add_joint(const Vec2& p, const Vec2& t0, const Vec2& t1, double side, const SurfaceOptions& options,
                 std::vector<Vec2>& line) const {
    const double turn = std::atan2(t0.x() * t1.y() - t0.y() * t1.x(), t0.dot(t1));
    if (std::abs(turn) < 1e-9) return;
    if (side * turn > 0.0) {  // inside of the bend
      const Vec2 n = side * (Vec2(-t0.y(), t0.x()) + Vec2(-t1.y(), t1.x())).normalized();
      line.push_back(p + n * (padding_ / std::cos(0.5 * turn)));
      return;
    }
    const Vec2 n = side * Vec2(-t0.y(), t0.x());
    const double from = std::atan2(n.y(), n.x());
    for (const Vec2& q : sample_arc(p, padding_, from, from + turn, options)) line.push_back(q);
  }

  [[nodiscard]] std::vector<Vec2> make_side(double side, const SurfaceOptions& options) const {
    std::vector<Vec2> line;
    for (std::size_t k = 0; k < pieces_.size(); ++k) {
      if (k > 0) add_joint(pieces_[k].a, pieces_[k - 1].tangent(true), pieces_[k].tangent(false), side, options, line);
      for (const Vec2& p : offset_piece(pieces_[k], side, options)) line.push_back(p);
    }
    return line;
  }

  /// Right side out, around the end, left side back; what lies inside the padding of another piece or beyond the axis
  /// is dropped.
  [[nodiscard]] std::vector<Vec2> make_contour(const SurfaceOptions& options) const {
    const auto cap = [&](const Vec2& p, const Vec2& outward) {
      const double from = std::atan2(outward.y(), outward.x()) - 0.5 * kPi;
      return sample_arc(p, padding_, from, from + kPi, options);
    };
    std::vector<Vec2> raw = cap(pieces_.front().a, -pieces_.front().tangent(false));
    for (const Vec2& p : make_side(-1.0, options)) raw.push_back(p);
    for (const Vec2& p : cap(pieces_.back().b, pieces_.back().tangent(true))) raw.push_back(p);
    std::vector<Vec2> left = make_side(1.0, options);
    raw.insert(raw.end(), left.rbegin(), left.rend());
    if (!on_axis_) raw.push_back(raw.front());

    std::vector<Vec2> contour;
    const double tolerance = 1e-9 + 1e-6 * padding_;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const Vec2& p = raw[i];
      if (p.x() >= 0.0 && value(Vec3(p.x(), 0.0, p.y())) < -tolerance) continue;
      if (i > 0 && (p.x() < 0.0) != (raw[i - 1].x() < 0.0)) {  // crosses the axis
        const Vec2& q = raw[i - 1];
        const Vec2 crossing(0.0, q.y() + (p.y() - q.y()) * q.x() / (q.x() - p.x()));
        if (value(Vec3(0.0, 0.0, crossing.y())) > -1e-3 * padding_) append({crossing}, contour);
      }
      if (p.x() >= 0.0) append({p}, contour);
    }
    return contour;
  }

  std::vector<Piece> pieces_;
  std::vector<PieceNode> tree_;
  double padding_;
  bool on_axis_;
  Aabb bounds_;
};

// ---- The closed polygon ----

class RevolvedSdf final : public Sdf {
 public:
  explicit RevolvedSdf(std::vector<Vec2> polygon) : polygon_(std::move(polygon)) {
    double r = 0.0, low = kInfinity, high = -kInfinity;
    for (std::size_t i = 0; i < polygon_.size(); ++i) {
      const Vec2 &a = polygon_[i], &b = polygon_[(i + 1) % polygon_.size()];
      if (a.x() > 0.0 || b.x() > 0.0) pieces_.push_back(make_piece({a.x(), a.y(), 0.0}, {b.x(), b.y(), 0.0}));
      r = std::max(r, a.x());
      low = std::min(low, a.y());
      high = std::max(high, a.y());
    }
    bounds_ = box_around(r, low, high);
    tree_ = make_piece_tree(pieces_);
  }

  using Sdf::sample;
  void sample(SdfBlock& b) const override {
    Nearest nearest(b);
    alignas(64) double side[SdfBlock::kSize], nr[SdfBlock::kSize], nz[SdfBlock::kSize];
    for (int i = 0; i < b.count; ++i) side[i] = 1.0;
    for (int i = 0; i < b.count; ++i) nr[i] = nz[i] = 0.0;
    const auto add = [&](const Piece& piece) {
      const double ar = piece.a.x(), az = piece.a.y(), br = piece.b.x(), bz = piece.b.y();
      const double ur = br - ar, uz = bz - az, inverse = 1.0 / piece.length2, unit = std::sqrt(inverse);
      for (int i = 0; i < b.count; ++i) {
        const double z = b.z[i], r = nearest.r[i];
        double t = ((r - ar) * ur + (z - az) * uz) * inverse;
        t = std::min(std::max(t, 0.0), 1.0);
        const double dr = r - ar - t * ur, dz = z - az - t * uz, d2 = dr * dr + dz * dz;
        const bool better = d2 < nearest.best[i];
        nearest.best[i] = better ? d2 : nearest.best[i];
        nearest.cr[i] = better ? ar + t * ur : nearest.cr[i];
        nearest.cz[i] = better ? az + t * uz : nearest.cz[i];
        nr[i] = better ? uz * unit : nr[i];  // right of the edge: outward
        nz[i] = better ? -ur * unit : nz[i];
        // Crossings of the ray r' > r, z' = z.
        const bool spans = (az > z) != (bz > z), right = (z - az) * ur / (uz == 0.0 ? 1.0 : uz) + ar > r;
        side[i] = spans && right ? -side[i] : side[i];
      }
    };
    const auto add_all = [&](const PieceNode& node) {
      for (int k = node.begin; k < node.end; ++k) add(pieces_[k]);
    };
    // No point lies in the box of pieces far away: the ray misses them all, or crosses as often as one line would.
    const auto pass = [&](const PieceNode& node) {
      const double az = pieces_[node.begin].a.y(), bz = pieces_[node.end - 1].b.y(), least = node.box.lower.x();
      for (int i = 0; i < b.count; ++i) {
        const bool spans = (az > b.z[i]) != (bz > b.z[i]);
        side[i] = spans && nearest.r[i] < least ? -side[i] : side[i];
      }
    };
    nearest.walk(tree_, b, add_all, pass);
    for (int i = 0; i < b.count; ++i) {
      const double length = std::sqrt(nearest.best[i]), inverse = side[i] / std::max(length, 1e-300);
      const bool off = length > 1e-12;
      nearest.finish(i, side[i] * length, off ? (nearest.r[i] - nearest.cr[i]) * inverse : nr[i],
                     off ? (b.z[i] - nearest.cz[i]) * inverse : nz[i], b);
    }
  }
  [[nodiscard]] Aabb bounds() const override { return bounds_; }
  [[nodiscard]] std::string name() const override { return "revolved solid"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    for (const Piece& piece : pieces_) {
      std::vector<Vec2> contour{piece.a};
      add_segment(piece.b, options, contour);
      add_revolved(contour, options, soup);
    }
  }

 private:
  std::vector<Vec2> polygon_;
  std::vector<Piece> pieces_;
  std::vector<PieceNode> tree_;
  Aabb bounds_;
};

std::string describe(const char* what, std::size_t i, double r, double z) {
  return std::string(what) + " " + std::to_string(i) + " is (" + to_text(r) + ", " + to_text(z) + ")";
}

void check_point(const char* what, std::size_t i, double r, double z) {
  require(std::isfinite(r) && std::isfinite(z) && r >= 0.0,
          describe(what, i, r, z) + ", expected finite numbers with r >= 0");
}

void check_crossing(const char* what, const std::vector<Piece>& pieces) {
  const auto crossing = find_crossing(pieces);
  if (!crossing) return;
  const auto text = [&](int i) {
    const Piece& p = pieces[i];
    return "(" + to_text(p.a.x()) + ", " + to_text(p.a.y()) + ") to (" + to_text(p.b.x()) + ", " + to_text(p.b.y()) +
           ")";
  };
  throw Error(std::string(what) + " crosses itself: its line " + std::to_string((*crossing)[0]) + " from " +
              text((*crossing)[0]) + " meets line " + std::to_string((*crossing)[1]) + " from " + text((*crossing)[1]) +
              ", expected lines that do not cross");
}

void check_positive(double value, const char* what) {
  require(std::isfinite(value) && value > 0.0,
          std::string(what) + " is " + to_text(value) + ", expected finite and > 0");
}

void check_between(double value, double low, double high, const char* what, const char* expected) {
  require(std::isfinite(value) && value > low && value < high,
          std::string(what) + " is " + to_text(value) + ", expected " + expected);
}

}  // namespace

SdfPtr make_dish(std::vector<PathPoint> path, double padding) {
  require(path.size() >= 2, "path of " + std::to_string(path.size()) + " points, expected at least 2");
  require(std::isfinite(padding) && padding > 0.0, "padding is " + to_text(padding) + ", expected finite and > 0");
  for (std::size_t i = 0; i < path.size(); ++i) {
    check_point("path point", i, path[i].r, path[i].z);
    require(std::isfinite(path[i].bulge) && std::abs(path[i].bulge) <= 1.0,
            describe("path point", i, path[i].r, path[i].z) + " with bulge " + to_text(path[i].bulge) +
                ", expected -1 to 1");
    if (i > 0)
      require(std::hypot(path[i].r - path[i - 1].r, path[i].z - path[i - 1].z) > 1e-9,
              describe("path point", i, path[i].r, path[i].z) + " like the one before, expected another");
  }
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    pieces.push_back(make_piece(path[i], path[i + 1]));
    const double least = box_of(pieces.back()).lower.x();
    require(least > -1e-12 - 1e-9 * pieces.back().radius,
            describe("path point", i, path[i].r, path[i].z) + " with bulge " + to_text(path[i].bulge) +
                ": its arc reaches r = " + to_text(least) + ", expected r >= 0 all along");
  }
  check_crossing("path", pieces);
  return std::make_shared<DishSdf>(std::move(pieces), padding);
}

SdfPtr make_dish(const Vec2& a, const Vec2& b, double padding) {
  return make_dish({{0.0, 0.0}, {a.x(), a.y()}, {b.x(), b.y()}}, padding);
}

SdfPtr make_revolved_solid(std::vector<Vec2> polygon) {
  require(polygon.size() >= 3, "polygon of " + std::to_string(polygon.size()) + " points, expected at least 3");
  double area = 0.0;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Vec2 &p = polygon[i], &q = polygon[(i + 1) % polygon.size()];
    check_point("polygon point", i, p.x(), p.y());
    require((q - p).norm() > 1e-9, describe("polygon point", i, p.x(), p.y()) + " like the next, expected another");
    area += 0.5 * (p.x() * q.y() - q.x() * p.y());
  }
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Vec2 &p = polygon[i], &q = polygon[(i + 1) % polygon.size()];
    pieces.push_back(make_piece({p.x(), p.y()}, {q.x(), q.y()}));
  }
  check_crossing("polygon", pieces);
  require(area > 0.0, "area of the polygon is " + to_text(area) + ", expected > 0: counterclockwise in (r, z)");
  return std::make_shared<RevolvedSdf>(std::move(polygon));
}

SdfPtr make_bowl(double foot_radius, double rim_radius, double height, double wall) {
  check_positive(height, "height");
  check_positive(rim_radius, "rim radius");
  check_between(wall, 0.0, height, "wall", "between 0 and the height");
  check_between(foot_radius, 0.0, rim_radius, "foot radius", "between 0 and the rim radius");
  const double d = 0.5 * wall;
  return make_dish({{0.0, d}, {foot_radius, d}, {rim_radius - d, height - d}}, d);
}

SdfPtr make_plate(double foot_radius, double rim_radius, double height, double wall) {
  return make_bowl(foot_radius, rim_radius, height, wall);
}

SdfPtr make_pot(double radius, double height, double wall) {
  check_positive(radius, "radius");
  check_positive(height, "height");
  check_between(wall, 0.0, std::min(radius, height), "wall", "between 0 and radius and height");
  const double d = 0.5 * wall;
  return make_dish({{0.0, d}, {radius - d, d}, {radius - d, height - d}}, d);
}

SdfPtr make_cup(double foot_radius, double rim_radius, double height, double wall) {
  check_positive(foot_radius, "foot radius");
  check_positive(rim_radius, "rim radius");
  check_positive(height, "height");
  check_between(wall, 0.0, std::min(foot_radius, height), "wall", "between 0 and foot radius and height");
  const double d = 0.5 * wall;
  return make_dish({{0.0, d}, {foot_radius - d, d}, {rim_radius - d, height - d}}, d);
}

SdfPtr make_bottle(double radius, double neck_radius, double shoulder, double height, double wall) {
  check_positive(radius, "radius");
  check_positive(neck_radius, "neck radius");
  check_positive(shoulder, "shoulder");
  check_positive(height, "height");
  check_between(wall, 0.0, std::min(neck_radius, shoulder), "wall", "between 0 and neck radius and shoulder");
  check_between(neck_radius, 0.0, radius, "neck radius", "between 0 and the radius");
  check_between(shoulder, 0.0, height, "shoulder", "between 0 and the height");
  const double d = 0.5 * wall, slope = radius - neck_radius;
  require(shoulder + slope < height - d, "height is " + to_text(height) + ", expected more than " +
                                             to_text(shoulder + slope + d) + ": the shoulder rises at 45 degrees");
  return make_dish({{0.0, d},
                    {radius - d, d},
                    {radius - d, shoulder},
                    {neck_radius - d, shoulder + slope},
                    {neck_radius - d, height - d}},
                   d);
}

SdfPtr make_round_bowl(double inner_radius, double height, double wall) {
  check_between(inner_radius, 0.0, kInfinity, "inner radius", "finite and > 0");
  check_between(height, 0.0, inner_radius * 1.999, "height", "between 0 and twice the inner radius");
  check_between(wall, 0.0, kInfinity, "wall", "finite and > 0");
  // The path is an arc of radius inner + wall / 2 about (0, inner), counterclockwise from its lowest point.
  const double d = 0.5 * wall, radius = inner_radius + d;
  const double angle = std::acos(1.0 - height / inner_radius);
  return make_dish({{0.0, inner_radius - radius, std::tan(0.25 * angle)},
                    {radius * std::sin(angle), inner_radius - radius * std::cos(angle)}},
                   d);
}

}  // namespace almond
