// How a step went.

#include "almond/base/text.hpp"
#include "almond/sim/frame.hpp"
#include "parts.hpp"
#include "pickle.hpp"

namespace almond::python {

nb::dict to_dict(const StepReport& r) {
  nb::dict d;
  d["status"] = to_string(r.status);
  d["residual"] = r.residual;
  d["natural_map"] = r.natural_map;
  d["impulse_ratio"] = r.impulse_ratio;
  d["contacts"] = r.contacts;
  d["active"] = r.active;
  d["iterations"] = r.iterations;
  d["work"] = r.work;
  d["penetration"] = r.penetration;
  d["opening"] = r.opening;
  d["passed"] = r.passed;
  d["parts"] = r.parts;
  d["held_contacts"] = r.held_contacts;
  d["jammed"] = r.jammed;
  d["energy_limited"] = r.energy_limited;
  d["energy_dt"] = r.energy_dt;
  d["collide_ms"] = r.collide_ms;
  d["solve_ms"] = r.solve_ms;
  d["step_ms"] = r.step_ms;
  return d;
}

void remember(scenes::Memory& m, StepReport& r) {
  m(r.status, r.residual, r.natural_map, r.impulse_ratio, r.contacts, r.active, r.iterations, r.work, r.penetration, r.opening, r.held_contacts,
    r.passed, r.parts, r.dropped_contacts, r.looked_twice, r.paths_bent, r.jammed, r.reduced_contacts,
    r.suspicious_depths, r.energy_limited, r.energy_dt, r.collide_ms, r.solve_ms, r.step_ms);
  require(r.status <= Status::kNumericalError, "has a status that there is not");
}

nb::dict contacts_of(const StepWorkspace* last, const State& state, double dt) {
  Frame frame;
  if (last != nullptr) record_step(*last, state, dt, frame);
  const auto n = static_cast<Eigen::Index>(frame.contacts.size());
  MatXr position(n, 3), normal(n, 3), force(n, 3);
  VecX gap(n), mu(n), residual(n);
  std::vector<int> a, b;
  std::vector<std::string> mode;
  for (Eigen::Index k = 0; k < n; ++k) {
    const FrameContact& c = frame.contacts[static_cast<std::size_t>(k)];
    position.row(k) = c.p;
    normal.row(k) = c.n;
    force.row(k) = c.force;
    gap[k] = c.gap;
    mu[k] = c.mu;
    residual[k] = c.residual;
    a.push_back(c.geom_a);
    b.push_back(c.geom_b);
    mode.emplace_back(to_string(c.mode));
  }
  nb::dict d;
  d["position"] = matrix_to_numpy(std::move(position));
  d["normal"] = matrix_to_numpy(std::move(normal));
  d["force"] = matrix_to_numpy(std::move(force));
  d["gap"] = to_numpy(gap);
  d["mu"] = to_numpy(mu);
  d["residual"] = to_numpy(residual);
  d["geom_a"] = to_numpy(a);
  d["geom_b"] = to_numpy(b);
  d["mode"] = mode;
  return d;
}

void add_step_report(nb::module_& m) {
  nb::class_<StepReport>(m, "StepReport", "How a step went.")
      .def_prop_ro(
          "status", [](const StepReport& r) { return std::string(to_string(r.status)); }, "How the solve ended.")
      .def_prop_ro(
          "solved", [](const StepReport& r) { return r.status == Status::kSolved; },
          "Whether it obeys the law to the tolerance.")
      .def_ro("residual", &StepReport::residual, "The certificate's residual [N s].")
      .def_ro("natural_map", &StepReport::natural_map, "The certificate's natural map, relative.")
      .def_ro("work", &StepReport::work, "Visits to constraints by the solver: the same in every run, unlike time.")
      .def_ro("impulse_ratio", &StepReport::impulse_ratio,
              "Largest impulse by what the masses it acts on could need; above 1000 nothing is solved.")
      .def_ro("contacts", &StepReport::contacts, "In the problem, also those about to touch.")
      .def_ro("active", &StepReport::active, "Contacts that carry an impulse.")
      .def_ro("iterations", &StepReport::iterations, "Of the solver.")
      .def_ro("penetration", &StepReport::penetration, "Deepest overlap at the start of the step [m].")
      .def_ro("opening", &StepReport::opening, "Largest error of a closure at the start of the step [m, rad].")
      .def_ro("passed", &StepReport::passed, "Pairs of geoms that went through each other, or ended in each other.")
      .def_ro("parts", &StepReport::parts, "The step was taken in so many, for bodies not to pass through each other.")
      .def_ro("held_contacts", &StepReport::held_contacts,
              "Contacts that no joint can open: left out, their overlap stays.")
      .def_ro("jammed", &StepReport::jammed, "Whether friction held an overlap against every correction.")
      .def_ro("energy_limited", &StepReport::energy_limited,
              "Trees that whirl too fast for this step: their energy was held, their path is not theirs.")
      .def_ro("energy_dt", &StepReport::energy_dt, "The time step that would do for them, about; 0 for none [s].")
      .def_ro("collide_ms", &StepReport::collide_ms, "Time to find contacts [ms].")
      .def_ro("solve_ms", &StepReport::solve_ms, "Time to solve [ms].")
      .def_ro("step_ms", &StepReport::step_ms, "Time of the whole step [ms].")
      .def(
          "as_dict", [](const StepReport& r) { return to_dict(r); }, "All figures by name.")
      .def("__getstate__", &to_pickle<StepReport>)
      .def("__setstate__", &from_pickle<StepReport>)
      .def("__repr__", [](const StepReport& r) {
        return std::string("<almond.StepReport: ") + to_string(r.status) + ", residual " + to_text(r.residual) + ", " +
               std::to_string(r.contacts) + " contacts, " + to_text(r.step_ms) + " ms>";
      });
}

}  // namespace almond::python
