// Many worlds of one model at once. Each has a state and a workspace of its own, so that the answer of a world does not
// depend on the others or on the number of threads.

#include "almond/base/parallel.hpp"
#include "parts.hpp"

namespace almond::python {
namespace {

struct Batch {
  Batch(const Model& m, int count, int threads, std::uint64_t seed, const nb::dict& given)
      : model(m), pool(threads), states(count), inputs(count), workspaces(count), reports(count) {
    apply_options(given, options);
    options.solver.threads = 1;
    for (int k = 0; k < count; ++k) {
      states[k] = make_state(model, seed + static_cast<std::uint64_t>(k));
      inputs[k] = make_inputs(model);
    }
    const auto drives = static_cast<Eigen::Index>(model.drives.size());
    q.resize(count, model.num_q);
    v.resize(count, model.num_v);
    target.resize(count, drives);
    target_velocity.resize(count, drives);
    feedforward.resize(count, drives);
    time.resize(count);
    residual.setZero(count);
    penetration.setZero(count);
    solved.setOnes(count);
    for (int k = 0; k < count; ++k) {
      take_out(k);
      target.row(k) = inputs[k].target;
      target_velocity.row(k) = inputs[k].target_velocity;
      feedforward.row(k) = inputs[k].feedforward;
    }
  }

  void put_in(int k) {
    states[k].q = q.row(k);
    states[k].v = v.row(k);
    inputs[k].target = target.row(k);
    inputs[k].target_velocity = target_velocity.row(k);
    inputs[k].feedforward = feedforward.row(k);
  }
  void take_out(int k) {
    q.row(k) = states[k].q;
    v.row(k) = states[k].v;
    time[k] = states[k].time;
  }

  Model model;
  StepOptions options;
  WorkerPool pool;
  std::vector<State> states;
  std::vector<Inputs> inputs;
  std::vector<StepWorkspace> workspaces;
  std::vector<StepReport> reports;
  // What Python sees, a row per world.
  MatXr q, v, target, target_velocity, feedforward;
  VecX time, residual, penetration, solved;
  std::atomic<bool> busy{false};
};

void step(Batch& self, int count) {
  if (count < 0) raise_value_error("n: is " + std::to_string(count) + ", expected 0 or more");
  const Busy busy(self.busy, "this batch");
  nb::gil_scoped_release release;
  const int worlds = static_cast<int>(self.states.size());
  self.pool.for_ranges(worlds, [&](int begin, int end, int) {
    for (int k = begin; k < end; ++k) {
      self.put_in(k);
      double residual = 0.0, penetration = 0.0;
      bool solved = true;
      for (int i = 0; i < count; ++i) {
        const StepReport r = almond::step(self.model, self.options, self.inputs[k], self.workspaces[k], self.states[k]);
        residual = std::max(residual, r.residual);
        penetration = std::max(penetration, r.penetration);
        solved = solved && r.status == Status::kSolved;
      }
      self.take_out(k);
      self.residual[k] = residual;
      self.penetration[k] = penetration;
      self.solved[k] = solved ? 1.0 : 0.0;
    }
  });
}

void reset(Batch& self, nb::handle which, nb::handle seeds) {
  const Busy busy(self.busy, "this batch");
  const auto worlds = static_cast<std::int64_t>(self.states.size());
  std::vector<int> indices;
  if (which.is_none()) {
    for (int k = 0; k < worlds; ++k) indices.push_back(k);
  } else {
    PyObject* items = PySequence_List(which.ptr());
    if (items == nullptr) {
      PyErr_Clear();
      raise_value_error("worlds: is " + nb::cast<std::string>(nb::repr(which)) + ", expected a list of indices");
    }
    for (const nb::handle item : nb::steal<nb::list>(items)) {
      std::int64_t k = 0;
      if (!nb::try_cast(item, k) || k < 0 || k >= worlds)
        raise_value_error("worlds: has " + nb::cast<std::string>(nb::repr(item)) + ", expected indices below " +
                          std::to_string(worlds));
      indices.push_back(static_cast<int>(k));
    }
  }
  std::vector<std::uint64_t> given;
  if (!seeds.is_none() && (!nb::try_cast(seeds, given) || given.size() != indices.size()))
    raise_value_error("seeds: expected " + std::to_string(indices.size()) + " whole numbers, one per world");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const int k = indices[i];
    self.states[k] = make_state(self.model, given.empty() ? static_cast<std::uint64_t>(k) : given[i]);
    self.take_out(k);
    self.residual[k] = self.penetration[k] = 0.0;
    self.solved[k] = 1.0;
  }
}

template <MatXr Batch::*field>
FloatArray matrix_view(nb::handle_t<Batch> self) {
  MatXr& x = nb::cast<Batch&>(self).*field;
  return view(x.data(), static_cast<std::size_t>(x.rows()), static_cast<std::size_t>(x.cols()), self, true);
}
template <MatXr Batch::*field>
void set_matrix(Batch& self, nb::handle value, const char* name) {
  const Busy busy(self.busy, "this batch");
  MatXr& x = self.*field;
  const Array given = read_array(value, name, {x.rows(), x.cols()});
  std::copy_n(given.data(), given.size(), x.data());
}
template <VecX Batch::*field>
FloatArray vector_view(nb::handle_t<Batch> self) {
  VecX& x = nb::cast<Batch&>(self).*field;
  return view(x.data(), static_cast<std::size_t>(x.size()), self, false);
}

MatXr body_positions(Batch& self, const std::string& body) {
  const Busy busy(self.busy, "this batch");
  const int b = self.model.body(body);
  MatXr rows(static_cast<Eigen::Index>(self.states.size()), 7);
  Kinematics kinematics;
  for (Eigen::Index k = 0; k < rows.rows(); ++k) {
    compute_kinematics(self.model, self.q.row(k).transpose(), self.v.row(k).transpose(), kinematics);
    const Pose& X = kinematics.X_WB[static_cast<std::size_t>(b)];
    rows.row(k) << X.p.transpose(), matrix_to_quaternion(X.R).transpose();
  }
  return rows;
}

}  // namespace

void add_batch(nb::module_& m) {
  nb::class_<Batch>(m, "Batch", "Many worlds of one model, stepped together; arrays have one row per world.")
      .def(
          "__init__",
          [](Batch* self, const Model& model, int n, int threads, std::uint64_t seed, const nb::kwargs& options) {
            if (n < 1) raise_value_error("n: is " + std::to_string(n) + ", expected 1 or more worlds");
            if (threads < 0) raise_value_error("threads: is " + std::to_string(threads) + ", expected 0 or more");
            new (self) Batch(model, n, threads == 0 ? num_usable_cpus() : threads, seed, options);
          },
          nb::arg("model"), nb::arg("n"), nb::arg("threads") = 0, nb::arg("seed") = 0, nb::arg("options"),
          "n worlds; threads 0: one per CPU. The result does not depend on the number of threads.")
      .def("__len__", [](const Batch& s) { return s.states.size(); })
      .def_prop_ro(
          "model", [](Batch& s) -> const Model& { return s.model; }, nb::rv_policy::reference_internal,
          "What each world is made of.")
      .def_prop_ro(
          "dt", [](Batch& s) { return s.options.dt; }, "Time step [s].")
      .def("step", &step, nb::arg("n") = 1, "n steps of every world.")
      .def("reset", &reset, nb::arg("worlds") = nb::none(), nb::arg("seeds") = nb::none(),
           "All worlds, or those named, back to the model's start.")
      .def_prop_rw(
          "q", &matrix_view<&Batch::q>, [](Batch& s, nb::handle x) { set_matrix<&Batch::q>(s, x, "q"); },
          nb::for_setter(nb::arg("q").none()), "Positions (worlds, num_q), a view.")
      .def_prop_rw(
          "v", &matrix_view<&Batch::v>, [](Batch& s, nb::handle x) { set_matrix<&Batch::v>(s, x, "v"); },
          nb::for_setter(nb::arg("v").none()), "Velocities (worlds, num_v), a view.")
      .def_prop_rw(
          "target", &matrix_view<&Batch::target>,
          [](Batch& s, nb::handle x) { set_matrix<&Batch::target>(s, x, "target"); },
          nb::for_setter(nb::arg("target").none()), "As Simulation.target (worlds, drives), a view.")
      .def_prop_rw(
          "target_velocity", &matrix_view<&Batch::target_velocity>,
          [](Batch& s, nb::handle x) { set_matrix<&Batch::target_velocity>(s, x, "target_velocity"); },
          nb::for_setter(nb::arg("target_velocity").none()), "As Simulation.target_velocity (worlds, drives), a view.")
      .def_prop_rw(
          "feedforward", &matrix_view<&Batch::feedforward>,
          [](Batch& s, nb::handle x) { set_matrix<&Batch::feedforward>(s, x, "feedforward"); },
          nb::for_setter(nb::arg("feedforward").none()), "As Simulation.feedforward (worlds, drives), a view.")
      .def_prop_ro("time", &vector_view<&Batch::time>, "Of each world [s].")
      .def_prop_ro("residual", &vector_view<&Batch::residual>, "Worst of the last call of step.")
      .def_prop_ro("penetration", &vector_view<&Batch::penetration>, "Deepest of the last call of step [m].")
      .def_prop_ro("solved", &vector_view<&Batch::solved>, "1 where every step of the last call was solved.")
      .def(
          "body_poses", [](Batch& s, const std::string& body) { return matrix_to_numpy(body_positions(s, body)); },
          nb::arg("body"), "(worlds, 7) of one body: p, quaternion w x y z.")
      .def("__repr__", [](const Batch& s) {
        return "<almond.Batch of " + std::to_string(s.states.size()) + " worlds: " + s.model.name + ">";
      });
}

}  // namespace almond::python
