#include "almond/task/trajectory.hpp"

#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"

namespace almond {
namespace {

std::vector<double> make_times(std::size_t points, const std::vector<double>& durations, double start) {
  require(points >= 1, "trajectory: expected at least one point");
  require(durations.size() + 1 == points, "trajectory: " + std::to_string(points) + " points and " +
                                              std::to_string(durations.size()) + " durations, expected one less");
  require(std::isfinite(start), "trajectory: start is " + to_text(start) + ", expected a finite time");
  std::vector<double> times = {start};
  for (std::size_t i = 0; i < durations.size(); ++i) {
    require(durations[i] > 0.0 && std::isfinite(durations[i]),
            "trajectory: duration " + std::to_string(i) + " is " + to_text(durations[i]) + ", expected > 0");
    times.push_back(times.back() + durations[i]);
  }
  return times;
}

/// The piece that t lies in, how far, and the inverse of its length.
struct Piece {
  std::size_t a = 0, b = 0;
  TimeScale scale;
  double rate = 0.0;  // [1/s]
};

Piece find_piece(const std::vector<double>& times, double t) {
  if (times.size() < 2 || !(t > times.front())) return {};
  if (t >= times.back()) return {times.size() - 1, times.size() - 1, {}, 0.0};
  const auto b = static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), t) - times.begin());
  const double length = times[b] - times[b - 1];
  return {b - 1, b, time_scale((t - times[b - 1]) / length), 1.0 / length};
}

}  // namespace

TimeScale time_scale(double u) {
  u = std::clamp(u, 0.0, 1.0);
  const double w = 1.0 - u;
  return {u * u * u * (10.0 - u * (15.0 - 6.0 * u)), 30.0 * u * u * w * w, 60.0 * u * w * (w - u)};
}

JointTrajectory make_joint_trajectory(const std::vector<VecX>& points, const std::vector<double>& durations,
                                      double start) {
  JointTrajectory trajectory{make_times(points.size(), durations, start), points};
  for (std::size_t i = 0; i < points.size(); ++i)
    require(points[i].size() == points[0].size() && points[i].allFinite(),
            "trajectory: point " + std::to_string(i) + " has " + std::to_string(points[i].size()) +
                " entries, expected " + std::to_string(points[0].size()) + " finite ones");
  return trajectory;
}

JointSample sample(const JointTrajectory& trajectory, double t) {
  const Piece piece = find_piece(trajectory.times, t);
  const VecX way = trajectory.points[piece.b] - trajectory.points[piece.a];
  return {trajectory.points[piece.a] + piece.scale.s * way, piece.rate * piece.scale.ds * way,
          piece.rate * piece.rate * piece.scale.dds * way};
}

double least_duration(const VecX& from, const VecX& to, const VecX& max_velocity) {
  constexpr double kPeak = 15.0 / 8.0;  // of s'
  return kPeak * ((to - from).array() / max_velocity.array()).abs().maxCoeff();
}

PoseTrajectory make_pose_trajectory(const std::vector<Pose>& points, const std::vector<double>& durations,
                                    double start) {
  PoseTrajectory trajectory{make_times(points.size(), durations, start), points};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Pose& X = points[i];
    require(X.p.allFinite() && (X.R.transpose() * X.R - Mat3::Identity()).norm() < 1e-6 && X.R.determinant() > 0.0,
            "trajectory: pose " + std::to_string(i) + " is none, expected a rotation and a finite position");
  }
  return trajectory;
}

PoseSample sample(const PoseTrajectory& trajectory, double t) {
  const Piece piece = find_piece(trajectory.times, t);
  const Pose &a = trajectory.points[piece.a], &b = trajectory.points[piece.b];
  const Vec3 turn = log_so3(b.R * a.R.transpose());  // world axes; stays its own axis all the way
  const Vec3 way = b.p - a.p;
  return {{exp_so3(piece.scale.s * turn) * a.R, a.p + piece.scale.s * way},
          piece.rate * piece.scale.ds * way,
          piece.rate * piece.scale.ds * turn};
}

}  // namespace almond
