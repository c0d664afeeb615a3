#include "almond/sim/wedge.hpp"

#include <cmath>

#include "almond/solver/contact_velocity.hpp"

namespace almond {

bool drop_opposed(const GrowVector& v, ContactProblem& problem) {
  constexpr double kMissed = 0.01;  // of a correction, beyond rounding
  bool any = false;
  const auto drop = [&any](double& e, double w) {
    if (!(e < 0.0 && w < kMissed * e)) return;
    e = 0.0;
    any = true;
  };
  for (Contact& contact : problem.contacts) drop(contact.e[2], contact_velocity(problem, contact, v)[2]);
  for (Row& row : problem.hard) drop(row.e, row_velocity(problem, row, v));
  return any;
}

void set_corrections(const GrowVector& lambda, Assembly& assembly) {
  ContactProblem& problem = assembly.problem;
  const auto push = [&](const auto& constraint, int rows, Eigen::Index at) {
    for (int s = 0; s < constraint.num_sides; ++s) {
      const Side& side = constraint.sides[s];
      const Subsystem& sub = problem.subsystems[side.subsystem];
      Eigen::Map<VecX>(problem.b.data() + sub.offset, sub.dofs).noalias() +=
          problem.J(side, rows).transpose() * lambda.segment(at, rows);
    }
  };
  Eigen::Index at = 0;
  for (Contact& contact : problem.contacts) {
    push(contact, 3, at);
    contact.mu = 0.0;
    at += 3;
  }
  for (const Row& row : problem.hard) push(row, 1, at++);
  at += static_cast<Eigen::Index>(problem.soft.size() + problem.equality.size());
  for (const Row& row : problem.bounded) push(row, 1, at++);
}

}  // namespace almond
