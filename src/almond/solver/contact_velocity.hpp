#pragma once
// w = J v + e of one contact or row, from the problem as it is.

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

[[nodiscard]] inline double row_velocity(const ContactProblem& problem, const Row& row, const GrowVector& v) {
  double w = row.e;
  for (int s = 0; s < row.num_sides; ++s) {
    const Subsystem& subsystem = problem.subsystems[row.sides[s].subsystem];
    w += problem.J(row.sides[s], 1).row(0).dot(v.segment(subsystem.offset, subsystem.dofs));
  }
  return w;
}

}  // namespace almond
