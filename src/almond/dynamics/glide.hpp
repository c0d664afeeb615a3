#pragma once
// The way of a single body that nothing touches: its centre goes straight, and it turns as its inertia has it.

#include "almond/dynamics/free_turn.hpp"
#include "almond/model/model.hpp"

namespace almond {

/// Whether a body goes on to turn as it does, ω in its own axes: about a principal axis, or with equal moments.
[[nodiscard]] bool spins_steadily(const Mat3& inertia, const Vec3& omega);

/// Whether the way by u is not that of free motion with the spin ω (world axes), R the pose.
[[nodiscard]] bool bends(const Body& body, const Mat3& R, const Vec3& u, const Vec3& omega);

/// q after the free turn, from the pose R, with the centre moved by u for h.
void glide(const Body& body, const Joint& joint, const Mat3& R, const FreeTurn& turn, const VecX& u, double h, VecX& q);

}  // namespace almond
