#pragma once
// A recorded run, small enough to mail: frames at the rate of a screen, figures of every step, and the hardest steps
// whole. viewer/FORMAT.md describes the bytes.

#include <functional>
#include <memory>

#include "almond/sim/frame.hpp"
#include "almond/view/looks.hpp"

namespace almond {

struct ReplayOptions {
  double fps = 60.0;        // frames per simulated second at most
  int hardest = 3;          // steps with the most iterations that are kept with their problem, 0.1 s apart
  std::vector<int> inside;  // further steps to keep, counted from 0
  std::string title = "Almond";
  int follow = -1;  // body that the page keeps in the middle of the picture from the start
};

/// One step kept whole: its problem as a .npz file, and how solvers get on with it.
struct StepInside {
  struct Trace {
    std::string solver, status;
    std::vector<TracePoint> points;
  };
  std::int64_t step = 0;
  ContactProblem problem;
  std::vector<FrameContact> contacts;
  std::vector<Trace> traces;
};

/// The last step of a simulation, with the start values its solver had.
[[nodiscard]] StepInside record_inside(const Simulation& simulation);
/// As JSON: step, contacts with the names of their geoms, traces.
[[nodiscard]] std::string inside_json(const StepInside& inside, const Model& model, const std::string& title);
/// Its problem as the bytes of a .npz file.
[[nodiscard]] std::string inside_npz(const StepInside& inside);
/// Solves the problem from a cold start by the solver of the settings and by PGS (auto, where that is the solver), and
/// keeps their residuals over iterations.
void add_traces(const Settings& settings, StepInside& inside);

/// A contact problem as it was solved in the last step, with the start values its solver had.
[[nodiscard]] ContactProblem copy_problem(const Simulation& simulation, const std::string& name);

class Replay {
 public:
  Replay(const Model& model, std::vector<Look> looks, double dt, ReplayOptions options);
  ~Replay();
  Replay(const Replay& other);  // to finish what there is so far while the other goes on
  Replay(Replay&&) noexcept;
  Replay& operator=(Replay&&) noexcept;

  /// After each step.
  void add_step(Simulation& simulation, const StepReport& report);
  /// The same of a step that another engine made, with the energy at its end. Figures that are NaN in all steps, or
  /// counts that are negative, are left out, and such a step cannot be looked into.
  void add_step(const Frame& frame, const StepReport& report, double energy);

  /// gzip'ed bytes, with facts (name, text) for the panel. The hardest steps are solved again for their traces.
  [[nodiscard]] std::string finish(Simulation& simulation,
                                   const std::vector<std::pair<std::string, std::string>>& facts);
  /// The same with the last frame given.
  [[nodiscard]] std::string finish(const Frame& end, const std::vector<std::pair<std::string, std::string>>& facts);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// How long a replay is [s]. Throws Error (prefixed with `label`) when it is damaged.
[[nodiscard]] double replay_length(const std::string& zipped, const std::string& label);

/// A scene as it is now, as the bytes of a replay with one frame.
[[nodiscard]] std::string make_still(Simulation& simulation, const std::vector<Look>& looks, const std::string& title,
                                     const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace almond
