#include "almond/model/profile_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace almond {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kStraight = 1e-6;  // bulge
constexpr int kLeaf = 16, kChords = 64;

double cross(const Vec2& u, const Vec2& v) { return u.x() * v.y() - u.y() * v.x(); }

void add_node(const std::vector<Piece>& pieces, int begin, int end, std::vector<PieceNode>& nodes) {
  const int number = static_cast<int>(nodes.size());
  PieceNode node;
  node.begin = begin;
  node.end = end;
  for (int i = begin; i < end; ++i) {
    const Box2 box = box_of(pieces[i]);
    node.box.add(box.lower);
    node.box.add(box.upper);
    if (i > begin && pieces[i].a != pieces[i - 1].b) node.joined = false;
  }
  nodes.push_back(node);
  if (end - begin <= kLeaf) return;
  const int middle = begin + (end - begin) / 2;
  add_node(pieces, begin, middle, nodes);
  nodes[number].second = static_cast<int>(nodes.size());
  add_node(pieces, middle, end, nodes);
}

bool overlap(const Box2& a, const Box2& b) {
  return (a.lower.array() <= b.upper.array()).all() && (b.lower.array() <= a.upper.array()).all();
}

/// Lines cross where the ends of each lie strictly on both sides of the other.
bool lines_cross(const Piece& p, const Piece& q) {
  const Vec2 u = p.b - p.a, v = q.b - q.a;
  const double small = 1e-12 * u.norm() * v.norm();
  const double qa = cross(u, q.a - p.a), qb = cross(u, q.b - p.a), pa = cross(v, p.a - q.a), pb = cross(v, p.b - q.a);
  return std::min(qa, qb) < -small && std::max(qa, qb) > small && std::min(pa, pb) < -small && std::max(pa, pb) > small;
}

}  // namespace

Vec2 Piece::tangent(bool at_end) const {
  if (!arc) return (b - a).normalized();
  const double angle = at_end ? start + sweep : start;
  return std::copysign(1.0, sweep) * Vec2(-std::sin(angle), std::cos(angle));
}

Piece make_piece(const PathPoint& from, const PathPoint& to) {
  Piece piece;
  piece.a = Vec2(from.r, from.z);
  piece.b = Vec2(to.r, to.z);
  const Vec2 chord = piece.b - piece.a;
  piece.length2 = chord.squaredNorm();
  if (std::abs(from.bulge) < kStraight) return piece;
  // The arc bends to the right of its chord for bulge > 0, so it turns left, counterclockwise, about its centre.
  const double angle = 4.0 * std::atan(from.bulge), length = chord.norm();
  const Vec2 left(-chord.y() / length, chord.x() / length);
  piece.arc = true;
  piece.sweep = angle;
  piece.radius = std::abs(0.5 * length / std::sin(0.5 * angle));
  piece.center = 0.5 * (piece.a + piece.b) + left * (0.5 * length / std::tan(0.5 * angle));
  const Vec2 first = piece.a - piece.center;
  piece.start = std::atan2(first.y(), first.x());
  const double half = piece.start + 0.5 * angle;
  piece.middle = Vec2(std::cos(half), std::sin(half));
  piece.cosine = std::cos(0.5 * std::abs(angle));
  return piece;
}

Box2 box_of(const Piece& piece) {
  Box2 box;
  box.add(piece.a);
  box.add(piece.b);
  if (!piece.arc) return box;
  const Vec2 axis[4] = {{1.0, 0.0}, {0.0, 1.0}, {-1.0, 0.0}, {0.0, -1.0}};
  for (int k = 0; k < 4; ++k) {
    const double turn = std::copysign(1.0, piece.sweep) * (0.5 * kPi * k - piece.start);
    if (turn - 2.0 * kPi * std::floor(turn / (2.0 * kPi)) < std::abs(piece.sweep))
      box.add(piece.center + piece.radius * axis[k]);
  }
  return box;
}

std::vector<PieceNode> make_piece_tree(const std::vector<Piece>& pieces) {
  std::vector<PieceNode> nodes;
  add_node(pieces, 0, static_cast<int>(pieces.size()), nodes);
  return nodes;
}

std::optional<std::array<int, 2>> find_crossing(const std::vector<Piece>& pieces) {
  std::vector<Piece> lines;
  std::vector<int> piece_of;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    Vec2 from = piece.a;
    const int count = piece.arc ? kChords : 1;
    for (int k = 1; k <= count; ++k) {
      const double angle = piece.start + piece.sweep * k / count;
      const Vec2 on_arc = piece.center + piece.radius * Vec2(std::cos(angle), std::sin(angle));
      const Vec2 to = k == count ? piece.b : on_arc;
      lines.push_back(make_piece({from.x(), from.y()}, {to.x(), to.y()}));
      piece_of.push_back(static_cast<int>(i));
      from = to;
    }
  }
  const std::vector<PieceNode> nodes = make_piece_tree(lines);
  std::vector<int> open;
  for (int i = 0; i < static_cast<int>(lines.size()); ++i) {
    const Box2 box = box_of(lines[i]);
    open.assign(1, 0);
    while (!open.empty()) {
      const int number = open.back();
      const PieceNode& node = nodes[number];
      open.pop_back();
      if (node.end <= i + 1 || !overlap(box, node.box)) continue;
      if (node.second >= 0) {
        open.push_back(node.second);
        open.push_back(number + 1);
        continue;
      }
      for (int k = std::max(node.begin, i + 1); k < node.end; ++k)
        if (lines_cross(lines[i], lines[k])) return std::array<int, 2>{piece_of[i], piece_of[k]};
    }
  }
  return std::nullopt;
}

}  // namespace almond
