#pragma once
// w = J v + e of one contact, from the problem as it is.

#include "almond/solver/problem.hpp"
#include "almond/solver/result.hpp"

namespace almond {

[[nodiscard]] inline Vec3 contact_velocity(const ContactProblem& problem, const Contact& contact, const GrowVector& v) {
  Vec3 w = contact.e;
  for (int s = 0; s < contact.num_sides; ++s) {
    const Side& side = contact.sides[s];
    const Subsystem& subsystem = problem.subsystems[side.subsystem];
    w += problem.J(side, 3).topRows<3>() * v.segment(subsystem.offset, subsystem.dofs);  // a fixed size: on the stack
  }
  return w;
}

}  // namespace almond
