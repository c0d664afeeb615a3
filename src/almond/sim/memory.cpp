#include "almond/sim/memory.hpp"

#include <algorithm>
#include <tuple>

namespace almond {
namespace {

template <class Named>
auto name_of(const Named& c) {
  return std::tie(c.geom_a, c.geom_b, c.feature);
}

/// Calls f(tag, row of λ) over all one-row constraints in λ's order.
template <class Function>
void for_each_row(const Assembly& assembly, Function f) {
  int row = 3 * assembly.problem.num_contacts();
  for (const auto* tags : {&assembly.hard, &assembly.soft, &assembly.equality, &assembly.bounded})
    for (const RowTag& tag : *tags) f(tag, row++);
}

}  // namespace

void recall_names(const State& state, std::vector<ContactName>& names) {
  names.clear();
  for (const ContactMemory& c : state.contacts)
    if (c.impulse != Vec3::Zero()) names.push_back({c.geom_a, c.geom_b, c.feature});
}

void recall_bearing(const Model& model, const State& state, std::vector<char>& bearing) {
  bearing.assign(model.trees.size(), 0);
  for (const ContactMemory& c : state.contacts) {
    if (c.impulse == Vec3::Zero()) continue;
    for (const int geom : {c.geom_a, c.geom_b}) {  // a state that was read may name any
      const int body = geom >= 0 && geom < model.num_geoms() ? model.geoms[geom].body : -1;
      if (body >= 0 && model.bodies[body].subsystem >= 0) bearing[model.bodies[body].subsystem] = 1;
    }
  }
}

void match_contacts(const Contacts& contacts, const State& state, std::vector<int>& memory) {
  memory.assign(contacts.points.size(), -1);
  std::size_t k = 0;  // both lists are sorted
  for (std::size_t i = 0; i < contacts.points.size(); ++i) {
    const ContactPoint& point = contacts.points[i];
    while (k < state.contacts.size() && name_of(state.contacts[k]) < name_of(point)) ++k;
    if (k < state.contacts.size() && name_of(state.contacts[k]) == name_of(point)) memory[i] = static_cast<int>(k);
  }
}

void recall(const State& state, const std::vector<int>& memory, const Assembly& assembly, GrowVector& lambda) {
  lambda.setZero(assembly.problem.num_rows());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (memory[i] >= 0)
      lambda.segment<3>(static_cast<Eigen::Index>(3 * i)) =
          assembly.frames[i].transpose() * state.contacts[memory[i]].impulse;
  }
  for_each_row(assembly, [&](const RowTag& tag, int row) { lambda[row] = state.impulse_of(tag.key()); });
}

void remember(const Contacts& contacts, const Assembly& assembly, const GrowVector& lambda, State& state) {
  state.contacts.resize(contacts.points.size());
  for (std::size_t i = 0; i < contacts.points.size(); ++i) {
    const ContactPoint& point = contacts.points[i];
    ContactMemory& c = state.contacts[i];
    c.geom_a = point.geom_a;
    c.geom_b = point.geom_b;
    c.feature = point.feature;
    c.impulse = assembly.frames[i] * lambda.segment<3>(static_cast<Eigen::Index>(3 * i));
  }
  state.rows.clear();
  for_each_row(assembly, [&](const RowTag& tag, int row) { state.rows.push_back({tag.key(), lambda[row]}); });
  std::sort(state.rows.begin(), state.rows.end(), [](const RowMemory& a, const RowMemory& b) { return a.key < b.key; });
}

}  // namespace almond
