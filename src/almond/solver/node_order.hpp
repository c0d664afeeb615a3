#pragma once
// An order of an island's nodes in which neighbours are near: breadth first from a far end.
//
// States and matrices of nodes lie in memory in this order, and workers own contiguous stretches of it. What two
// workers share is then the interface between two stretches, not half of all constraints.

#include <vector>

#include "almond/solver/island.hpp"

namespace almond {

struct NodeOrderScratch {
  std::vector<int> begin, neighbours, seen;
};

/// order[position] = node. Small islands keep the order they have.
void order_nodes(const Island& island, NodeOrderScratch& scratch, std::vector<int>& order);

}  // namespace almond
