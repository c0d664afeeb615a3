#pragma once
// What a run says at its end: JSON for programs, a few aligned lines for people.

#include <string>

#include "apps/run.hpp"

namespace almond::app {

/// One object, as docs/commands.md describes it.
[[nodiscard]] std::string run_json(const scenes::Scene& scene, const Simulation& simulation, const RunRecord& record,
                                   std::uint64_t seed);

enum class Verdict : std::uint8_t { kNone, kGood, kBad };

/// A line of the summary: "contacts", "median 12, max 40".
struct RunFact {
  std::string name, text;
  Verdict verdict = Verdict::kNone;
};
[[nodiscard]] std::vector<RunFact> run_facts(const Simulation& simulation, const RunRecord& record);

/// "480 steps of 4.167 ms, 2 s simulated in 0.1 s (20 x real time)".
[[nodiscard]] std::string run_headline(const Simulation& simulation, const RunRecord& record);

/// Both, for the panel of a page.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> page_facts(const Simulation& simulation,
                                                                          const RunRecord& record);

[[nodiscard]] std::string run_summary(const scenes::Scene& scene, const Simulation& simulation, const RunRecord& record,
                                      bool colour);

}  // namespace almond::app
