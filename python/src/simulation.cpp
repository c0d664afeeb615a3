// A running world: step it, look at it, record it.

#include "simulation.hpp"

#include <chrono>
#include <cmath>

#include "almond/base/text.hpp"
#include "almond/view/looks.hpp"
#include "almond/view/page.hpp"
#include "scenes/file_scene.hpp"
#include "signals.hpp"
#include "usable.hpp"

namespace almond::python {
namespace {

using Clock = std::chrono::steady_clock;

nb::object in_python(const char* function) { return nb::module_::import_("almond._load").attr(function); }

void step_once(PySimulation& self) {
  Simulation& sim = self.simulation;
  put_wrenches(self.wrenches, sim.inputs());
  if (self.scripted && self.scene.control) self.scene.control(sim);
  self.report = sim.step();
  self.has_last = true;
  if (self.scene.observe) self.scene.observe(sim, self.report);
  if (self.replay) self.replay->add_step(sim, self.report);
}

StepReport step(PySimulation& self, nb::handle n) {
  const std::int64_t count = read_whole(n, "n", 0);
  const Busy busy(self.busy, "this simulation");
  const State& state = self.simulation.state();
  const Inputs& inputs = self.simulation.inputs();
  check_usable(self.model(), {.q = state.q,
                              .v = state.v,
                              .target = inputs.target,
                              .target_velocity = inputs.target_velocity,
                              .feedforward = inputs.feedforward,
                              .wrenches = self.wrenches});
  std::int64_t done = 0;
  while (done < count) {
    {
      nb::gil_scoped_release release;
      const Clock::time_point start = Clock::now();
      do step_once(self);
      while (++done < count && Clock::now() - start < kSignalGap);
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  return self.report;
}

MatXr body_poses(PySimulation& self) {
  const Busy busy(self.busy, "this simulation");
  const Kinematics& kin = self.simulation.kinematics();
  MatXr poses(static_cast<Eigen::Index>(kin.X_WB.size()), 7);
  for (Eigen::Index b = 0; b < poses.rows(); ++b) {
    const Pose& X = kin.X_WB[static_cast<std::size_t>(b)];
    poses.row(b) << X.p.transpose(), matrix_to_quaternion(X.R).transpose();
  }
  return poses;
}

MatXr body_velocities(PySimulation& self) {
  const Busy busy(self.busy, "this simulation");
  const Kinematics& kin = self.simulation.kinematics();
  MatXr velocities(static_cast<Eigen::Index>(kin.X_WB.size()), 6);
  for (int b = 0; b < self.model().num_bodies(); ++b)
    velocities.row(b) << point_velocity(self.model(), kin, b, kin.X_WB[static_cast<std::size_t>(b)].p).transpose(),
        angular_velocity(self.model(), kin, b).transpose();
  return velocities;
}

void set_state(PySimulation& self, nb::handle q, nb::handle v) {
  const Busy busy(self.busy, "this simulation");
  State& state = self.simulation.state();
  const VecX new_q = q.is_none() ? state.q : read_vector(q, "q", self.model().num_q);
  const VecX new_v = v.is_none() ? state.v : read_vector(v, "v", self.model().num_v);
  for (const Joint& joint : self.model().joints) {
    const int at = joint.kind == JointKind::kFree ? 3 : joint.kind == JointKind::kBall ? 0 : -1;
    if (at < 0) continue;
    const double length = new_q.segment<4>(joint.q_begin + at).norm();
    if (std::abs(length - 1.0) > 1e-3)
      raise_value_error("q: the quaternion of joint " + quote(joint.name) + " has length " + to_text(length) +
                        ", expected 1");
  }
  std::copy_n(new_q.data(), new_q.size(), state.q.data());  // in place: views of it stay
  std::copy_n(new_v.data(), new_v.size(), state.v.data());
  for (const Joint& joint : self.model().joints) {
    const int at = joint.kind == JointKind::kFree ? 3 : joint.kind == JointKind::kBall ? 0 : -1;
    if (at >= 0) state.q.segment<4>(joint.q_begin + at).normalize();
  }
}

/// The same, but None is an error: it stands for "as it is" only in set_state.
nb::handle named(nb::handle value, const char* name, int size) {
  if (value.is_none())
    raise_value_error(std::string(name) + ": is None, expected " + std::to_string(size) + " numbers");
  return value;
}

/// What there is to see. Meshes of a scene's robots are read when somebody looks.
std::vector<Look> looks_of(PySimulation& self) {
  if (self.looks.empty() && self.scene.make_looks) self.looks = self.scene.make_looks();
  return make_looks(self.model(), self.looks);
}

void begin_recording(PySimulation& self) {
  self.replay = std::make_unique<Replay>(self.model(), looks_of(self), self.simulation.options().dt, self.recording);
}

std::string make_html(PySimulation& self, const std::string& title) {
  const Busy busy(self.busy, "this simulation");
  const std::vector<std::pair<std::string, std::string>> facts = {{"scene", self.scene.name}};
  std::string bytes;
  if (self.replay) {
    bytes = Replay(*self.replay).finish(self.simulation, facts);
  } else {
    bytes = make_still(self.simulation, looks_of(self), title, facts);
  }
  return make_page({bytes});
}

using Picture = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<3>, nb::c_contig>;

Picture make_picture(PySimulation& self, nb::handle width, nb::handle height, nb::handle camera) {
  constexpr std::int64_t kLargest = 4096;
  const auto w = static_cast<int>(read_whole(width, "width", 16, kLargest));
  const auto h = static_cast<int>(read_whole(height, "height", 16, kLargest));
  std::optional<Camera> from;
  if (!camera.is_none()) {
    const VecX x = read_vector(camera, "camera", 6);
    if (!((x.head<3>() - x.tail<3>()).norm() > 1e-6))
      raise_value_error("camera: looks at where it is, expected x, y, z, and what it looks at");
    from = Camera{x.head<3>(), x.tail<3>()};
  }
  const Busy busy(self.busy, "this simulation");
  if (!self.painter) self.painter = std::make_unique<Painter>(looks_of(self));
  auto* bytes = new std::vector<std::uint8_t>(self.painter->draw(self.simulation.kinematics().X_WB, w, h, from));
  const nb::capsule owner(bytes, [](void* p) noexcept { delete static_cast<std::vector<std::uint8_t>*>(p); });
  return {bytes->data(), {static_cast<std::size_t>(h), static_cast<std::size_t>(w), 3}, owner};
}

/// A script that is asked how it went may act; nothing of that stays.
scenes::Outcome judge(PySimulation& self) {
  const Inputs inputs = self.simulation.inputs();
  const std::string memory = read_memory(self.scene);
  const scenes::Outcome outcome = self.scene.judge(self.simulation);
  set_memory(self.scene, memory);
  assign(inputs, self.simulation.inputs());
  return outcome;
}

FloatArray input_view(nb::handle self, VecX Inputs::*field) {
  VecX& x = nb::cast<PySimulation&>(self).simulation.inputs().*field;
  return view(x.data(), static_cast<std::size_t>(x.size()), self, true);
}

void set_input(PySimulation& self, VecX Inputs::*field, nb::handle value, const char* name) {
  const Busy busy(self.busy, "this simulation");
  VecX& x = self.simulation.inputs().*field;
  const VecX given = read_vector(value, name, x.size());
  std::copy_n(given.data(), given.size(), x.data());
}

}  // namespace

void add_simulation(nb::module_& m) {
  nb::class_<PySimulation>(m, "Simulation", "A running world; almond.load and almond.simulate make them.")
      .def_prop_ro(
          "model", [](PySimulation& s) -> const Model& { return s.model(); }, nb::rv_policy::reference_internal,
          "What the world is made of.")
      .def_prop_ro(
          "name", [](PySimulation& s) { return s.scene.name; }, "Of the scene, file or model.")
      .def_ro("notes", &PySimulation::notes, "What is worth knowing about the files it came from.")
      .def_prop_ro(
          "dt", [](PySimulation& s) { return s.simulation.options().dt; }, "Time step [s].")
      .def_prop_ro(
          "steps_of_scene", [](PySimulation& s) { return s.scene.steps; },
          "Steps of a run of the scene from start to end.")
      .def_prop_rw(
          "scripted", [](PySimulation& s) { return s.scripted; },
          [](PySimulation& s, nb::handle value) { s.scripted = read_flag(value, "scripted"); },
          nb::for_setter(nb::arg("value").none()), "Whether the scene's own control acts before each step.")
      .def_prop_ro(
          "has_script", [](PySimulation& s) { return static_cast<bool>(s.scene.control); },
          "Whether the scene has a control of its own.")
      .def("step", &step, nb::arg("n").none() = 1, nb::sig("def step(self, n: int = 1) -> StepReport"),
           "Takes n steps; returns how the last one went. Ctrl-C ends it between two steps. Raises ValueError where q, "
           "v, "
           "drive inputs\nor wrenches are not finite or a quaternion has not length 1.")
      .def_prop_ro(
          "report",
          [](PySimulation& s) {
            const Busy busy(s.busy, "this simulation");
            return s.report;
          },
          "How the last step went.")
      .def_prop_ro(
          "certificate",
          [](PySimulation& s) {
            const Busy busy(s.busy, "this simulation");
            Certificate certificate = s.simulation.last().solution.certificate;
            if (s.report.status == Status::kNumericalError) {
              certificate.residual = certificate.natural_map = kInfinity;
              certificate.finite = false;
            }
            return certificate;
          },
          "How exactly the last step obeys the law.")
      .def_prop_ro(
          "time", [](PySimulation& s) { return s.simulation.state().time; }, "Since the start [s].")
      .def_prop_ro(
          "steps", [](PySimulation& s) { return s.simulation.state().steps; }, "Taken so far.")
      .def_prop_rw(
          "q",
          [](nb::handle_t<PySimulation> self) {
            VecX& q = nb::cast<PySimulation&>(self).simulation.state().q;
            return view(q.data(), static_cast<std::size_t>(q.size()), self, true);
          },
          [](PySimulation& s, nb::handle q) { set_state(s, named(q, "q", s.model().num_q), nb::none()); },
          nb::for_setter(nb::arg("q").none()), "Positions (num_q,), a view of the state.")
      .def_prop_rw(
          "v",
          [](nb::handle_t<PySimulation> self) {
            VecX& v = nb::cast<PySimulation&>(self).simulation.state().v;
            return view(v.data(), static_cast<std::size_t>(v.size()), self, true);
          },
          [](PySimulation& s, nb::handle v) { set_state(s, nb::none(), named(v, "v", s.model().num_v)); },
          nb::for_setter(nb::arg("v").none()), "Velocities (num_v,), a view of the state.")
      .def("set_state", &set_state, nb::arg("q") = nb::none(), nb::arg("v") = nb::none(),
           "Sets positions, velocities or both; quaternions must have length 1.")
      .def_prop_rw(
          "target", [](nb::handle_t<PySimulation> self) { return input_view(self, &Inputs::target); },
          [](PySimulation& s, nb::handle x) { set_input(s, &Inputs::target, x, "target"); },
          nb::for_setter(nb::arg("target").none()),
          "Position that each drive goes to (drives,), a view. See ModelBuilder.add_drive for what the modes do with "
          "it.")
      .def_prop_rw(
          "target_velocity", [](nb::handle_t<PySimulation> self) { return input_view(self, &Inputs::target_velocity); },
          [](PySimulation& s, nb::handle x) { set_input(s, &Inputs::target_velocity, x, "target_velocity"); },
          nb::for_setter(nb::arg("target_velocity").none()), "Velocity that each drive is to have (drives,), a view.")
      .def_prop_rw(
          "feedforward", [](nb::handle_t<PySimulation> self) { return input_view(self, &Inputs::feedforward); },
          [](PySimulation& s, nb::handle x) { set_input(s, &Inputs::feedforward, x, "feedforward"); },
          nb::for_setter(nb::arg("feedforward").none()),
          "Effort added to that of each drive (drives,) [N m, N], a view.")
      .def_prop_rw(
          "wrenches",
          [](nb::handle_t<PySimulation> self) {
            MatXr& w = nb::cast<PySimulation&>(self).wrenches;
            return view(w.data(), static_cast<std::size_t>(w.rows()), 6, self, true);
          },
          [](PySimulation& s, nb::handle x) {
            const Busy busy(s.busy, "this simulation");
            const Array given = read_array(x, "wrenches", {s.wrenches.rows(), 6});
            std::copy_n(given.data(), given.size(), s.wrenches.data());
          },
          nb::for_setter(nb::arg("wrenches").none()),
          "(bodies, 6): force at the centre of mass and torque from outside, world axes; they stay until changed.")
      .def_prop_ro(
          "control_names",
          [](PySimulation& s) {
            std::vector<std::string> names;
            for (const Control& c : s.controls) names.push_back(c.name);
            return names;
          },
          "Names of the actuators of an MJCF file.")
      .def(
          "set_controls",
          [](PySimulation& s, nb::handle u) {
            const Busy busy(s.busy, "this simulation");
            const VecX ctrl = read_vector(u, "ctrl", static_cast<std::int64_t>(s.controls.size()));
            scenes::apply_controls(s.controls, ctrl, s.simulation.inputs());
          },
          nb::arg("ctrl"), "Sets MuJoCo's ctrl, one number per actuator of the file.")
      .def(
          "contacts",
          [](PySimulation& s) {
            const Busy busy(s.busy, "this simulation");
            return contacts_of(s.has_last ? &s.simulation.last() : nullptr, s.simulation.state(),
                               s.simulation.options().dt);
          },
          kContactsText)
      .def(
          "body_poses", [](PySimulation& s) { return matrix_to_numpy(body_poses(s)); },
          "Poses of all bodies (bodies, 7): p, quaternion w x y z.")
      .def(
          "body_velocities", [](PySimulation& s) { return matrix_to_numpy(body_velocities(s)); },
          "Velocities of all bodies (bodies, 6): of the origin, and angular; world axes.")
      .def(
          "energy",
          [](PySimulation& s) {
            const Busy busy(s.busy, "this simulation");
            const Energy e = s.simulation.energy();
            return nb::make_tuple(e.kinetic, e.potential);
          },
          "Kinetic and potential energy [J].")
      .def(
          "problem",
          [](PySimulation& s) {
            const Busy busy(s.busy, "this simulation");
            return copy_problem(s.simulation, s.scene.name);
          },
          "A copy of the last step's contact problem.")
      .def(
          "save",
          [](PySimulation& s) {
            const Busy busy(s.busy, "this simulation");
            const std::string bytes = take_snapshot(s.world());
            return nb::bytes(bytes.data(), bytes.size());
          },
          "The whole state as bytes, with targets, wrenches and how far the scene's script is; stepping on from it "
          "gives "
          "the same bits.")
      .def(
          "restore",
          [](PySimulation& s, const nb::bytes& bytes) {
            const Busy busy(s.busy, "this simulation");
            restore(read_snapshot(std::string(bytes.c_str(), bytes.size()), s.world()), s.world());
            s.has_last = false;
            if (s.replay) begin_recording(s);
          },
          nb::arg("state"), "Back to a state of save(); a file of `almond run --save-state` does as well.")
      .def(
          "reset",
          [](PySimulation& s, nb::handle seed) {
            const Busy busy(s.busy, "this simulation");
            restart(seed.is_none() ? s.seed : read_seed(seed), s.start_memory, s.world());
            s.report = {};
            s.has_last = false;
            if (s.replay) begin_recording(s);
          },
          nb::arg("seed") = nb::none(), nb::sig("def reset(self, seed: int | None = None) -> None"),
          "Back to the start: the model's state and targets, no wrenches, the script at its beginning; the seed it was "
          "made with unless one is given.")
      .def("clone", &clone,
           "Another simulation in the same state, script, targets and wrenches included, that goes on by itself with "
           "the "
           "same bits; what was\nrecorded stays here. copy.copy does the same.")
      .def("__copy__", &clone)
      .def(
          "__deepcopy__", [](PySimulation& s, nb::handle) { return clone(s); }, nb::arg("memo"))
      .def_prop_ro(
          "hash",
          [](PySimulation& s) {
            const Busy busy(s.busy, "this simulation");
            return hash_text(state_hash(s.simulation.state()));
          },
          "Digest of q, v and time: equal for equal bits.")
      .def(
          "record",
          [](PySimulation& s, double fps, const std::string& title) {
            const Busy busy(s.busy, "this simulation");
            s.recording = {};
            s.recording.fps = fps;
            s.recording.title = title.empty() ? s.scene.name : title;
            begin_recording(s);
          },
          nb::arg("fps") = 60.0, nb::arg("title") = "",
          "From now on steps are kept for html(), show() and save_html(), until end_recording(); what was kept before "
          "is "
          "forgotten.\nAfter reset() and restore() it begins anew.")
      .def(
          "end_recording",
          [](PySimulation& s) {
            const Busy busy(s.busy, "this simulation");
            s.replay.reset();
          },
          "Steps are no longer kept, and those that were are forgotten.")
      // Written in Python, where notebooks and browsers are; bound here, so that types and documentation are with the
      // rest.
      .def(
          "show",
          [](nb::handle_t<PySimulation> self, const std::string& title, int height) {
            return in_python("_show")(self, title, height);
          },
          nb::arg("title") = "", nb::arg("height") = 600,
          nb::sig("def show(self, title: str = '', height: int = 600) -> str | None"),
          "Shows what was recorded, or the world as it is: in a notebook, or in the browser, whose file is returned.")
      .def(
          "save_html",
          [](nb::handle_t<PySimulation> self, nb::handle path, const std::string& title) {
            in_python("_save_html")(self, path, title);
          },
          nb::arg("path"), nb::arg("title") = "",
          nb::sig("def save_html(self, path: str | os.PathLike[str], title: str = '') -> None"),
          "Writes the page of html() to a file; an earlier one is replaced only by a whole one.")
      .def(
          "set_control",
          [](nb::handle_t<PySimulation> self, nb::handle controls) { in_python("_set_control")(self, controls); },
          nb::arg("controls"), nb::sig("def set_control(self, controls: collections.abc.Mapping[str, float]) -> None"),
          "Sets drives by their names or those of the joints they move, {\"joint\": value}, in units of the joint: "
          "what "
          "feedforward has\nfor mode torque, target_velocity for velocity, target for the others.")
      .def("html", &make_html, nb::arg("title") = "Almond",
           "A page that plays what was recorded, or shows the world as it is. The recording goes on.")
      .def("picture", &make_picture, nb::arg("width") = 480, nb::arg("height") = 360, nb::arg("camera") = nb::none(),
           nb::sig("def picture(self, width: int = 480, height: int = 360, camera: object | None = None) -> "
                   "numpy.typing.NDArray[numpy.uint8]"),
           "The world as it is, (height, width, 3) from the top: red, green, blue. camera is x, y, z and what it looks "
           "at;\nwithout, one that sees everything in the first picture and goes along with the bodies.")
      .def(
          "judge",
          [](PySimulation& s) -> nb::object {
            const Busy busy(s.busy, "this simulation");
            if (!s.scene.judge) return nb::none();
            const scenes::Outcome outcome = judge(s);
            nb::dict d;
            if (outcome.success) {
              d["success"] = *outcome.success;
            } else {
              d["success"] = nb::none();
            }
            for (const scenes::Metric& metric : outcome.metrics) d[metric.name.c_str()] = metric.value;
            return d;
          },
          "What the scene says of the run: success and its figures.")
      .def("__repr__", [](PySimulation& s) {
        return "<almond.Simulation " + s.scene.name + ": " + std::to_string(s.model().num_bodies()) + " bodies, " +
               std::to_string(s.model().num_v) + " dofs, t = " + to_text(s.simulation.state().time) + " s>";
      });
  add_makers(m);
}

}  // namespace almond::python
