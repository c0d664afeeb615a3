// Many worlds of one model at once. Each has a state and a workspace of its own, so that the answer of a world does not
// depend on the others or on the number of threads.

#include <unistd.h>

#include <chrono>

#include "almond/base/parallel.hpp"
#include "parts.hpp"
#include "signals.hpp"
#include "snapshot.hpp"
#include "usable.hpp"

namespace almond::python {
namespace {

struct Batch {
  Batch(const Model& m, int count, int threads, std::uint64_t first_seed, const nb::dict& given)
      : model(m), seed(first_seed), pool(threads), states(count), inputs(count), workspaces(count), has_last(count, 0) {
    options = make_options(model);
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
    wrenches.setZero(count, 6 * model.num_bodies());
    time.resize(count);
    residual.setZero(count);
    penetration.setZero(count);
    opening.setZero(count);
    passed.setZero(count);
    energy_limited.setZero(count);
    solved.setConstant(count, true);
    for (int k = 0; k < count; ++k) {
      take_out(k);
      show_inputs(k);
    }
  }

  void put_in(int k) {
    states[k].q = q.row(k);
    states[k].v = v.row(k);
    inputs[k].target = target.row(k);
    inputs[k].target_velocity = target_velocity.row(k);
    inputs[k].feedforward = feedforward.row(k);
    put_wrenches(wrenches_of(k), inputs[k]);
  }
  [[nodiscard]] Eigen::Map<MatXr> wrenches_of(int k) { return {wrenches.row(k).data(), model.num_bodies(), 6}; }
  [[nodiscard]] World world(int k) { return {model, states[k], inputs[k], wrenches_of(k), nullptr}; }
  /// One that is refused changes nothing, in no world.
  void check() {
    for (int k = 0; k < static_cast<int>(states.size()); ++k)
      check_usable(model, {.q = q.row(k).transpose(),
                           .v = v.row(k).transpose(),
                           .target = target.row(k).transpose(),
                           .target_velocity = target_velocity.row(k).transpose(),
                           .feedforward = feedforward.row(k).transpose(),
                           .wrenches = wrenches_of(k),
                           .world = k});
  }
  void take_out(int k) {
    q.row(k) = states[k].q;
    v.row(k) = states[k].v;
    time[k] = states[k].time;
  }
  /// How the last steps went.
  void forget(int k) {
    residual[k] = penetration[k] = opening[k] = 0.0;
    passed[k] = energy_limited[k] = 0;
    solved[k] = true;
  }
  void show_inputs(int k) {
    target.row(k) = inputs[k].target;
    target_velocity.row(k) = inputs[k].target_velocity;
    feedforward.row(k) = inputs[k].feedforward;
  }

  Model model;
  std::uint64_t seed;  // of the first world
  StepOptions options;
  WorkerPool pool;
  std::vector<State> states;
  std::vector<Inputs> inputs;
  std::vector<StepWorkspace> workspaces;
  std::vector<char> has_last;  // the workspace is of the step that led to the state
  // What Python sees, a row per world.
  MatXr q, v, target, target_velocity, feedforward;
  MatXr wrenches;  // (worlds, bodies * 6)
  VecX time, residual, penetration, opening;
  Eigen::VectorXi passed, energy_limited;
  Eigen::Array<bool, Eigen::Dynamic, 1> solved;
  std::atomic<bool> busy{false};
};

/// Systems that promise memory which they do not have end a process that uses it: a number of worlds that cannot be
/// meant is refused before. What a world holds on the heap comes on top.
void check_memory(int worlds) {
  const double all = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (worlds * static_cast<double>(sizeof(State) + sizeof(Inputs) + sizeof(StepWorkspace)) < all) return;
  PyErr_Format(PyExc_MemoryError, "n: %d worlds do not fit into the memory of this machine", worlds);
  throw nb::python_error();
}

/// The same number of steps of every world, so that whoever looks between two calls sees worlds of one time.
void step_all(Batch& self, std::int64_t count) {
  const int worlds = static_cast<int>(self.states.size());
  self.pool.for_ranges(worlds, [&](int begin, int end, int) {
    for (int k = begin; k < end; ++k) {
      self.put_in(k);
      for (std::int64_t i = 0; i < count; ++i) {
        const StepReport r = almond::step(self.model, self.options, self.inputs[k], self.workspaces[k], self.states[k]);
        self.residual[k] = std::max(self.residual[k], r.residual);
        self.penetration[k] = std::max(self.penetration[k], r.penetration);
        self.opening[k] = std::max(self.opening[k], r.opening);
        self.passed[k] += r.passed;
        self.energy_limited[k] += r.energy_limited > 0 ? 1 : 0;
        self.solved[k] = self.solved[k] && r.status == Status::kSolved;
      }
      self.has_last[k] = static_cast<char>(self.has_last[k] != 0 || count > 0);
      self.take_out(k);
    }
  });
}

void step(Batch& self, nb::handle n) {
  using Clock = std::chrono::steady_clock;
  const std::int64_t count = read_whole(n, "n", 0);
  const Busy busy(self.busy, "this batch");
  self.check();
  for (int k = 0; k < static_cast<int>(self.states.size()); ++k) self.forget(k);
  std::int64_t at_once = 1;
  for (std::int64_t done = 0; done < count;) {
    {
      nb::gil_scoped_release release;
      const std::int64_t now = std::min(at_once, count - done);
      const Clock::time_point start = Clock::now();
      step_all(self, now);
      done += now;
      const auto took = Clock::now() - start;
      at_once = took < kSignalGap / 2 ? 2 * now : took > kSignalGap ? std::max<std::int64_t>(1, now / 2) : now;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

/// Indices of worlds from None (all), a mask of bools, or a list of numbers.
std::vector<int> read_worlds(nb::handle which, std::int64_t worlds) {
  std::vector<int> indices;
  if (which.is_none()) {
    for (int k = 0; k < worlds; ++k) indices.push_back(k);
    return indices;
  }
  const auto refuse = [&](const std::string& is) {
    raise_value_error("worlds: " + is + ", expected indices below " + std::to_string(worlds) + ", or a mask of " +
                      std::to_string(worlds) + " bools");
  };
  const nb::object array = to_array(which, "worlds");
  if (nb::cast<int>(array.attr("ndim")) != 1) refuse("is " + nb::cast<std::string>(nb::repr(which)));
  const nb::list items(array.attr("tolist")());
  const auto size = static_cast<std::int64_t>(nb::len(items));
  if (nb::cast<std::string>(array.attr("dtype").attr("kind")) == "b" && size > 0) {
    if (size != worlds) refuse("is a mask of " + std::to_string(size));
    for (int k = 0; k < worlds; ++k)
      if (nb::cast<bool>(items[k])) indices.push_back(k);
    return indices;
  }
  for (const nb::handle item : items) {
    std::int64_t k = 0;
    if (!nb::try_cast(item, k, false) || k < 0 || k >= worlds) refuse("has " + nb::cast<std::string>(nb::repr(item)));
    indices.push_back(static_cast<int>(k));
  }
  return indices;
}

void reset(Batch& self, nb::handle which, nb::handle seeds) {
  const Busy busy(self.busy, "this batch");
  const auto worlds = static_cast<std::int64_t>(self.states.size());
  const std::vector<int> indices = read_worlds(which, worlds);
  std::vector<std::uint64_t> given;
  if (!seeds.is_none() && (!nb::try_cast(seeds, given) || given.size() != indices.size()))
    raise_value_error("seeds: expected " + std::to_string(indices.size()) + " whole numbers, one per world");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const int k = indices[i];
    self.states[k] = make_state(self.model, given.empty() ? self.seed + static_cast<std::uint64_t>(k) : given[i]);
    self.inputs[k] = make_inputs(self.model);
    self.take_out(k);
    self.show_inputs(k);
    self.wrenches.row(k).setZero();
    self.forget(k);
    self.has_last[k] = 0;
  }
}

/// As Simulation.save() gives them, one per world.
nb::list save(Batch& self) {
  const Busy busy(self.busy, "this batch");
  nb::list states;
  for (int k = 0; k < static_cast<int>(self.states.size()); ++k) {
    self.put_in(k);
    const std::string bytes = take_snapshot(self.world(k));
    states.append(nb::bytes(bytes.data(), bytes.size()));
  }
  return states;
}

/// All of them, or none where one is refused.
void restore_worlds(Batch& self, nb::handle states, nb::handle which) {
  const Busy busy(self.busy, "this batch");
  const std::vector<int> indices = read_worlds(which, static_cast<std::int64_t>(self.states.size()));
  const bool one = nb::isinstance<nb::bytes>(states);
  nb::list given;
  if (one) {
    given.append(states);
  } else if (nb::isinstance<nb::list>(states) || nb::isinstance<nb::tuple>(states)) {
    given = nb::list(states);
  }
  if (!one && nb::len(given) != indices.size())
    raise_value_error("states: expected what save() returned for " + std::to_string(indices.size()) +
                      " worlds, one bytes object each, or one for all of them");
  std::vector<Snapshot> snapshots;
  for (std::size_t i = 0; i < nb::len(given); ++i) {
    nb::bytes bytes;
    if (!nb::try_cast(nb::object(given[i]), bytes))
      raise_value_error("states: entry " + std::to_string(i) + " is a " +
                        nb::cast<std::string>(nb::type_name(nb::object(given[i]).type())) + ", expected bytes");
    if (!indices.empty())
      snapshots.push_back(read_snapshot(std::string(bytes.c_str(), bytes.size()), self.world(indices[i])));
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const int k = indices[i];
    self.put_in(k);
    restore(snapshots[one ? 0 : i], self.world(k));
    self.take_out(k);
    self.show_inputs(k);
    self.forget(k);
    self.has_last[k] = 0;
  }
}

nb::dict contacts(Batch& self, nb::handle world) {
  const Busy busy(self.busy, "this batch");
  const auto k =
      static_cast<std::size_t>(read_whole(world, "world", 0, static_cast<std::int64_t>(self.states.size()) - 1));
  return contacts_of(self.has_last[k] != 0 ? &self.workspaces[k] : nullptr, self.states[k], self.options.dt);
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
template <Eigen::VectorXi Batch::*field>
IntArray count_view(nb::handle_t<Batch> self) {
  const Eigen::VectorXi& x = nb::cast<Batch&>(self).*field;
  return view(x.data(), static_cast<std::size_t>(x.size()), self);
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

MatXr body_velocities(Batch& self, const std::string& body) {
  const Busy busy(self.busy, "this batch");
  const int b = self.model.body(body);
  MatXr rows(static_cast<Eigen::Index>(self.states.size()), 6);
  Kinematics kinematics;
  for (Eigen::Index k = 0; k < rows.rows(); ++k) {
    compute_kinematics(self.model, self.q.row(k).transpose(), self.v.row(k).transpose(), kinematics);
    rows.row(k)
        << point_velocity(self.model, kinematics, b, kinematics.X_WB[static_cast<std::size_t>(b)].p).transpose(),
        angular_velocity(self.model, kinematics, b).transpose();
  }
  return rows;
}

}  // namespace

void add_batch(nb::module_& m) {
  nb::class_<Batch>(m, "Batch", "Many worlds of one model, stepped together; arrays have one row per world.")
      .def(
          "__init__",
          [](Batch* self, nb::handle model, nb::handle n, nb::handle threads, nb::handle seed,
             const nb::kwargs& options) {
            const Model* given = nullptr;
            if (!nb::try_cast(model, given) || given == nullptr)
              raise_value_error("model: is " + nb::cast<std::string>(nb::repr(model)) + ", expected an almond.Model");
            const auto worlds = static_cast<int>(read_whole(n, "n", 1, std::numeric_limits<int>::max()));
            const auto workers = static_cast<int>(read_whole(threads, "threads", 0, WorkerPool::kMaxWorkers));
            const std::uint64_t first = read_seed(seed);
            check_memory(worlds);
            new (self) Batch(*given, worlds, workers == 0 ? num_usable_cpus() : workers, first, options);
          },
          nb::arg("model").none() = nb::none(), nb::arg("n").none() = nb::none(), nb::arg("threads").none() = 0,
          nb::arg("seed").none() = 0, nb::arg("options"),
          nb::sig("def __init__(self, model: Model, n: int, threads: int = 0, seed: int = 0, **options: typing.Any) -> "
                  "None"),
          "n worlds; threads 0: one per CPU. The result does not depend on the number of threads.")
      .def("__len__", [](const Batch& s) { return s.states.size(); })
      .def_prop_ro(
          "model", [](Batch& s) -> const Model& { return s.model; }, nb::rv_policy::reference_internal,
          "What each world is made of.")
      .def_prop_ro(
          "dt", [](Batch& s) { return s.options.dt; }, "Time step [s].")
      .def("step", &step, nb::arg("n").none() = 1, nb::sig("def step(self, n: int = 1) -> None"),
           "n steps of every world. Ctrl-C ends it where all worlds have taken as many. Raises ValueError where "
           "numbers of "
           "a world are not\nfinite or a quaternion has not length 1.")
      .def("reset", &reset, nb::arg("worlds") = nb::none(), nb::arg("seeds") = nb::none(),
           "All worlds, or those that a list of indices or a mask of bools names, back to the model's start: state and "
           "targets, without wrenches.")
      .def("save", &save, nb::sig("def save(self) -> list[bytes]"),
           "The state of every world, as Simulation.save() gives it: one may go on in a simulation of the same model, "
           "or in another world.")
      .def("restore", &restore_worlds, nb::arg("states").none(), nb::arg("worlds") = nb::none(),
           nb::sig("def restore(self, states: list[bytes] | bytes, worlds: object | None = None) -> None"),
           "All worlds, or those that a list of indices or a mask of bools names, back to states of save(): one for "
           "each of them, or one\nfor all. All or, where one is refused, none.")
      .def("contacts", &contacts, nb::arg("world").none(), nb::sig("def contacts(self, world: int) -> dict"),
           kContactsText)
      .def(
          "set_control",
          [](nb::handle_t<Batch> self, nb::handle controls) {
            nb::module_::import_("almond._load").attr("_set_control")(self, controls);
          },
          nb::arg("controls"),
          nb::sig("def set_control(self, controls: collections.abc.Mapping[str, float | numpy.typing.ArrayLike]) -> "
                  "None"),
          "As Simulation.set_control; a value is a number for all worlds, or an array with one per world.")
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
      .def_prop_rw(
          "wrenches",
          [](nb::handle_t<Batch> self) {
            Batch& s = nb::cast<Batch&>(self);
            return view(s.wrenches.data(), {s.states.size(), s.model.bodies.size(), 6}, self);
          },
          [](Batch& s, nb::handle x) {
            const Busy busy(s.busy, "this batch");
            const Array given = read_array(x, "wrenches", {s.wrenches.rows(), s.model.num_bodies(), 6});
            std::copy_n(given.data(), given.size(), s.wrenches.data());
          },
          nb::for_setter(nb::arg("wrenches").none()), "As Simulation.wrenches (worlds, bodies, 6), a view.")
      .def_prop_ro("time", &vector_view<&Batch::time>, "Of each world [s].")
      .def_prop_ro("residual", &vector_view<&Batch::residual>, "Worst of the last call of step.")
      .def_prop_ro("penetration", &vector_view<&Batch::penetration>, "Deepest of the last call of step [m].")
      .def_prop_ro("opening", &vector_view<&Batch::opening>,
                   "Largest error of a closure in the last call of step [m, rad].")
      .def_prop_ro("passed", &count_view<&Batch::passed>,
                   "Pairs that went through each other in the last call of step (worlds,).")
      .def_prop_ro("energy_limited", &count_view<&Batch::energy_limited>,
                   "Steps of the last call in which links whirled too fast for the time step (worlds,).")
      .def_prop_ro(
          "solved",
          [](nb::handle_t<Batch> self) {
            const auto& solved = nb::cast<Batch&>(self).solved;
            return view(solved.data(), static_cast<std::size_t>(solved.size()), self);
          },
          "Whether every step of the last call was solved (worlds,).")
      .def(
          "body_poses", [](Batch& s, const std::string& body) { return matrix_to_numpy(body_positions(s, body)); },
          nb::arg("body"), "(worlds, 7) of one body: p, quaternion w x y z.")
      .def(
          "body_velocities",
          [](Batch& s, const std::string& body) { return matrix_to_numpy(body_velocities(s, body)); }, nb::arg("body"),
          "(worlds, 6) of one body: of the origin, and angular; world axes.")
      .def("__repr__", [](const Batch& s) {
        return "<almond.Batch of " + std::to_string(s.states.size()) + " worlds: " + s.model.name + ">";
      });
}

}  // namespace almond::python
