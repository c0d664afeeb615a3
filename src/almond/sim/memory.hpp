#pragma once
// Warm start: impulses of the last step, found again by the names of contacts and rows.

#include "almond/sim/assemble.hpp"

namespace almond {

/// Names of the contacts that bore load, sorted.
void recall_names(const State& state, std::vector<ContactName>& names);

/// bearing (trees): 1 where contacts bore load.
void recall_bearing(const Model& model, const State& state, std::vector<char>& bearing);

/// memory[i]: the entry of state.contacts with the geoms and the feature of contact i, or -1.
void match_contacts(const Contacts& contacts, const State& state, std::vector<int>& memory);

/// λ of the last step in the rows of this one; zero where nothing is known. Impulses are turned into the new frames.
void recall(const State& state, const std::vector<int>& memory, const Assembly& assembly, GrowVector& lambda);

/// Puts λ into the state.
void remember(const Contacts& contacts, const Assembly& assembly, const GrowVector& lambda, State& state);

}  // namespace almond
