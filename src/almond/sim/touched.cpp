#include "almond/sim/touched.hpp"

#include "almond/dynamics/drift.hpp"
#include "almond/dynamics/glide.hpp"

namespace almond {

void mark_bearing(const Model& model, StepWorkspace& w) {
  std::vector<char>& bearing = w.assembly.drift.bearing;
  bearing.assign(model.trees.size(), 0);
  Eigen::Index at = 2;
  for (const Contact& contact : w.assembly.problem.contacts) {
    for (int s = 0; s < contact.num_sides && w.solution.lambda[at] > 0.0; ++s) bearing[contact.sides[s].subsystem] = 1;
    at += 3;
  }
}

void mark_touched(const Model& model, StepWorkspace& w) {
  std::vector<char>& touched = w.assembly.drift.touched;
  touched.assign(model.trees.size(), 0);
  const ContactProblem& problem = w.assembly.problem;
  Eigen::Index at = 0;
  for (const Contact& contact : problem.contacts) {
    const auto impulse = w.solution.lambda.segment<3>(at);
    at += 3;
    for (int s = 0; s < contact.num_sides; ++s) {
      if (!impulse.isZero(0.0)) touched[contact.sides[s].subsystem] = 1;
    }
  }
  const auto mark = [&](const std::vector<Row>& rows, const std::vector<RowTag>& tags) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double impulse = w.solution.lambda[at++];
      if (impulse == 0.0 || (tags[i].role != RowRole::kClosure && tags[i].role != RowRole::kSpring)) continue;
      for (int s = 0; s < rows[i].num_sides; ++s) touched[rows[i].sides[s].subsystem] = 1;
    }
  };
  mark(problem.hard, w.assembly.hard);
  mark(problem.soft, w.assembly.soft);
  mark(problem.equality, w.assembly.equality);
  mark(problem.bounded, w.assembly.bounded);
}

void move_on(const Model& model, const State& state, double h, StepWorkspace& w) {
  constexpr double kLeastTurn = 0.03;  // [rad]: of a smaller one the axis changes by less than its square
  w.before = state.q;
  move(model, w.motion_v, h, w.before);
  mark_touched(model, w);
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const TreeInfo& tree = model.trees[t];
    if (!tree.single || w.assembly.drift.touched[t] != 0) continue;
    const int b = tree.bodies[0];
    const Joint& joint = model.joints[b];
    const Mat3& R = w.kinematics.X_WB[b].R;
    const auto u = w.motion_v.segment<3>(tree.v_begin + 3);
    const Vec3 omega = u - w.assembly.d.segment<3>(tree.v_begin + 3);
    if (h * omega.norm() < kLeastTurn || !bends(model.bodies[b], R, u, omega)) continue;
    w.before.segment(joint.q_begin, num_positions(joint.kind)) =
        state.q.segment(joint.q_begin, num_positions(joint.kind));
    glide(model.bodies[b], joint, R, turn_freely(model.bodies[b].inertia, R.transpose() * omega, h), w.motion_v, h,
          w.before);
  }
}

}  // namespace almond
