#include <algorithm>
#include <cmath>

#include "almond/solver/subadmm.hpp"

namespace almond {
namespace {

/// Geometric mean over bodies of mass / number of contacts on the body, and the number of such bodies. A node without a
/// tree counts as one body, whose mass is what its contacts feel: the mean of 1 / W̄ over its own share of W.
class PseudoDensity {
 public:
  explicit PseudoDensity(const Island& island) {
    for (int k = 0; k < static_cast<int>(island.nodes.size()); ++k) {
      const Node& node = island.nodes[k];
      if (node.tree != nullptr) {
        add_tree(island, k, *node.tree);
      } else {
        add_block(island, k);
      }
    }
  }

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] double mean() const { return std::exp(sum_log_ / count_); }

 private:
  void add(double mass, int contacts) {
    if (contacts == 0 || !(mass > 0.0)) return;
    sum_log_ += std::log(mass / contacts);
    ++count_;
  }

  void add_tree(const Island& island, int k, const Tree& tree) {
    for (int body = 0; body < tree.num_bodies(); ++body) {
      int contacts = 0;
      for (int i = 0; i < island.num_contacts; ++i) {
        const Constraint& c = island.constraints[i];
        for (int part = 0; part < c.num_parts; ++part) {
          const int node = c.node[std::min(part, c.num_sides - 1)];
          contacts += node == k && c.parts[part].body == body;
        }
      }
      // The mass stands in the first three diagonal entries of the spatial inertia.
      add(tree.M[body].diagonal().head<3>().mean(), contacts);
    }
  }

  void add_block(const Island& island, int k) {
    double W_sum = 0.0;
    int contacts = 0;
    for (int i = 0; i < island.num_contacts; ++i) {
      const Constraint& c = island.constraints[i];
      for (int s = 0; s < c.num_sides; ++s) {
        if (c.node[s] != k) continue;
        const double* J = &island.J[c.J[s]];
        for (int j = 0; j < 3 * island.nodes[k].ld; ++j) W_sum += J[j] * J[j];
        ++contacts;
      }
    }
    add(contacts > 0 ? 3.0 * contacts / W_sum : 0.0, contacts);
  }

  double sum_log_ = 0.0;
  int count_ = 0;
};

}  // namespace

void compute_penalty_weights(const Island& island, bool pseudo_density, std::vector<double>& weight) {
  weight.resize(island.num_constraints);
  for (int i = 0; i < island.num_constraints; ++i) weight[i] = 1.0 / island.w_bar[i];
  if (!pseudo_density || island.num_contacts == 0) return;
  const PseudoDensity density(island);
  if (density.count() == 0 || !std::isfinite(density.mean())) return;
  double W_mean = 0.0;
  for (int i = 0; i < island.num_contacts; ++i) W_mean += island.w_bar[i] / island.num_contacts;
  for (int i = 0; i < island.num_contacts; ++i) weight[i] = density.mean();
  for (int i = island.num_contacts; i < island.num_constraints; ++i) weight[i] *= density.mean() * W_mean;
}

}  // namespace almond
