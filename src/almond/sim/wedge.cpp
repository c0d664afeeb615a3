#include "almond/sim/wedge.hpp"

#include <cmath>

#include "almond/solver/contact_velocity.hpp"

namespace almond {

void cut_back(const GrowVector& v, ContactProblem& problem) {
  constexpr double kSlack = 1e-3;  // of a correction: for rounding
  const auto cut = [](double& e, double w) {
    if (e < 0.0 && w < 0.0) e -= w + kSlack * e;
  };
  for (Contact& contact : problem.contacts) cut(contact.e[2], contact_velocity(problem, contact, v)[2]);
  for (Row& row : problem.hard) cut(row.e, row_velocity(problem, row, v));
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
  Row* const closures = closure_rows(assembly);
  for (std::size_t i = 0; i < assembly.correction.size(); ++i) closures[i].e += assembly.correction[i];
}

}  // namespace almond
