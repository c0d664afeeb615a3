#include "almond/sim/bounce.hpp"

#include <algorithm>
#include <cmath>

namespace almond {
namespace {

int find_root(std::vector<int>& group, int tree) {
  while (group[tree] != tree) tree = group[tree] = group[group[tree]];
  return tree;
}

void join_touching(const Model& model, const Contacts& contacts, const GrowVector& lambda, std::vector<int>& group) {
  group.resize(model.trees.size());
  for (std::size_t t = 0; t < group.size(); ++t) group[t] = static_cast<int>(t);
  const auto tree_of = [&](int body) { return body < 0 ? -1 : model.bodies[body].subsystem; };
  for (std::size_t i = 0; i < contacts.points.size(); ++i) {
    if (!(lambda[static_cast<Eigen::Index>(3 * i + 2)] > 0.0)) continue;
    const int a = tree_of(contacts.points[i].body_a), b = tree_of(contacts.points[i].body_b);
    if (a >= 0 && b >= 0) group[find_root(group, a)] = find_root(group, b);
  }
}

}  // namespace

void bound_bounce(const Model& model, const Kinematics& kin, const Contacts& contacts, const GrowVector& lambda,
                  const VecX& landed, BounceWorkspace& w, Assembly& assembly, GrowVector& v) {
  const ContactProblem& problem = assembly.problem;
  const std::size_t trees = model.trees.size();
  join_touching(model, contacts, lambda, w.group);
  w.differs.assign(trees, 0);
  for (std::size_t t = 0; t < trees; ++t) {
    const TreeInfo& info = model.trees[t];
    if (v.segment(info.v_begin, info.dofs) != landed.segment(info.v_begin, info.dofs))
      w.differs[find_root(w.group, static_cast<int>(t))] = 1;
  }
  for (auto* sums : {&w.kept, &w.landed, &w.cross, &w.left}) sums->assign(trees, 0.0);
  w.free = Eigen::Map<const VecX>(problem.b.data(), model.num_v);
  for (std::size_t t = 0; t < trees; ++t) {
    const TreeInfo& info = model.trees[t];
    const auto index = static_cast<int>(t);
    const int root = find_root(w.group, index);
    if (w.differs[root] == 0) continue;
    auto free = w.free.segment(info.v_begin, info.dofs);
    if (!factor_mass(model, index, kin, assembly.implicit, assembly.drift)) return;
    solve_mass(model, index, kin, assembly.drift, free);
    // Energies ½ uᵀAu of u = v̂ - d, and of the way from the one answer to the other.
    const Eigen::Map<const MatX> A(problem.A_pool.data() + problem.subsystems[t].A_start, info.dofs, info.dofs);
    const auto product = [&](auto&& x, auto&& y) {
      double sum = 0.0;
      for (int i = 0; i < info.dofs; ++i)
        for (int k = 0; k < info.dofs; ++k) sum += x(i) * A(i, k) * y(k);
      return sum;
    };
    const int begin = info.v_begin;
    const auto u_free = [&](int i) { return w.free[begin + i] - assembly.d[begin + i]; };
    const auto u_landed = [&](int i) { return landed[begin + i] - assembly.d[begin + i]; };
    const auto way = [&](int i) { return v[begin + i] - landed[begin + i]; };
    w.kept[root] += 0.5 * product(u_free, u_free);
    w.landed[root] += 0.5 * product(u_landed, u_landed);
    w.cross[root] += product(u_landed, way);
    w.left[root] += 0.5 * product(way, way);
  }
  for (std::size_t t = 0; t < trees; ++t) {
    const int root = find_root(w.group, static_cast<int>(t));
    // landed + s cross + s² left <= kept
    const double c = w.landed[root] - w.kept[root], b = w.cross[root], a = w.left[root];
    if (c + b + a <= 1e-12 * w.kept[root] || a <= 0.0) continue;
    const double root_of = std::sqrt(std::max(0.0, b * b - 4.0 * a * c));
    const double s = std::clamp((-b + root_of) / (2.0 * a), 0.0, 1.0);
    const TreeInfo& info = model.trees[t];
    for (int i = info.v_begin; i < info.v_begin + info.dofs; ++i) v[i] = landed[i] + s * (v[i] - landed[i]);
  }
}

}  // namespace almond
