#include "almond/task/inverse_kinematics.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/sim/state.hpp"

namespace almond {
namespace {

constexpr double kLongestStep = 0.4;  // of one joint [rad or m]
constexpr double kLeastDamping = 1e-12, kMostDamping = 1e3;

struct Errors {
  VecX e;  // stacked, weighted
  MatX J;  // of the frames, weighted
  double position = 0.0, rotation = 0.0;
  [[nodiscard]] double cost() const { return e.squaredNorm(); }
};

struct Problem {
  const Model& model;
  const std::vector<int>& joints;
  const std::vector<FrameGoal>& goals;
  const IkOptions& options;
  VecX lower, upper;  // (joints)
  VecX v;             // zeros
  Kinematics kinematics;
};

/// The turn that brings a frame onto its goal, world axes.
Vec3 rotation_error(const FrameGoal& goal, const Pose& X) {
  if (goal.reach == Reach::kPose) return log_so3(goal.X_WF.R * X.R.transpose());
  const Vec3 z = X.R.col(2), wanted = goal.X_WF.R.col(2), cross = z.cross(wanted);
  const double sine = cross.norm(), angle = std::atan2(sine, z.dot(wanted));
  if (sine < 1e-12) return angle < 1.0 ? Vec3(cross) : Vec3(angle * X.R.col(0));  // opposite: any way round
  return cross * (angle / sine);
}

void evaluate(Problem& p, const VecX& q, Errors& out) {
  compute_kinematics(p.model, q, p.v, p.kinematics);
  const auto rows = static_cast<Eigen::Index>(6 * p.goals.size());
  out.e.setZero(rows);
  out.J.setZero(rows, static_cast<Eigen::Index>(p.joints.size()));
  out.position = out.rotation = 0.0;
  for (std::size_t g = 0; g < p.goals.size(); ++g) {
    const FrameGoal& goal = p.goals[g];
    const auto row = static_cast<Eigen::Index>(6 * g);
    const Pose X = frame_pose(p.kinematics, goal.frame);
    const Mat6X J = frame_jacobian(p.model, p.kinematics, goal.frame, p.joints);
    out.e.segment<3>(row) = goal.X_WF.p - X.p;
    out.J.middleRows<3>(row) = J.topRows<3>();
    out.position = std::max(out.position, out.e.segment<3>(row).norm());
    if (goal.reach == Reach::kPosition) continue;
    const Vec3 turn = rotation_error(goal, X), z = X.R.col(2);
    out.rotation = std::max(out.rotation, turn.norm());
    out.e.segment<3>(row + 3) = p.options.length * turn;
    out.J.middleRows<3>(row + 3) = p.options.length * J.bottomRows<3>();
    if (goal.reach == Reach::kAxis)  // turns about z change nothing
      out.J.middleRows<3>(row + 3) -= p.options.length * z * (z.transpose() * J.bottomRows<3>());
  }
}

bool reached(const Errors& errors, const IkOptions& options) {
  return errors.position <= options.position_tol && errors.rotation <= options.rotation_tol;
}

void put(const Problem& p, const VecX& x, VecX& q) {
  for (std::size_t k = 0; k < p.joints.size(); ++k)
    q[p.model.joints[p.joints[k]].q_begin] = x[static_cast<Eigen::Index>(k)];
  apply_mimics(p.model, q);
}

/// The damped step of the joints that do not push against a limit.
VecX damped_step(const Problem& p, const Errors& errors, const VecX& x, double damping) {
  const VecX gradient = errors.J.transpose() * errors.e;  // downhill
  MatX H = errors.J.transpose() * errors.J;
  VecX g = gradient;
  H.diagonal().array() += damping;
  for (Eigen::Index k = 0; k < x.size(); ++k) {
    const bool held = (x[k] <= p.lower[k] && gradient[k] < 0.0) || (x[k] >= p.upper[k] && gradient[k] > 0.0);
    if (!held) continue;
    H.row(k).setZero();
    H.col(k).setZero();
    H(k, k) = 1.0;
    g[k] = 0.0;
  }
  VecX step = H.ldlt().solve(g);
  const double longest = step.cwiseAbs().maxCoeff();
  if (longest > kLongestStep) step *= kLongestStep / longest;
  return step;
}

/// From x downhill until the goal, or until nothing helps.
int descend(Problem& p, VecX& x, VecX& q, Errors& errors) {
  double damping = 1e-3;
  Errors trial;
  put(p, x, q);
  evaluate(p, q, errors);
  int iteration = 0;
  for (; iteration < p.options.max_iterations && !reached(errors, p.options) && damping < kMostDamping; ++iteration) {
    const VecX step = damped_step(p, errors, x, damping);
    const VecX next = (x + step).cwiseMax(p.lower).cwiseMin(p.upper);
    if (!next.allFinite() || (next - x).cwiseAbs().maxCoeff() < 1e-15) break;
    put(p, next, q);
    evaluate(p, q, trial);
    if (trial.cost() < errors.cost()) {
      const bool crawls = trial.cost() > (1.0 - 1e-6) * errors.cost();
      x = next;
      std::swap(errors, trial);
      damping = std::max(kLeastDamping, 0.2 * damping);
      if (crawls && !reached(errors, p.options)) break;
    } else {
      damping *= 5.0;
    }
  }
  put(p, x, q);
  return iteration;
}

}  // namespace

void apply_mimics(const Model& model, VecX& q) {
  for (const Closure& closure : model.closures)
    if (closure.kind == ClosureKind::kMimic)
      q[model.joints[closure.a].q_begin] = closure.ratio * q[model.joints[closure.b].q_begin] + closure.offset;
}

IkResult solve_ik(const Model& model, const VecX& q, const std::vector<int>& joints,
                  const std::vector<FrameGoal>& goals, const IkOptions& options) {
  check_joints(model, joints, "inverse kinematics");
  require(q.size() == model.num_q, "inverse kinematics: q has " + std::to_string(q.size()) + " entries, expected " +
                                       std::to_string(model.num_q));
  bool finite = q.allFinite();
  for (const FrameGoal& goal : goals) {
    require(goal.frame.body >= 0 && goal.frame.body < model.num_bodies(),
            "inverse kinematics: body " + std::to_string(goal.frame.body) + ", expected one from 0 to " +
                std::to_string(model.num_bodies() - 1));
    finite = finite && goal.X_WF.p.allFinite() && goal.X_WF.R.allFinite();
  }
  IkResult result;
  result.q = q;
  if (!finite) {
    result.status = IkStatus::kNotFinite;
    result.position_error = result.rotation_error = kInfinity;
    return result;
  }
  const auto n = static_cast<Eigen::Index>(joints.size());
  Problem p{model, joints, goals, options, VecX(n), VecX(n), VecX::Zero(model.num_v), {}};
  for (Eigen::Index k = 0; k < n; ++k) {
    const Joint& joint = model.joints[joints[static_cast<std::size_t>(k)]];
    p.lower[k] = joint.lower;
    p.upper[k] = joint.upper;
  }
  const VecX given = positions_of(model, q, joints);
  Rng random(options.seed);
  double best = kInfinity;
  VecX trial = q;
  Errors errors;
  for (int start = 0; start <= options.restarts && result.status != IkStatus::kReached; ++start) {
    VecX x = given;
    for (Eigen::Index k = 0; start > 0 && k < n; ++k)  // where there is no limit, half a turn each way
      x[k] = random.uniform(std::max(p.lower[k], given[k] - std::numbers::pi),
                            std::min(p.upper[k], given[k] + std::numbers::pi));
    x = x.cwiseMax(p.lower).cwiseMin(p.upper);
    result.iterations += descend(p, x, trial, errors);
    ++result.starts;
    if (!(errors.cost() < best)) continue;
    best = errors.cost();
    result.q = trial;
    result.position_error = errors.position;
    result.rotation_error = errors.rotation;
    if (reached(errors, options)) result.status = IkStatus::kReached;
  }
  return result;
}

}  // namespace almond
