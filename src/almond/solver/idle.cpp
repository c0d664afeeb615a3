#include "almond/solver/idle.hpp"

#include <algorithm>
#include <cmath>

namespace almond {
namespace {

constexpr double kReachPerError = 10.0;  // reach by how far the start is from the law
constexpr double kLeastShare = 0.1;      // of the contacts: fewer are not worth the second look
constexpr double kLeastReach = 1e-3;     // of the fastest opening

/// J_n v + e_n.
double opening_speed(const ContactProblem& problem, const Contact& contact, const double* v) {
  double speed = contact.e[2];
  for (int s = 0; s < contact.num_sides; ++s) {
    const Side& side = contact.sides[s];
    const Subsystem& sub = problem.subsystems[side.subsystem];
    const MapConstMatr J = problem.J(side, 3);
    for (int k = 0; k < sub.dofs; ++k) speed += J(2, k) * v[sub.offset + k];
  }
  return speed;
}

}  // namespace

void choose_idle(const ContactProblem& problem, const Solution& start, IdleContacts& contacts) {
  const int count = problem.num_contacts();
  contacts.idle.assign(static_cast<std::size_t>(count), 0);
  contacts.scratch.resize(std::max<std::size_t>(contacts.scratch.size(), static_cast<std::size_t>(count)));
  double* const speed = contacts.scratch.data();
  double error = 0.0, fastest = 0.0;
  for (int i = 0; i < count; ++i) {
    speed[i] = opening_speed(problem, problem.contacts[i], start.v.data());
    error = std::max(error, -speed[i]);
    fastest = std::max(fastest, speed[i]);
  }
  contacts.reach = kReachPerError * error + kLeastReach * fastest;
  contacts.count = 0;
  for (int i = 0; i < count; ++i) {
    if (start.lambda[3 * i + 2] != 0.0 || !(speed[i] > contacts.reach)) continue;
    contacts.idle[i] = 1;
    ++contacts.count;
  }
  if (contacts.count < kLeastShare * count) contacts.clear();
}

bool wake_idle(const ContactProblem& problem, const GrowVector& v, IdleContacts& contacts) {
  if (contacts.count == 0) return false;
  double worst = 0.0;
  for (int i = 0; i < problem.num_contacts(); ++i)
    if (contacts.idle[i] != 0) worst = std::max(worst, -opening_speed(problem, problem.contacts[i], v.data()));
  if (!(worst > 0.0)) return false;
  contacts.reach = std::max(contacts.reach, kReachPerError * worst);
  contacts.woken.assign(contacts.idle.size(), 0);
  for (int i = 0; i < problem.num_contacts(); ++i) {
    if (contacts.idle[i] == 0 || opening_speed(problem, problem.contacts[i], v.data()) > contacts.reach) continue;
    contacts.idle[i] = 0;
    contacts.woken[i] = 1;
    --contacts.count;
  }
  return true;
}

void wake_all(IdleContacts& contacts) {
  for (std::size_t i = 0; i < contacts.idle.size(); ++i) contacts.woken[i] |= contacts.idle[i];
  contacts.clear();
}

void measure_idle(const ContactProblem& problem, IdleContacts& contacts, IslandWorkspace& islands, double& q2,
                  double& reach2) {
  if (contacts.count == 0) return;
  contacts.scratch.resize(std::max<std::size_t>(contacts.scratch.size(), static_cast<std::size_t>(problem.num_dofs())));
  double* const v = contacts.scratch.data();
  for (int k = 0; k < islands.count; ++k) {
    const Island& island = islands.islands[k];
    for (const Node& node : island.nodes) {
      double* const of_node = v + problem.subsystems[node.subsystem].offset;
      if (island.degenerate) {
        std::fill_n(of_node, node.dofs, 0.0);
      } else {
        unwhiten(island, node, &island.b[node.v_begin], of_node);
      }
    }
  }
  for (const int s : islands.free_subsystems) {
    const Subsystem& sub = problem.subsystems[s];
    if (!solve_free(problem, s, islands, v + sub.offset)) std::fill_n(v + sub.offset, sub.dofs, 0.0);
  }
  for (int i = 0; i < problem.num_contacts(); ++i) {
    if (contacts.idle[i] == 0) continue;
    const Contact& contact = problem.contacts[i];
    Vec3 q = contact.e;
    double moved2 = 0.0;
    int home = -1;
    for (int s = 0; s < contact.num_sides; ++s) {
      const Side& side = contact.sides[s];
      const Subsystem& sub = problem.subsystems[side.subsystem];
      Vec3 moved = Vec3::Zero();
      const MapConstMatr J = problem.J(side, 3);
      for (int k = 0; k < sub.dofs; ++k) moved += J.col(k) * v[sub.offset + k];
      q += moved;
      moved2 += moved.squaredNorm();
      home = std::max(home, islands.island_of[side.subsystem]);
    }
    if (home < 0) {
      q2 += q.squaredNorm();
      reach2 += moved2;
      continue;
    }
    Island& island = islands.islands[home];
    island.q_norm = std::sqrt(island.q_norm * island.q_norm + q.squaredNorm());
    island.reach2 += moved2;
  }
}

}  // namespace almond
