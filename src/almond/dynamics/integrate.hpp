#pragma once
// v̂ -> v, q on the manifold, the θ-scheme (2):
//
//   v̂ = θ v + (1 - θ) v⁺ + d,      q⁺ = q ⊕ dt v̂
//
// d is the half step of gyroscopic acceleration of free single bodies, d_ω = -dt/2 I⁻¹(ω × I ω): with it the rotation
// is right to second order. Their angular momentum L = I(q) ω⁺ is carried over to the new orientation, ω := I(q⁺)⁻¹ L,
// so it is conserved to rounding and a spinning body cannot gain energy without bound.

#include "almond/dynamics/kinematics.hpp"

namespace almond {

/// d (num_v); zero but for tumbling single bodies.
void compute_half_step(const Model& model, const Kinematics& kinematics, double dt, VecX& d);

/// Moves q by dt v̂ and sets v = v⁺.
void integrate(const Model& model, const VecX& v_hat, const VecX& d, double theta, double dt, VecX& q, VecX& v);

}  // namespace almond
