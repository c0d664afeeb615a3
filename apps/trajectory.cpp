#include "apps/trajectory.hpp"

#include "almond/base/check.hpp"
#include "almond/load/npz.hpp"

namespace almond::app {
namespace {

template <class Vector>
void append(const Vector& v, std::vector<double>& values) {
  values.insert(values.end(), v.data(), v.data() + v.size());
}

}  // namespace

void Trajectory::add(const Model& model, const Kinematics& kinematics, double now) {
  if (time.empty()) {
    for (const Body& body : model.bodies) names.push_back(body.name);
  }
  const std::size_t row_before = quaternion.size() - (time.empty() ? 0 : 4 * names.size());
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Pose& X_WB = kinematics.X_WB[b];
    append(X_WB.p, position);
    Vec4 q = matrix_to_quaternion(X_WB.R);
    // q and -q are one rotation: of the two, the one nearer to the row before, so that the numbers are continuous.
    if (!time.empty()) {
      const Eigen::Map<const Vec4> before(quaternion.data() + row_before + 4 * static_cast<std::size_t>(b));
      if (q.dot(before) < 0.0) q = -q;
    }
    append(q, quaternion);
    append(point_velocity(model, kinematics, b, X_WB.p), linear_velocity);
    append(almond::angular_velocity(model, kinematics, b), angular_velocity);
  }
  time.push_back(now);
}

void check_trajectory_size(const Model& model, int steps, const std::string& path) {
  constexpr double kLargestMember = 4294967295.0;  // bytes, of a zip file
  const double bytes = 4.0 * sizeof(double) * model.num_bodies() * (steps + 1.0);
  require(bytes < 0.99 * kLargestMember, "--trajectory " + path + ": " + std::to_string(steps) + " steps of " +
                                             std::to_string(model.num_bodies()) +
                                             " bodies are too many for one .npz file; run fewer steps at a time "
                                             "(--save-state, --load-state)");
}

std::string to_npz(const Trajectory& trajectory, const std::string& label) {
  const auto rows = static_cast<std::int64_t>(trajectory.time.size());
  const auto bodies = static_cast<std::int64_t>(trajectory.names.size());
  NpzArchive archive;
  archive.set("time", NpzArray({rows}, trajectory.time));
  archive.set("names", NpzArray(trajectory.names));
  archive.set("position", NpzArray({rows, bodies, 3}, trajectory.position));
  archive.set("quaternion", NpzArray({rows, bodies, 4}, trajectory.quaternion));
  archive.set("linear_velocity", NpzArray({rows, bodies, 3}, trajectory.linear_velocity));
  archive.set("angular_velocity", NpzArray({rows, bodies, 3}, trajectory.angular_velocity));
  return archive.to_bytes(label);
}

}  // namespace almond::app
