#pragma once
// Idle contacts: most contacts of a resting scene are near and open, and stay so. They are left out of the islands,
// which makes every iteration of every solver cheaper, and are looked at again when the answer is known. One that it
// would let approach is woken, and its island is solved anew: the answer is that of the whole problem.

#include "almond/solver/island.hpp"
#include "almond/solver/result.hpp"

namespace almond {

struct IdleContacts {
  std::vector<char> idle;   // (contacts); empty: none
  std::vector<char> woken;  // (contacts), by the last wake_idle() or wake_all()
  int count = 0;
  double reach = 0.0;  // [m/s] what opens faster at the start, and carries nothing, is idle
  std::vector<double> scratch;

  [[nodiscard]] bool has(std::size_t contact) const { return !idle.empty() && idle[contact] != 0; }
  void clear() {
    idle.clear();
    count = 0;
  }
};

/// From v and λ of `start`.
void choose_idle(const ContactProblem& problem, const Solution& start, IdleContacts& contacts);

/// Wakes what would approach at v, and what comes near. False: nothing would.
bool wake_idle(const ContactProblem& problem, const GrowVector& v, IdleContacts& contacts);

/// All of them.
void wake_all(IdleContacts& contacts);

/// Adds free velocities of idle contacts to the norms of their islands, so that goals are those of the whole problem.
/// `q2`, `reach2`: of those that belong to none.
void measure_idle(const ContactProblem& problem, IdleContacts& contacts, IslandWorkspace& islands, double& q2,
                  double& reach2);

}  // namespace almond
