#pragma once
// Which constraints share a body, from the sparsity of a Delassus matrix alone.
//
// Take a graph with a vertex per class of constraints (same pair of bodies) and an edge where the block of W is not
// zero, that is where two classes share a body. It is the line graph of the graph of bodies: each body is a clique,
// each class lies in at most two of them, each edge in exactly one (Krausz). Cliques of four and more are bodies for
// sure; a triangle may also be three bodies that touch each other, which the classes' remaining freedom decides. What
// stays undecided is put into one cluster: larger than a body, but still a valid cover.

#include <vector>

namespace almond {

/// Constraints with equal closed neighbourhoods, in order of their first member. `neighbours` holds, sorted, every
/// constraint's neighbours and itself.
[[nodiscard]] std::vector<std::vector<int>> find_twins(const std::vector<std::vector<int>>& neighbours,
                                                       const std::vector<int>& members);

/// Clusters of vertices of a graph (sorted neighbours, without loops) that cover each edge exactly once and each vertex
/// at most twice; empty if none was found. A vertex without edges is in no cluster.
[[nodiscard]] std::vector<std::vector<int>> cover_by_bodies(const std::vector<std::vector<int>>& neighbours);

}  // namespace almond
