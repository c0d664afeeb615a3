#pragma once
// Depth of overlapping cores by the expanding polytope algorithm.
//
//   P ⊂ D      a polytope with vertices on the boundary of D = A - B; faces with outward unit normals n and offsets d =
//   nᵀy bounds     min over faces of d  <=  min over n of h(n)  <=  h(n) of any n step       the face with the smallest
//   d either lies on D (done) or its support point joins P
//
// The origin need not lie inside P: a face that it lies beyond has d < 0 and is expanded first. So the same rule serves
// cores that touch to rounding, on either side of zero, and their normal is that of a face of D.

#include <array>

#include "almond/collision/gjk.hpp"

namespace almond {

struct EpaFace {
  std::array<int, 3> vertex;
  std::array<int, 3> across;  // face beyond edge (vertex k, vertex k + 1)
  Vec3 n;
  double d = 0.0;
  bool alive = false;
  bool settled = false;  // within bounds, and the valley below is known
};

struct EpaWorkspace {
  static constexpr int kMaxVertices = 256, kMaxFaces = 2 * kMaxVertices;
  struct HorizonEdge {
    int face, side;  // of the face that stays
    int from, to;    // in the order of the face that goes
  };
  std::array<DifferencePoint, kMaxVertices> vertex;
  std::array<EpaFace, kMaxFaces> face;
  std::array<int, kMaxFaces> free_face, stack, visible;
  std::array<HorizonEdge, kMaxFaces> horizon;
  std::array<int, kMaxVertices> horizon_at;  // (vertices) horizon edge that starts there
  int num_vertices = 0, num_faces = 0, num_free = 0;
};

/// `simplex` is GJK's last one; `result` receives the signed distance (negative: overlap).
void solve_epa(Difference& difference, const Simplex& simplex, EpaWorkspace& workspace, CoreDistance& result);

}  // namespace almond
