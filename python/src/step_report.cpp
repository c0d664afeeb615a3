// How a step went.

#include <cstring>

#include "almond/base/text.hpp"
#include "almond/sim/frame.hpp"
#include "parts.hpp"

namespace almond::python {

nb::dict to_dict(const StepReport& r) {
  nb::dict d;
  d["status"] = to_string(r.status);
  d["residual"] = r.residual;
  d["natural_map"] = r.natural_map;
  d["contacts"] = r.contacts;
  d["active"] = r.active;
  d["iterations"] = r.iterations;
  d["penetration"] = r.penetration;
  d["jammed"] = r.jammed;
  d["collide_ms"] = r.collide_ms;
  d["solve_ms"] = r.solve_ms;
  d["step_ms"] = r.step_ms;
  return d;
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
      .def_ro("contacts", &StepReport::contacts, "In the problem, also those about to touch.")
      .def_ro("active", &StepReport::active, "Contacts that carry an impulse.")
      .def_ro("iterations", &StepReport::iterations, "Of the solver.")
      .def_ro("penetration", &StepReport::penetration, "Deepest overlap at the start of the step [m].")
      .def_ro("jammed", &StepReport::jammed, "Whether friction held an overlap against every correction.")
      .def_ro("collide_ms", &StepReport::collide_ms, "Time to find contacts [ms].")
      .def_ro("solve_ms", &StepReport::solve_ms, "Time to solve [ms].")
      .def_ro("step_ms", &StepReport::step_ms, "Time of the whole step [ms].")
      .def(
          "as_dict", [](const StepReport& r) { return to_dict(r); }, "All figures by name.")
      .def("__getstate__",
           [](const StepReport& r) {
             return nb::make_tuple(nb::bytes(reinterpret_cast<const char*>(&r), sizeof r));  // numbers only
           })
      .def("__setstate__",
           [](StepReport& self, const nb::tuple& state) {
             const auto bytes = nb::cast<nb::bytes>(state[0]);
             require(bytes.size() == sizeof self, "pickle: is a step report of another version");
             new (&self) StepReport();
             std::memcpy(&self, bytes.c_str(), sizeof self);
           })
      .def("__repr__", [](const StepReport& r) {
        return std::string("<almond.StepReport: ") + to_string(r.status) + ", residual " + to_text(r.residual) + ", " +
               std::to_string(r.contacts) + " contacts, " + to_text(r.step_ms) + " ms>";
      });
}

}  // namespace almond::python
