// almond._core.MujocoSolver.

#include "mujoco.hpp"

namespace almond::python {

void add_mujoco(nb::module_& m) {
  nb::class_<MujocoSolver>(m, "MujocoSolver", "The contact solve of MuJoCo's steps; see almond.mujoco.")
      .def(
          "__init__",
          [](MujocoSolver* self, const nb::kwargs& given) {
            Settings settings;
            settings.prefer_stick = true;
            settings.crowd_tol = 1e-6;
            settings.max_work = 5e5;
            read_settings(given, settings);
            new (self) MujocoSolver();
            self->settings = settings;
          },
          nb::arg("settings"))
      .def(
          "set", [](MujocoSolver& s, const nb::dict& given) { read_settings(given, s.settings); }, nb::arg("settings"))
      .def("clear",
           [](MujocoSolver& s) {  // a step without constraints
             const Busy busy(s.busy, "this stepper");
             s.origins.clear();
             s.memory.clear();
             s.corrects = false;
             s.solves = 0;
             s.solution.lambda.resize(0);
             s.solution.v = Eigen::Map<const VecX>(s.bound.qvel, s.bound.n);
             s.solution.status = Status::kSolved;
             s.solution.certificate = Certificate{};
             s.solution.certificate.residual = s.solution.certificate.natural_map = 0.0;
             s.solution.info = SolveInfo{};
           })
      .def("bind", &bind, nb::arg("model"), nb::arg("data"))
      .def("widen", &widen, nb::arg("dt"))
      .def("narrow", &narrow)
      .def(
          "assemble",
          [](MujocoSolver& s, nb::handle data, const Column<double>& derivative, const Column<double>& free_velocity,
             double dt, bool looked_ahead, bool damped, bool sleeps, bool pyramidal, bool sparse, bool judges,
             double common) {
            assemble(s, data, derivative, free_velocity,
                     {dt, looked_ahead, damped, sleeps, pyramidal, sparse, judges, common});
          },
          nb::arg("data"), nb::arg("derivative"), nb::arg("free_velocity"), nb::arg("dt"), nb::arg("looked_ahead"),
          nb::arg("damped"), nb::arg("sleeps"), nb::arg("pyramidal"), nb::arg("sparse"), nb::arg("judges"),
          nb::arg("common"))
      .def("solve", &solve_step, nb::arg("warm") = true)
      .def("write", &write)
      .def("certify", &certify)
      .def_ro("corrects", &MujocoSolver::corrects)
      .def_ro("solves", &MujocoSolver::solves)
      .def("fail",
           [](MujocoSolver& s) {  // numbers ended, and MuJoCo began anew
             s.solution.status = Status::kNumericalError;
             s.solution.certificate.residual = s.solution.certificate.natural_map = kInfinity;
             s.memory.clear();
           })
      .def_prop_ro(
          "solution", [](MujocoSolver& s) -> Solution& { return s.solution; }, nb::rv_policy::reference_internal)
      .def_prop_ro("correction",
                   [](MujocoSolver& s) {  // from the velocities that are kept to those that move
                     return to_numpy(VecX(s.moved.v - s.solution.v));
                   })
      .def_prop_ro(
          "overlap",
          [](MujocoSolver& s) {
            double deepest = 0.0;
            for (const Origin& origin : s.origins)
              if (origin.contact >= 0) deepest = std::max(deepest, -origin.gap);
            return deepest;
          },
          "Deepest overlap at the start of the step [m].")
      .def_prop_ro(
          "opening",
          [](MujocoSolver& s) {
            double widest = 0.0;
            for (const Origin& origin : s.origins)
              if (origin.key_a == -1) widest = std::max(widest, std::abs(origin.gap));
            return widest;
          },
          "Largest error of an equality at the start of the step [m, rad].")
      .def("problem", [](MujocoSolver& s) {
        ContactProblem problem = s.problem;
        problem.validate();
        return problem;
      });
}

}  // namespace almond::python
