#include "almond/sim/absurd.hpp"

#include <cmath>

#include "almond/dynamics/drift.hpp"
#include "almond/solver/contact_velocity.hpp"

namespace almond {
namespace {

constexpr double kGrowth = 1e3;   // of the largest velocity, by which an impact may set a light link whirling
constexpr double kSlowest = 1.0;  // [m/s, rad/s] that it grows from, at least
constexpr double kExcess = 1e6;   // of the energy that there is: a thousand times the velocities

/// Work of springs, drives and dry friction, whichever sign [J].
double row_work(const Assembly& assembly, const GrowVector& lambda, const GrowVector& v) {
  const ContactProblem& problem = assembly.problem;
  const std::size_t closures = problem.equality.empty() ? assembly.correction.size() : 0;
  const auto begin = static_cast<std::size_t>(assembly.soft_closures);
  const std::size_t first = 3 * problem.contacts.size() + problem.hard.size();
  double work = 0.0;
  for (std::size_t i = 0; i < problem.soft.size(); ++i) {
    if (i >= begin && i < begin + closures) continue;
    const Row& row = problem.soft[i];
    work += std::abs(lambda[static_cast<Eigen::Index>(first + i)] * (row_velocity(problem, row, v) - row.e));
  }
  return work;
}

}  // namespace

bool is_absurd(const Model& model, const StepOptions& options, const State& state, const GrowVector& v,
               StepWorkspace& w) {
  if (v.size() == 0) return false;
  const double before = std::max(kSlowest, state.v.cwiseAbs().maxCoeff());
  if (v.cwiseAbs().maxCoeff() <= kGrowth * before) return false;
  Assembly& assembly = w.assembly;
  const ContactProblem& problem = assembly.problem;
  w.bounce.free = Eigen::Map<const VecX>(problem.b.data(), model.num_v);
  double energy = 0.0, explained = row_work(assembly, w.solution.lambda, v);
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const TreeInfo& info = model.trees[t];
    const auto index = static_cast<int>(t);
    auto free = w.bounce.free.segment(info.v_begin, info.dofs);
    if (!factor_mass(model, index, w.kinematics, assembly.implicit, assembly.drift)) return false;
    solve_mass(model, index, w.kinematics, assembly.drift, free);
    double mass = 0.0;
    for (const int b : info.bodies) mass += model.bodies[b].mass;
    explained += 0.5 * mass * options.max_correction * options.max_correction;
    const Eigen::Map<const MatX> A(problem.A_pool.data() + problem.subsystems[t].A_start, info.dofs, info.dofs);
    for (int i = 0; i < info.dofs; ++i) {
      explained += 0.5 * free[i] * problem.b[info.v_begin + i];
      for (int k = 0; k < info.dofs; ++k) energy += 0.5 * v[info.v_begin + i] * A(i, k) * v[info.v_begin + k];
    }
  }
  return energy > kExcess * explained;
}

}  // namespace almond
