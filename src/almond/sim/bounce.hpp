#pragma once
// Newton's law of impact asks each contact for its own speed; where several act at once, that may create energy (a rod
// that lands on both ends). Then the bounce is taken only so far that there is as much energy as without any contact.

#include "almond/sim/assemble.hpp"

namespace almond {

struct BounceWorkspace {
  VecX free;                                      // v̂ without contacts
  std::vector<int> group;                         // (trees) root of those that touch
  std::vector<char> differs;                      // (trees) of groups: the two answers differ there
  std::vector<double> kept, landed, cross, left;  // (trees) of groups: energies and the way between the two answers
};

/// `landed` moves the bodies onto each other, `v` is where they bounce to; both v̂. Brings v back towards `landed` in
/// each group of touching trees whose energy would grow.
void bound_bounce(const Model& model, const Kinematics& kinematics, const Contacts& contacts, const GrowVector& lambda,
                  const VecX& landed, BounceWorkspace& workspace, Assembly& assembly, GrowVector& v);

}  // namespace almond
