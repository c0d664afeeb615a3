#include "almond/solver/node_order.hpp"

#include <numeric>

namespace almond {
namespace {

constexpr int kFew = 48;  // nodes that fit into one worker's cache anyway

void walk(const NodeOrderScratch& graph, int start, std::vector<int>& seen, std::vector<int>& order) {
  seen.assign(graph.begin.size() - 1, 0);
  order.assign(1, start);
  seen[start] = 1;
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (int k = graph.begin[order[at]]; k < graph.begin[order[at] + 1]; ++k) {
      const int next = graph.neighbours[k];
      if (seen[next] != 0) continue;
      seen[next] = 1;
      order.push_back(next);
    }
  }
}

}  // namespace

void order_nodes(const Island& island, NodeOrderScratch& scratch, std::vector<int>& order) {
  const int count = static_cast<int>(island.nodes.size());
  order.resize(count);
  std::iota(order.begin(), order.end(), 0);
  if (count <= kFew) return;
  const auto for_each_edge = [&](auto&& visit) {
    for (const Constraint& c : island.constraints) {
      if (c.num_sides == 2 && c.node[0] != c.node[1]) visit(c.node[0], c.node[1]);
    }
  };
  // Neighbours of node k end up in [begin[k], begin[k + 1]).
  scratch.begin.assign(count + 2, 0);
  for_each_edge([&](int a, int b) {
    ++scratch.begin[a + 2];
    ++scratch.begin[b + 2];
  });
  std::partial_sum(scratch.begin.begin(), scratch.begin.end(), scratch.begin.begin());
  scratch.neighbours.resize(scratch.begin.back());
  for_each_edge([&](int a, int b) {
    scratch.neighbours[scratch.begin[a + 1]++] = b;
    scratch.neighbours[scratch.begin[b + 1]++] = a;
  });
  scratch.begin.pop_back();
  walk(scratch, 0, scratch.seen, order);
  if (static_cast<int>(order.size()) == count) walk(scratch, order.back(), scratch.seen, order);
  if (static_cast<int>(order.size()) == count) return;
  order.resize(count);  // an island made of several parts: as it is
  std::iota(order.begin(), order.end(), 0);
}

}  // namespace almond
