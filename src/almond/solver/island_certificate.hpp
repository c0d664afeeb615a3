#pragma once
// What solve() says of its answer: the definitions of certificate.cpp, summed up island by island on the numbers at
// hand, without allocating. The certificate proper shares no code with the solvers; tests hold the two against each
// other.

#include "almond/solver/certificate.hpp"
#include "almond/solver/island.hpp"

namespace almond {

/// Adds an island whose answer λ was measured. `worst`: the largest natural map of one constraint so far.
void add_to_certificate(const Island& island, const double* lambda, const MeasureWorkspace& measured, double& worst,
                        Certificate& out);

/// Adds a contact that moves nothing: λ = 0, w = e, and ρ = 1 as there is no W. False: it closes all the same, so the
/// problem has no answer.
bool add_inert(const Contact& contact, int index, double& worst, Residuals& sum, Certificate& out);

}  // namespace almond
