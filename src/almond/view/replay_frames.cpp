#include "almond/view/replay_frames.hpp"

#include <algorithm>
#include <cmath>

namespace almond {
namespace {

std::int32_t quantise_length(double x) {
  constexpr double kMost = 2147483647.0;
  return static_cast<std::int32_t>(std::lround(std::isfinite(x) ? std::clamp(x / kFrameLength, -kMost, kMost) : 0.0));
}
std::int16_t quantise_unit(double x) {
  return static_cast<std::int16_t>(std::lround(std::isfinite(x) ? std::clamp(x, -1.0, 1.0) / kFrameUnit : 0.0));
}

}  // namespace

void ContactArrays::insert(std::ptrdiff_t at, const ContactArrays& other) {
  const auto put = [at](auto& all, const auto& part, int width) {
    all.insert(all.begin() + width * at, part.begin(), part.end());
  };
  put(position, other.position, 3);
  put(normal, other.normal, 3);
  put(force, other.force, 3);
  put(mode, other.mode, 1);
  put(residual, other.residual, 1);
  put(mu, other.mu, 1);
  put(geoms, other.geoms, 2);
}

void FrameArrays::add(const Frame& frame) {
  const auto number = static_cast<std::uint32_t>(frame.step);
  const auto place = std::lower_bound(step.begin(), step.end(), number) - step.begin();
  if (place < std::ssize(step) && step[static_cast<std::size_t>(place)] == number) return;
  step.insert(step.begin() + place, number);
  time.insert(time.begin() + place, frame.time);
  add_poses(frame, place);
  add_contacts(frame, place);
}

void FrameArrays::add_poses(const Frame& frame, std::ptrdiff_t place) {
  std::vector<std::int32_t> p;
  std::vector<std::int16_t> q;
  const std::ptrdiff_t bodies = std::ssize(frame.bodies), before = 4 * bodies * (place - 1);
  for (std::ptrdiff_t b = 0; b < bodies; ++b) {
    const Pose& pose = frame.bodies[static_cast<std::size_t>(b)];
    for (const double x : pose.p) p.push_back(quantise_length(x));
    Vec4 rotation = matrix_to_quaternion(pose.R);
    if (place > 0) {  // of q and -q the one nearer to the frame before
      double dot = 0.0;
      for (int k = 0; k < 4; ++k) dot += rotation[k] * quaternion[static_cast<std::size_t>(before + 4 * b + k)];
      if (dot < 0.0) rotation = -rotation;
    }
    for (const double x : rotation) q.push_back(quantise_unit(x));
  }
  position.insert(position.begin() + 3 * bodies * place, p.begin(), p.end());
  quaternion.insert(quaternion.begin() + 4 * bodies * place, q.begin(), q.end());
}

void FrameArrays::add_contacts(const Frame& frame, std::ptrdiff_t place) {
  ContactArrays own;
  for (const FrameContact& c : frame.contacts) {
    for (int k = 0; k < 3; ++k) {
      own.position.push_back(static_cast<float>(c.p[k]));
      own.normal.push_back(quantise_unit(c.n[k]));
      own.force.push_back(static_cast<float>(c.force[k]));
    }
    own.mode.push_back(static_cast<std::uint8_t>(c.mode));
    own.residual.push_back(static_cast<float>(c.residual));
    own.mu.push_back(static_cast<float>(c.mu));
    own.geoms.push_back(static_cast<std::uint32_t>(c.geom_a));
    own.geoms.push_back(static_cast<std::uint32_t>(c.geom_b));
  }
  const std::uint32_t at = contact_start[static_cast<std::size_t>(place)];
  contacts.insert(at, own);
  contact_start.insert(contact_start.begin() + place + 1, at);
  for (std::size_t f = static_cast<std::size_t>(place) + 1; f < contact_start.size(); ++f)
    contact_start[f] += static_cast<std::uint32_t>(frame.contacts.size());
}

}  // namespace almond
