#include "almond/sim/independent.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/contact_velocity.hpp"

namespace almond {
namespace {

/// Of all rows, and of what each mends, those that others stand for.
void keep_dropped(const std::vector<int>& kept, Assembly& assembly) {
  std::size_t left = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != 0) continue;
    assembly.dropped[left] = assembly.dropped[i];
    assembly.dropped_correction[left++] = assembly.correction[i];
  }
  assembly.dropped.resize(left);
  assembly.dropped_correction.resize(left);
}

}  // namespace

void soften_closures(IndependenceWorkspace& w, Assembly& assembly) {
  assembly.soft_closures = static_cast<int>(assembly.problem.soft.size());
  std::vector<int>& closure = assembly.closure;
  closure.clear();
  for (const RowTag& tag : assembly.equality) closure.push_back(2 * tag.index + (tag.row < 3 ? 0 : 1));
  assembly.dropped = assembly.problem.equality;
  assembly.dropped_correction.resize(closure.size());
  if (!soften_equalities(closure, w, assembly.problem)) {
    assembly.dropped.clear();
    return;
  }
  keep_dropped(w.kept, assembly);
  std::size_t left = 0;
  for (std::size_t i = 0; i < closure.size(); ++i) {
    if (w.kept[i] == 0) continue;
    assembly.soft.push_back(assembly.equality[i]);
    assembly.correction[left++] = assembly.correction[i];
  }
  assembly.equality.clear();
  assembly.correction.resize(left);
}

double measure_opening(const Model& model, const VecX& q, const std::vector<Pose>& X_WB) {
  const auto pose = [&](int body) { return body < 0 ? Pose{} : X_WB[body]; };
  double opening = 0.0;
  for (const Closure& closure : model.closures) {
    double error = 0.0;
    if (closure.kind == ClosureKind::kMimic) {
      error = q[model.joints[closure.a].q_begin] - closure.ratio * q[model.joints[closure.b].q_begin] - closure.offset;
    } else if (closure.kind == ClosureKind::kTendon) {
      error = tendon_position(model, model.tendons[closure.a], q) -
              closure.ratio * tendon_position(model, model.tendons[closure.b], q) - closure.offset;
    } else {
      const Pose X_a = pose(closure.a) * closure.X_a, X_b = pose(closure.b) * closure.X_b;
      error = (X_b.p - X_a.p).norm();
      if (closure.kind == ClosureKind::kWeld) error = std::max(error, log_so3(X_b.R * X_a.R.transpose()).norm());
    }
    opening = std::max(opening, std::abs(error));
  }
  return opening;
}

bool contradicts(const Assembly& assembly, double dt, const GrowVector& v) {
  constexpr double kOpen = 1e-4;  // [m, rad]: what a step should mend and passes a dead point with is less
  constexpr double kLeft = 0.5;   // of the correction
  const ContactProblem& problem = assembly.problem;
  const auto stays = [&](const Row& row, double correction) {
    if (std::abs(correction) * dt < kOpen) return false;
    return std::abs(row_velocity(problem, row, v)) > kLeft * std::abs(correction);
  };
  for (std::size_t i = 0; i < assembly.dropped.size(); ++i)
    if (stays(assembly.dropped[i], assembly.dropped_correction[i])) return true;
  const std::vector<Row>& rows = problem.equality.empty() ? problem.soft : problem.equality;
  const std::size_t begin = problem.equality.empty() ? static_cast<std::size_t>(assembly.soft_closures) : 0;
  for (std::size_t i = 0; i < assembly.correction.size(); ++i)
    if (stays(rows[begin + i], assembly.correction[i])) return true;
  return false;
}

}  // namespace almond
