#pragma once
// What a run says at its end: JSON for programs, a few aligned lines for people.

#include <string>

#include "apps/run.hpp"

namespace almond::app {

/// One object, as docs/commands.md describes it.
[[nodiscard]] std::string run_json(const scenes::Scene& scene, const Simulation& simulation, const RunRecord& record,
                                   std::uint64_t seed);

[[nodiscard]] std::string run_summary(const scenes::Scene& scene, const Simulation& simulation, const RunRecord& record,
                                      bool colour);

}  // namespace almond::app
