#include "almond/load/body_cover.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace almond {
namespace {

using Set = std::vector<int>;  // sorted

bool contains(const Set& set, int value) { return std::binary_search(set.begin(), set.end(), value); }

Set intersect(const Set& a, const Set& b) {
  Set both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

class Cover {
 public:
  explicit Cover(const std::vector<Set>& neighbours) : rest_(neighbours), capacity_(neighbours.size(), 2) {}

  std::vector<Set> run() {
    take_large_cliques();
    while (take_forced() || take_lone_edges()) {
    }
    return take_remaining_components() ? clusters_ : std::vector<Set>{};
  }

 private:
  /// All edges among the members still uncovered, and every member able to join one more cluster.
  [[nodiscard]] bool available(const Set& members) const {
    for (const int v : members) {
      if (capacity_[v] == 0) return false;
      for (const int u : members) {
        if (u != v && !contains(rest_[v], u)) return false;
      }
    }
    return true;
  }

  void take(const Set& members) {
    for (const int v : members) {
      --capacity_[v];
      Set left;
      std::set_difference(rest_[v].begin(), rest_[v].end(), members.begin(), members.end(), std::back_inserter(left));
      rest_[v] = std::move(left);
    }
    clusters_.push_back(members);
  }

  /// The clique around an edge: its common neighbours, less those that fit worst with the others.
  [[nodiscard]] Set clique_around(int u, int v) const {
    Set members = intersect(rest_[u], rest_[v]);
    while (!members.empty()) {
      std::size_t worst = 0, worst_strangers = 0;
      for (std::size_t i = 0; i < members.size(); ++i) {
        const std::size_t strangers = members.size() - 1 - intersect(members, rest_[members[i]]).size();
        if (strangers > worst_strangers) {
          worst = i;
          worst_strangers = strangers;
        }
      }
      if (worst_strangers == 0) break;
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(worst));
    }
    members.push_back(u);
    members.push_back(v);
    std::sort(members.begin(), members.end());
    return members;
  }

  void take_large_cliques() {
    for (int v = 0; v < static_cast<int>(rest_.size()); ++v) {
      const Set around = rest_[v];
      for (const int u : around) {
        if (u < v || !contains(rest_[v], u)) continue;
        const Set clique = clique_around(v, u);
        if (clique.size() >= 4 && available(clique)) take(clique);
      }
    }
  }

  /// A vertex that can join only one more cluster: that cluster holds all its uncovered edges.
  bool take_forced() {
    bool any = false;
    for (int v = 0; v < static_cast<int>(rest_.size()); ++v) {
      if (capacity_[v] != 1 || rest_[v].empty()) continue;
      Set members = rest_[v];
      members.insert(std::lower_bound(members.begin(), members.end(), v), v);
      if (!available(members)) continue;
      take(members);
      any = true;
    }
    return any;
  }

  /// An edge in no triangle is a body with two classes.
  bool take_lone_edges() {
    bool any = false;
    for (int v = 0; v < static_cast<int>(rest_.size()); ++v) {
      const Set around = rest_[v];
      for (const int u : around) {
        if (u < v || !intersect(rest_[u], rest_[v]).empty() || !available({v, u})) continue;
        take({v, u});
        any = true;
      }
    }
    return any;
  }

  bool take_remaining_components() {
    for (int v = 0; v < static_cast<int>(rest_.size()); ++v) {
      if (rest_[v].empty()) continue;
      Set component = {v}, open = {v};
      while (!open.empty()) {
        const int x = open.back();
        open.pop_back();
        for (const int y : rest_[x]) {
          const auto at = std::lower_bound(component.begin(), component.end(), y);
          if (at != component.end() && *at == y) continue;
          component.insert(at, y);
          open.push_back(y);
        }
      }
      for (const int x : component) {
        if (capacity_[x] == 0) return false;
      }
      take(component);
    }
    return true;
  }

  std::vector<Set> rest_;  // uncovered edges
  std::vector<int> capacity_;
  std::vector<Set> clusters_;
};

}  // namespace

std::vector<std::vector<int>> find_twins(const std::vector<std::vector<int>>& neighbours,
                                         const std::vector<int>& members) {
  std::map<std::vector<int>, std::size_t> index;
  std::vector<std::vector<int>> classes;
  for (const int i : members) {
    const auto [at, is_new] = index.try_emplace(neighbours[i], classes.size());
    if (is_new) classes.emplace_back();
    classes[at->second].push_back(i);
  }
  return classes;
}

std::vector<std::vector<int>> cover_by_bodies(const std::vector<std::vector<int>>& neighbours) {
  return Cover(neighbours).run();
}

}  // namespace almond
