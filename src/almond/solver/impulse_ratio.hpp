#pragma once
// Whether any mass could need such impulses: the definition of certificate.hpp on the numbers of a compiled island.

#include "almond/solver/island.hpp"

namespace almond {

/// Scratch of impulse_ratio().
struct ImpulseWorkspace {
  std::vector<int> parent;                      // (nodes) joined by constraints that bear
  std::vector<double> reach;                    // (dofs of the problem) largest |J_ik| of a row that bears
  std::vector<double> energy2, heaviest, mass;  // (nodes), of the root of those joined
  std::vector<double> pushed, largest;          // (nodes) largest m_i |e_i|, largest |λ_i|
};

/// The largest impulse of an island beside what its masses could need; infinite where they could need none.
double impulse_ratio(const Island& island, const double* lambda, ImpulseWorkspace& workspace);

}  // namespace almond
