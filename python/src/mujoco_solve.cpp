// The answer, and where it goes.

#include <algorithm>
#include <cmath>

#include "mujoco.hpp"

namespace almond::python {
namespace {

constexpr double kNoticeable = 1e-4;   // corrections up to this speed may stay in the velocities [m/s, rad/s]
constexpr int kLimitRounds = 10;       // spin and rolling friction: limits follow the normal forces of the last round
constexpr double kLimitChange = 1e-6;  // relative change of a limit that is not worth another round

/// Impulses of the last step, for the constraints that are still there. They mostly come in the same order.
void recall(MujocoSolver& s, Solution& answer) {
  answer.lambda.resize(s.problem.num_rows());
  answer.lambda.setZero();
  std::size_t next = 0;
  for (const Origin& origin : s.origins) {
    if (origin.first < 0) continue;
    for (std::size_t tried = 0; tried < s.memory.size(); ++tried) {
      const Memory& m = s.memory[(next + tried) % s.memory.size()];
      if (m.a != origin.key_a || m.b != origin.key_b || m.c != origin.key_c) continue;
      const bool cone = origin.first < 3 * s.problem.num_contacts();
      for (int k = 0; k < (cone ? 3 : 1); ++k) answer.lambda[origin.first + k] = m.impulse[k];
      next += tried + 1;
      break;
    }
  }
}

void remember(MujocoSolver& s) {
  s.memory.clear();
  for (const Origin& origin : s.origins) {
    if (origin.first < 0) continue;
    Memory m{origin.key_a, origin.key_b, origin.key_c, Vec3::Zero()};
    const bool cone = origin.first < 3 * s.problem.num_contacts();
    for (int k = 0; k < (cone ? 3 : 1); ++k) m.impulse[k] = s.solution.lambda[origin.first + k];
    s.memory.push_back(m);
  }
}

/// Limits of spin and rolling friction from the normal impulses of an answer; true if one has changed.
bool set_limits(MujocoSolver& s, const Solution& answer) {
  bool changed = false;
  const int first = s.problem.num_rows() - static_cast<int>(s.problem.bounded.size());
  for (const int i : s.bounded) {
    const Origin& origin = s.origins[i];
    if (origin.roll == 0) continue;
    Row& row = s.problem.bounded[origin.first - first];
    const int normal = origin.normal >= 0 ? s.origins[origin.normal].first : -1;
    const double limit = normal >= 0 ? origin.scale * std::max(0.0, answer.lambda[normal + 2]) : 0.0;
    changed = changed || std::abs(limit - row.limit) > kLimitChange * std::max(limit, row.limit);
    row.limit = limit;
  }
  return changed;
}

void solve_with_limits(MujocoSolver& s, Solution& answer) {
  set_limits(s, answer);
  for (int round = 0; round < kLimitRounds; ++round) {
    ++s.solves;
    solve(s.problem, s.settings, s.workspace, answer);
    if (!set_limits(s, answer)) return;
  }
}

/// The bias of a constraint; of a contact, of its normal.
double& bias_of(ContactProblem& p, int first) {
  if (first < 3 * p.num_contacts()) return p.contacts[first / 3].e[2];
  first -= 3 * p.num_contacts();
  for (std::vector<Row>* rows : {&p.hard, &p.soft, &p.equality}) {
    if (first < static_cast<int>(rows->size())) return (*rows)[first].e;
    first -= static_cast<int>(rows->size());
  }
  return p.bounded[first].e;
}

/// What moves bodies apart or closes loops is no speed: it counts for positions only, and the velocities that are kept
/// are those of the same problem without it. What follows a mocap body does so with real velocities, but for `all`.
void drop_corrections(MujocoSolver& s, bool all) {
  for (const Origin& origin : s.origins)
    if (origin.first >= 0 && origin.correction != 0.0 && (all || !origin.follows))
      bias_of(s.problem, origin.first) -= origin.correction;
}

bool has_corrections(const MujocoSolver& s) {
  return std::any_of(s.origins.begin(), s.origins.end(), [](const Origin& o) {
    return o.first >= 0 && !o.follows && std::abs(o.correction) > kNoticeable;
  });
}

bool all_finite(const ContactProblem& p) {
  const auto finite = [](double x) { return std::isfinite(x); };
  const auto fine = [&](const Row& row) { return finite(row.e) && !std::isnan(row.limit); };
  return std::all_of(p.b.begin(), p.b.end(), finite) && std::all_of(p.A_pool.begin(), p.A_pool.end(), finite) &&
         std::all_of(p.J_pool.begin(), p.J_pool.end(), finite) &&
         std::all_of(p.contacts.begin(), p.contacts.end(), [](const Contact& c) { return c.e.allFinite(); }) &&
         std::all_of(p.hard.begin(), p.hard.end(), fine) && std::all_of(p.equality.begin(), p.equality.end(), fine) &&
         std::all_of(p.bounded.begin(), p.bounded.end(), fine);
}

/// Equalities that are open and no less so than a step before contradict each other, or what else holds their bodies.
void judge_opening(MujocoSolver& s, bool warm) {
  constexpr double kOpen = 1e-3;  // [m, rad]
  double opening = 0.0;
  for (const Origin& origin : s.origins)
    if (origin.key_a == -1 && !origin.follows) opening = std::max(opening, std::abs(origin.gap));
  if (warm && opening > kOpen && opening >= s.opening) s.solution.status = worse(s.solution.status, Status::kInfeasible);
  s.opening = opening;
}

/// Impulses of the problem from forces in MuJoCo's layout, the inverse of write().
VecX read_forces(const MujocoSolver& s, const Column<double>& efc_force, const Table<double>& friction) {
  VecX lambda = VecX::Zero(s.problem.num_rows());
  for (const Origin& origin : s.origins) {
    if (origin.first < 0) continue;
    const auto f = [&](int k) { return s.dt * at(efc_force, origin.efc + k); };
    const auto along = [&](int k) {
      return s.pyramidal ? at(friction, origin.contact, k - 1) * (f(2 * (k - 1)) - f(2 * (k - 1) + 1)) : f(k);
    };
    if (origin.roll > 0) {
      lambda[origin.first] = along(origin.roll);
    } else if (origin.first < 3 * s.problem.num_contacts()) {
      lambda[origin.first] = along(1);
      lambda[origin.first + 1] = along(2) / origin.scale;
      for (int k = 0; k < (s.pyramidal ? origin.rows : 1); ++k) lambda[origin.first + 2] += f(k);
    } else {
      lambda[origin.first] = f(0);
    }
  }
  return lambda;
}

}  // namespace

bool solve_step(MujocoSolver& s, bool warm) {
  const Busy busy(s.busy, "this stepper");
  nb::gil_scoped_release release;
  if (!all_finite(s.problem)) return false;
  s.settings.warm_start = true;
  s.solves = 0;
  if (!warm) s.memory.clear();
  s.workspace.forget_penalties();  // the same state gives the same bits, whatever was solved before
  s.solution.v = Eigen::Map<const VecX>(s.bound.qvel, s.bound.n);
  recall(s, s.solution);
  s.corrects = has_corrections(s);
  if (s.corrects) drop_corrections(s, false);
  solve_with_limits(s, s.solution);
  if (s.corrects) take_back(s);
  judge_opening(s, warm);
  remember(s);
  return true;
}

/// Into efc_force, qfrc_constraint and qacc. An edge of a pyramid carries f = n / edges ± t / (2 mu).
void write(const MujocoSolver& s, Writable efc_force) {
  const GrowVector& lambda = s.solution.lambda;
  double* force = efc_force.data();
  std::fill_n(force, efc_force.shape(0), 0.0);
  for (const Origin& origin : s.origins) {
    if (origin.first < 0) continue;
    double* f = force + origin.efc;
    const auto put = [&](int k, double tangent, double mu) {  // a friction force along row k
      if (s.pyramidal) {
        f[2 * (k - 1)] += 0.5 * tangent / mu;
        f[2 * (k - 1) + 1] -= 0.5 * tangent / mu;
      } else {
        f[k] += tangent;
      }
    };
    if (origin.roll > 0) {
      put(origin.roll, lambda[origin.first] / s.dt, origin.scale);
    } else if (origin.first < 3 * s.problem.num_contacts()) {
      const double normal = lambda[origin.first + 2] / s.dt;
      if (s.pyramidal) {
        for (int k = 0; k < origin.rows; ++k) f[k] += normal / origin.rows;
      } else {
        f[0] += normal;
      }
      put(1, lambda[origin.first] / s.dt, origin.mu1);
      put(2, origin.scale * lambda[origin.first + 1] / s.dt, origin.scale * origin.mu1);
    } else {
      f[0] = lambda[origin.first] / s.dt;
    }
  }
  const Bound& out = s.bound;
  std::fill_n(out.qfrc_constraint, out.n, 0.0);
  for (int i = 0; i < static_cast<int>(efc_force.shape(0)); ++i)
    if (force[i] != 0.0) s.J.for_row(i, [&](int j, double value) { out.qfrc_constraint[j] += value * force[i]; });
  for (int j = 0; j < out.n; ++j) out.qacc[j] = (s.solution.v[j] - out.qvel[j]) / s.dt;
}

Certificate certify(MujocoSolver& s, const Column<double>& efc_force, const Table<double>& friction) {
  const Busy busy(s.busy, "this stepper");
  Solution given;
  given.lambda = read_forces(s, efc_force, friction);
  drop_corrections(s, true);
  set_limits(s, given);
  return make_certificate(s.problem, compute_velocity(s.problem, given.lambda), given.lambda);
}

}  // namespace almond::python
