#include "usable.hpp"

#include <cmath>

#include "almond/base/text.hpp"
#include "almond/sim/second_look.hpp"

namespace almond::python {
namespace {

/// "q[3]", or "q[1, 3]" in world 1 of a batch.
std::string place_of(const char* array, int world, const std::string& index) {
  return std::string(array) + "[" + (world < 0 ? "" : std::to_string(world) + ", ") + index + "]";
}

void check_numbers(const Eigen::Ref<const VecX>& x, const char* array, int world, double largest) {
  if (x.allFinite() && (x.size() == 0 || x.cwiseAbs().maxCoeff() <= largest)) return;
  Eigen::Index k = 0;
  while (std::abs(x[k]) <= largest && std::isfinite(x[k])) ++k;
  raise_value_error(place_of(array, world, std::to_string(k)) + ": is " + to_text(x[k]) + ", expected a " +
                    (std::isfinite(x[k]) ? "number within ± " + to_text(largest) : "finite number"));
}

void check_quaternion(const Joint& joint, const WorldNumbers& given) {
  const int at = joint.q_begin + (joint.kind == JointKind::kFree ? 3 : 0);
  const double length = given.q.segment<4>(at).norm();
  if (std::abs(length - 1.0) < 1e-3) return;  // as step() takes it
  raise_value_error(place_of("q", given.world, std::to_string(at) + ":" + std::to_string(at + 4)) +
                    ": the quaternion of joint " + quote(joint.name) + " has length " + to_text(length) +
                    ", expected 1");
}

}  // namespace

void check_usable(const Model& model, const WorldNumbers& given) {
  check_numbers(given.q, "q", given.world, kLargest);
  check_numbers(given.v, "v", given.world, kLargest);
  check_numbers(given.target, "target", given.world, kInfinity);
  check_numbers(given.target_velocity, "target_velocity", given.world, kInfinity);
  check_numbers(given.feedforward, "feedforward", given.world, kInfinity);
  for (const Joint& joint : model.joints)
    if (joint.kind == JointKind::kFree || joint.kind == JointKind::kBall) check_quaternion(joint, given);
  if (given.wrenches.allFinite()) return;
  const std::string array = given.world < 0 ? "wrenches" : "wrenches[" + std::to_string(given.world) + "]";
  for (Eigen::Index b = 0; b < given.wrenches.rows(); ++b)
    check_numbers(given.wrenches.row(b).transpose(), array.c_str(), static_cast<int>(b), kInfinity);
}

void put_wrenches(const Eigen::Ref<const MatXr>& wrenches, Inputs& inputs) {
  inputs.wrenches.resize(static_cast<std::size_t>(wrenches.rows()));
  for (Eigen::Index b = 0; b < wrenches.rows(); ++b) {
    inputs.wrenches[b].force = wrenches.row(b).head<3>();
    inputs.wrenches[b].torque = wrenches.row(b).tail<3>();
  }
}

}  // namespace almond::python
