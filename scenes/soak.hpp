#pragma once
// Soak: scenes that are pushed and driven at random for as long as one likes, with every step checked. An episode is
// decided by its case, its solver and its seed alone, so that whatever is found can be looked at again.

#include <array>

#include "scenes/scene.hpp"

namespace almond::scenes {

struct SoakCase {
  std::string name;
  std::string scene;
  std::vector<std::pair<std::string, double>> parameters;  // of the scene
  bool alone = false;  // nothing pushes or drives it, and its energy is watched over the whole run
};

/// Every scene as it is, and cases by name that are known to be hard.
[[nodiscard]] const std::vector<SoakCase>& soak_cases();
/// False where the files of its robot are not here.
[[nodiscard]] bool is_installed(const SoakCase& which);
/// Throws Error with the nearest known name, or all.
[[nodiscard]] const SoakCase& find_soak_case(const std::string& name);

/// What a step must never do; how often each was seen.
enum class Fault : std::uint8_t {
  kNotFinite,     // a number of the state is none
  kFalseSolved,   // "solved" though what is left exceeds the tolerance, by the report or by the independent certificate
  kBadFailure,    // not solved, and the report's residual says that it is
  kTooDeep,       // an overlap beyond kDeepest though every step was solved
  kThroughFloor,  // the centre of a body is below a floor it stands on
  kEnergy,        // more kinetic energy than the forces have done work, in a solved step
  kRunEnergy,     // more kinetic and potential energy than a run that is left alone began with, all steps solved
  kDropped,       // a contact that was found and not solved
  kNotRepeated,   // another run, or one with more threads, ended elsewhere
  kCount
};
inline constexpr std::size_t kNumFaults = static_cast<std::size_t>(Fault::kCount);
[[nodiscard]] const char* to_string(Fault fault);

inline constexpr double kDeepest = 1e-3;  // [m]

struct SoakFinding {
  Fault fault;
  std::string what;  // case, solver, seed, step, and the figures
};

struct SoakResult {
  std::int64_t steps = 0, pushes = 0, contacts = 0;
  std::int64_t repeated = 0;             // steps that were done again, to compare; in none of the other counts
  std::array<std::int64_t, 6> status{};  // steps, by Status
  std::int64_t jammed = 0;
  double deepest = 0.0;        // [m], in steps whose forerunners were all solved
  double gained = -kInfinity;  // largest gain of energy over a run that is left alone, relative to what moves
  double excess = -kInfinity;  // largest gain of kinetic energy over the work done, relative to the energies that flow
  double work = 0.0;           // done by pushes, drives, gravity and springs, both signs as they are [J]
  std::uint64_t hash = 0;      // of the last state
  std::array<std::int64_t, kNumFaults> faults{};
  std::vector<SoakFinding> findings;  // the first few

  void add(const SoakResult& other);
  [[nodiscard]] std::int64_t num_faults() const;
};

/// Iterations that each solver gets per solve, so that a step ends by itself: as many as end nearly all steps.
[[nodiscard]] int soak_iterations(SolverKind solver);

/// Steps a case from its start: pushes on bodies come and go, drives move within their limits (odd seeds) or do what
/// the scene makes them do (even ones). `go_on` is asked after every step, and
/// may change the simulation.
[[nodiscard]] SoakResult run_soak(const SoakCase& which, SolverKind solver, std::uint64_t seed, int steps,
                                  int threads = 1, const std::function<bool(Simulation&)>& go_on = {});

/// Runs the same again, alone and with 2 and 4 threads, and compares the bits of the states at the end. The first run,
/// which `go_on` may cut short, says how many steps the others do, and is the one whose figures count.
[[nodiscard]] SoakResult check_repeats(const SoakCase& which, SolverKind solver, std::uint64_t seed, int steps,
                                       const std::function<bool(Simulation&)>& go_on = {});

}  // namespace almond::scenes
