#pragma once
// The parts of the module almond._core, and what they share.

#include <atomic>

#include "almond/load/robot_file.hpp"
#include "almond/sim/step.hpp"
#include "almond/solver/solve.hpp"
#include "arrays.hpp"

namespace almond::python {

/// Sets fields of Settings from keyword arguments; those it does not know are left in `rest`.
void apply_settings(const nb::dict& given, Settings& settings, nb::dict& rest);
/// The same for callers that know no others: throws ValueError for a name that Settings has not.
void read_settings(const nb::dict& given, Settings& settings);
/// The same for StepOptions and the Settings in it. Throws ValueError for a name that neither has; `others` are names
/// that the caller knows besides.
void apply_options(const nb::dict& given, StepOptions& options, const std::vector<std::string>& others = {});
/// Throws ValueError with the nearest of the known names.
[[noreturn]] void refuse_name(const std::string& name, const std::vector<std::string>& known, const std::string& kind);

/// All that is worth knowing about a file, one line each, and an almond.FileWarning for what in it has no effect.
[[nodiscard]] std::vector<std::string> tell_notes(const std::string& path, const FileNotes& notes);

[[nodiscard]] nb::dict to_dict(const StepReport& report);
/// Contacts of the step that `last` was used for and that led to `state`; nullptr: there was none.
[[nodiscard]] nb::dict contacts_of(const StepWorkspace* last, const State& state, double dt);
inline constexpr const char* kContactsText =
    "Contacts of the last step, a dict of arrays with a row per contact: position, normal (from a to b), force on b "
    "(world axes\n[N]), gap [m], mu, residual, geom_a, geom_b, and mode (open, stick, slip). None before the first "
    "step, and after a state was set back.";

/// An object is for one thread at a time: a second one that calls meanwhile gets a RuntimeError instead of a race.
class Busy {
 public:
  Busy(std::atomic<bool>& flag, const char* what);
  ~Busy() { flag_.store(false); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool>& flag_;
};

void add_solver(nb::module_& m);
void add_model(nb::module_& m);
void add_step_report(nb::module_& m);
void add_simulation(nb::module_& m);
void add_batch(nb::module_& m);
void add_mujoco(nb::module_& m);
void add_program(nb::module_& m);

}  // namespace almond::python
