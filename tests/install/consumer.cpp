// A user's program against the installed library, built without our flags: a 1 kg block pressed on the ground must get
// the impulse m g dt, known in closed form.
#include <cmath>
#include <cstdio>

#include "almond/solver/solve.hpp"

int main() {
  const almond::MatX A = almond::MatX::Identity(3, 3);
  const almond::VecX b = almond::Vec3(0.0, 0.0, -9.81e-3);
  almond::ContactProblem problem =
      almond::make_problem(A, b, almond::MatX::Identity(3, 3), almond::VecX::Zero(3), almond::VecX::Constant(1, 0.5));
  problem.validate();
  almond::Workspace workspace;
  almond::Solution solution;
  const almond::Status status = almond::solve(problem, almond::Settings{}, workspace, solution);
  std::printf("%s, normal impulse %.12g N s\n", almond::to_string(status), solution.lambda(2));
  return status == almond::Status::kSolved && std::abs(solution.lambda(2) - 9.81e-3) < 1e-9 ? 0 : 1;
}
