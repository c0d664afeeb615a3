#pragma once
// The lines and arcs of a profile in the half plane (r, z), and a tree of boxes over them: profiles may have thousands.

#include <array>
#include <optional>
#include <vector>

#include "almond/model/profile.hpp"

namespace almond {

struct Box2 {
  Vec2 lower = Vec2::Constant(kInfinity), upper = Vec2::Constant(-kInfinity);
  void add(const Vec2& p) {
    lower = lower.cwiseMin(p);
    upper = upper.cwiseMax(p);
  }
};

/// A straight piece, or an arc about `center`.
struct Piece {
  Vec2 a, b;
  double length2 = 0.0;  // of the chord
  bool arc = false;
  Vec2 center = Vec2::Zero();
  double radius = 0.0;
  Vec2 middle = Vec2::Zero();       // unit, from the centre to the middle of the arc
  double cosine = 0.0;              // of half the arc's angle
  double start = 0.0, sweep = 0.0;  // angles [rad], sweep < 0: clockwise

  [[nodiscard]] Vec2 tangent(bool at_end) const;
};

/// An arc so flat that it bends by less than a millionth of its chord is taken as straight: its radius would swallow
/// the digits.
[[nodiscard]] Piece make_piece(const PathPoint& from, const PathPoint& to);
/// Ends, and where an arc is farthest out along r or z.
[[nodiscard]] Box2 box_of(const Piece& piece);

/// Pieces begin to end - 1, in the order of the profile: a leaf, or two children, the next node and `second`.
struct PieceNode {
  Box2 box;
  int begin = 0, end = 0, second = -1;
  bool joined = true;  // each piece begins where the one before ends
};
[[nodiscard]] std::vector<PieceNode> make_piece_tree(const std::vector<Piece>& pieces);

/// Two pieces that cross elsewhere than where one goes on as the next. Arcs are taken as 64 chords.
[[nodiscard]] std::optional<std::array<int, 2>> find_crossing(const std::vector<Piece>& pieces);

}  // namespace almond
