// Matrices in, impulses out.

#include <cmath>
#include <filesystem>
#include <future>

#include "almond/load/fields.hpp"
#include "almond/load/problem_fields.hpp"
#include "almond/load/problem_file.hpp"
#include "almond/solver/certificate.hpp"
#include "almond/solver/setting_fields.hpp"
#include "almond/solver/stop.hpp"
#include "parts.hpp"
#include "pickle.hpp"
#include "signals.hpp"

namespace almond::python {

void remember(scenes::Memory& m, Certificate& c) {
  m(c.residual, c.natural_map, c.normal_violation, c.complementarity, c.cone_violation, c.slip_error,
    c.dynamics_residual, c.row_violation, c.impulse_ratio, c.worst_constraint, c.modes, c.mode, c.finite);
  for (const ContactMode mode : c.mode) require(mode <= ContactMode::kSlip, "has a mode that there is not");
}

void remember(scenes::Memory& m, Solution& s) {
  VecX v = s.v, lambda = s.lambda;
  SolveInfo& i = s.info;
  m(v, lambda, s.status, i.iterations, i.newton_steps, i.islands, i.time_ms, i.setup_ms, i.pgs_sweeps,
    i.admm_iterations, i.inner_failures, i.trace);
  require(s.status <= Status::kNumericalError, "has a status that there is not");
  remember(m, s.certificate);
  s.v = v;
  s.lambda = lambda;
}

namespace {

using Integers = std::vector<std::int64_t>;

Integers read_integers(nb::handle value) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  return nb::cast<Integers>(numpy.attr("asarray")(value, numpy.attr("int64")).attr("tolist")());
}

/// One argument as a field of a problem file: dense, or SciPy's sparse as CSR.
void add_field(const std::string& name, nb::handle value, NpzArchive& archive) {
  if (value.is_none()) return;
  if (nb::isinstance<nb::str>(value)) {
    archive.set(name, NpzArray(nb::cast<std::string>(value)));
    return;
  }
  if (nb::hasattr(value, "tocsr")) {
    const std::vector<std::string>& known = known_fields();
    if (std::find(known.begin(), known.end(), name + "_data") == known.end())
      raise_value_error(name + ": is a " + nb::cast<std::string>(nb::type_name(value.type())) +
                        ", expected an array; matrices may be sparse");
    if (!PyCallable_Check(nb::object(value.attr("tocsr")).ptr()))
      raise_value_error(name + ": is a " + nb::cast<std::string>(nb::type_name(value.type())) +
                        ", expected an array or a sparse matrix");
    const nb::object csr = value.attr("tocsr")();
    const VecX data = read_vector(csr.attr("data"), name);
    const auto put = [&](const char* suffix, Integers numbers) {
      const auto size = static_cast<std::int64_t>(numbers.size());
      archive.set(name + suffix, NpzArray({size}, std::move(numbers)));
    };
    archive.set(name + "_data", NpzArray(data));
    put("_indices", read_integers(csr.attr("indices")));
    put("_indptr", read_integers(csr.attr("indptr")));
    put("_shape", read_integers(nb::module_::import_("numpy").attr("asarray")(csr.attr("shape"))));
    return;
  }
  const bool whole = name == "subsystem_offsets";
  const nb::object array = to_array(value, name);
  const auto ndim = nb::cast<std::size_t>(array.attr("ndim"));
  if (ndim == 0)
    raise_value_error(name + ": is " + nb::cast<std::string>(nb::repr(value)) + ", expected an array" +
                      (name == "mu" ? " with a number per contact" : ""));
  const Array numbers = read_array(array, name, Integers(ndim, -1));
  const auto shape = nb::cast<Integers>(nb::list(array.attr("shape")));
  if (whole) {
    for (std::size_t k = 0; k < numbers.size(); ++k)
      if (const double x = numbers.data()[k]; x != std::floor(x) || std::abs(x) > 2e9)
        raise_value_error(name + ": entry " + std::to_string(k) + " is " + to_text(x) + ", expected whole numbers");
    if (ndim != 1) raise_value_error(name + ": has " + std::to_string(ndim) + " dimensions, expected 1");
    archive.set(name, NpzArray(shape, read_integers(array)));
  } else {
    archive.set(name, NpzArray(shape, std::vector<double>(numbers.data(), numbers.data() + numbers.size())));
  }
}

ContactProblem make_problem_from(nb::handle A, nb::handle b, nb::handle J, nb::handle e, nb::handle mu,
                                 const nb::kwargs& more) {
  if (A.is_none() || b.is_none())
    raise_value_error(std::string(A.is_none() ? "A" : "b") + ": missing, expected ContactProblem(A, b, J, e, mu)");
  NpzArchive archive = NpzArchive::from_json("{}", "ContactProblem");
  add_field("A", A, archive);
  add_field("b", b, archive);
  if (J.is_none() && e.is_none() && mu.is_none()) {  // rows only
    const auto n = archive.has("b") ? archive.at("b").size() : 0;
    archive.set("J", NpzArray({0, n}, std::vector<double>{}));
    archive.set("e", NpzArray({0}, std::vector<double>{}));
    archive.set("mu", NpzArray({0}, std::vector<double>{}));
  }
  add_field("J", J, archive);
  add_field("e", e, archive);
  add_field("mu", mu, archive);
  for (const auto& [key, value] : more) {
    const auto name = nb::cast<std::string>(key);
    const std::vector<std::string>& known = known_fields();
    if (std::find(known.begin(), known.end(), name) == known.end()) refuse_name(name, known, "argument");
    add_field(name, value, archive);
  }
  LoadReport report;
  ContactProblem problem = problem_from_fields(archive, report);
  problem.validate();
  return problem;
}

nb::dict fields_of(const ContactProblem& problem) {
  const NpzArchive archive = fields_from_problem(problem);
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::dict result;
  for (const std::string& name : archive.names()) {
    const NpzArray& array = archive.at(name);
    const nb::object value = std::visit([](const auto& data) { return nb::cast(data); }, array.data);
    result[name.c_str()] = array.is_text() ? value : numpy.attr("asarray")(value).attr("reshape")(array.shape);
  }
  return result;
}

struct PyWorkspace {
  Workspace workspace;
  std::atomic<bool> busy{false};
};

nb::tuple problem_to_pickle(const ContactProblem& problem) {
  const std::string bytes = fields_from_problem(problem).to_bytes("pickle");
  return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), problem.name);
}

void problem_from_pickle(ContactProblem& self, const nb::tuple& state) {
  const auto bytes = read_entry<nb::bytes>(state, 2, 0);
  auto name = read_entry<std::string>(state, 2, 1);
  LoadReport report;
  ContactProblem problem =
      problem_from_fields(NpzArchive::from_bytes(std::string(bytes.c_str(), bytes.size()), "pickle"), report);
  problem.name = std::move(name);
  problem.validate();
  new (&self) ContactProblem(std::move(problem));
}

constexpr int kManyRows = 300;  // that are worth 50 µs for a thread of their own

std::unique_ptr<Solution> solve_problem(const ContactProblem& problem, const nb::dict& given, nb::handle start,
                                        PyWorkspace& ws) {
  Settings settings;
  read_settings(given, settings);
  auto solution = std::make_unique<Solution>();
  if (!start.is_none()) {
    solution->lambda = read_vector(start, "start", problem.num_rows());
    settings.warm_start = true;
  } else if (settings.warm_start) {
    if (problem.lambda0.empty()) raise_value_error("warm_start: the problem has no lambda0, expected one, or start=");
    solution->lambda = MapConstVec(problem.lambda0.data(), std::ssize(problem.lambda0));
    if (!problem.v0.empty()) solution->v = MapConstVec(problem.v0.data(), std::ssize(problem.v0));
  }
  const Busy busy(ws.busy, "this workspace");
  Signals signals;
  {
    const nb::gil_scoped_release release;
    set_stop(ws.workspace, [&] { return signals.raised(); });
    if (settings.threads <= 1 || problem.num_rows() < kManyRows) {
      solve(problem, settings, ws.workspace, *solution);
    } else {  // where this thread waited for others, it could not look for signals
      const auto solved = std::async(std::launch::async, [&] { solve(problem, settings, ws.workspace, *solution); });
      while (solved.wait_for(kSignalGap) != std::future_status::ready) static_cast<void>(signals.raised());
    }
    set_stop(ws.workspace, {});
  }
  signals.rethrow();
  return solution;
}

nb::dict to_dict(const Certificate& c) {
  nb::dict d;
  d["residual"] = c.residual;
  d["natural_map"] = c.natural_map;
  d["normal_violation"] = c.normal_violation;
  d["complementarity"] = c.complementarity;
  d["cone_violation"] = c.cone_violation;
  d["slip_error"] = c.slip_error;
  d["dynamics_residual"] = c.dynamics_residual;
  d["row_violation"] = c.row_violation;
  d["impulse_ratio"] = c.impulse_ratio;
  d["worst_constraint"] = c.worst_constraint;
  return d;
}

void add_problem(nb::module_& m) {
  nb::class_<ContactProblem>(m, "ContactProblem",
                             "One step of a multibody system with constraints: A v = b + JᵀL, (J v + e, L) in the law.")
      .def(
          "__init__",
          [](ContactProblem* self, nb::handle A, nb::handle b, nb::handle J, nb::handle e, nb::handle mu,
             const nb::kwargs& more) { new (self) ContactProblem(make_problem_from(A, b, J, e, mu, more)); },
          nb::arg("A") = nb::none(), nb::arg("b") = nb::none(), nb::arg("J") = nb::none(), nb::arg("e") = nb::none(),
          nb::arg("mu") = nb::none(), nb::arg("more"),
          nb::sig("def __init__(self, A: object, b: object, J: object | None = None, e: object | None = None, "
                  "mu: object | None = None, **more) -> None"),
          "A (n, n), b (n,), J (3m, n) with rows t1, t2, n per contact, e (3m,), mu (m,); A and J dense or sparse.\n\n"
          "Further: name, subsystem_offsets, v0, lambda0; hard rows Jh, eh; soft rows Js, es, ks, bs, limit_s; "
          "equalities\n"
          "Jq, eq; bounded rows Jb, eb, limit. Raises ValueError naming the argument.")
      .def_static(
          "load", [](const nb::object& path) { return load_problem(nb::cast<std::string>(nb::str(path))); },
          nb::arg("path"), "Read an FCLIB .hdf5, .npz or .json problem file.")
      .def(
          "save",
          [](const ContactProblem& self, const nb::object& path) {
            save_problem(self, nb::cast<std::string>(nb::str(path)));
          },
          nb::arg("path"), "Write a .npz, .json or FCLIB .hdf5 file, by the ending of its name.")
      .def_ro("name", &ContactProblem::name, "As the file or the scene calls it; may be empty.")
      .def_prop_ro("num_dofs", &ContactProblem::num_dofs, "Length of v.")
      .def_prop_ro("num_contacts", &ContactProblem::num_contacts, "Contacts with friction, three rows each.")
      .def_prop_ro("num_rows", &ContactProblem::num_rows, "Length of the impulses: 3 per contact, then rows.")
      .def_prop_ro(
          "num_subsystems", [](const ContactProblem& p) { return p.subsystems.size(); }, "Blocks of A: bodies, robots.")
      .def_prop_ro(
          "A", [](const ContactProblem& p) { return matrix_to_numpy(MatXr(make_dense_A(p))); },
          "The mass matrix (dofs, dofs); a dense copy.")
      .def_prop_ro(
          "J", [](const ContactProblem& p) { return matrix_to_numpy(MatXr(make_dense_J(p))); },
          "All rows (rows, dofs), in the order of the impulses; a dense copy.")
      .def_prop_ro(
          "e", [](const ContactProblem& p) { return to_numpy(make_dense_e(p)); }, "Bias of every row [m/s]; a copy.")
      .def_prop_ro(
          "b",
          [](nb::handle_t<ContactProblem> self) {
            auto& p = nb::cast<ContactProblem&>(self);
            return view(p.b.data(), p.b.size(), self, false);
          },
          "Right-hand side: momentum without contacts.")
      .def_prop_ro(
          "mu",
          [](const ContactProblem& p) {
            VecX mu(p.num_contacts());
            for (int i = 0; i < p.num_contacts(); ++i) mu[i] = p.contacts[i].mu;
            return to_numpy(mu);
          },
          "Friction coefficient of each contact.")
      .def("fields", &fields_of, "All arrays by the names they have in a .npz file (matrices as CSR).")
      .def(
          "certify",
          [](const ContactProblem& p, nb::handle impulses, nb::handle v) {
            const VecX lambda = read_vector(impulses, "impulses", p.num_rows());
            const VecX velocity = v.is_none() ? compute_velocity(p, lambda) : read_vector(v, "v", p.num_dofs());
            return make_certificate(p, velocity, lambda);
          },
          nb::arg("impulses"), nb::arg("v") = nb::none(),
          "How exactly impulses from anywhere obey the law, computed from the problem alone.")
      .def(
          "velocity",
          [](const ContactProblem& p, nb::handle impulses) {
            return to_numpy(compute_velocity(p, read_vector(impulses, "impulses", p.num_rows())));
          },
          nb::arg("impulses"), "A⁻¹(b + Jᵀ impulses).")
      .def("__getstate__", &problem_to_pickle)
      .def("__setstate__", &problem_from_pickle)
      .def("__repr__", [](const ContactProblem& p) {
        return "<almond.ContactProblem" + (p.name.empty() ? "" : " " + p.name) + ": " + std::to_string(p.num_dofs()) +
               " dofs, " + std::to_string(p.num_contacts()) + " contacts, " + std::to_string(p.num_scalar_rows()) +
               " rows>";
      });
}

}  // namespace

void add_solver(nb::module_& m) {
  add_problem(m);
  nb::class_<Certificate>(m, "Certificate", "How far an answer is from the law, measured from the problem alone.")
      .def_ro("residual", &Certificate::residual, "The paper's: ‖L - T(L - (Jv+e))‖ / (contacts + rows) [N s].")
      .def_ro("natural_map", &Certificate::natural_map, "Delassus-scaled, relative to the free velocity.")
      .def_ro("normal_violation", &Certificate::normal_violation,
              "Worst velocity into a contact, max(0, -(J_n v + e_n)) [m/s].")
      .def_ro("complementarity", &Certificate::complementarity,
              "Worst |L_n (J_n v + e_n)|: an impulse where a gap opens [J].")
      .def_ro("cone_violation", &Certificate::cone_violation,
              "Worst distance of an impulse from its friction cone or its bounds [N s].")
      .def_ro("slip_error", &Certificate::slip_error,
              "Worst mu L_n |w_t| + L_t·w_t: 0 where friction opposes slip in full [J].")
      .def_ro("dynamics_residual", &Certificate::dynamics_residual, "|A v - b - JᵀL| / (|b| + |JᵀL|).")
      .def_ro("row_violation", &Certificate::row_violation, "Worst over hard, soft, equality and bounded rows [m/s].")
      .def_ro("impulse_ratio", &Certificate::impulse_ratio,
              "Largest impulse by what the masses it acts on could need; nothing above 1000 is solved.")
      .def_ro("worst_constraint", &Certificate::worst_constraint,
              "Index of the constraint that is farthest from the law: contacts first, then rows; -1 for none.")
      .def_prop_ro(
          "modes",
          [](const Certificate& c) {
            std::vector<std::string> names;
            for (const ContactMode mode : c.mode) names.emplace_back(to_string(mode));
            return names;
          },
          "open, stick or slip, per contact.")
      .def(
          "as_dict", [](const Certificate& c) { return to_dict(c); }, "All figures by name.")
      .def("__getstate__", &to_pickle<Certificate>)
      .def("__setstate__", &from_pickle<Certificate>)
      .def("__repr__", [](const Certificate& c) {
        return "<almond.Certificate: residual " + almond::to_text(c.residual) + ", natural_map " +
               almond::to_text(c.natural_map) + ">";
      });
  nb::class_<PyWorkspace>(m, "Workspace", "Scratch memory that solves of one thread share.")
      .def(nb::init<>(), "Empty; grows with the first solve.");
  nb::class_<Solution>(m, "Solution", "Velocities, impulses, and how exact they are.")
      .def_prop_ro(
          "v",
          [](nb::handle_t<Solution> self) {
            auto& s = nb::cast<Solution&>(self);
            return view(s.v.data(), static_cast<std::size_t>(s.v.size()), self, true);
          },
          "Velocities at the end of the step.")
      .def_prop_ro(
          "impulses",
          [](nb::handle_t<Solution> self) {
            auto& s = nb::cast<Solution&>(self);
            return view(s.lambda.data(), static_cast<std::size_t>(s.lambda.size()), self, true);
          },
          "t1, t2, n per contact, then hard, soft, equality and bounded rows [N s].")
      .def_prop_ro(
          "status", [](const Solution& s) { return std::string(to_string(s.status)); },
          "How the solve ended: solved, max-iterations, time-budget, stalled, infeasible or numerical-error.")
      .def_prop_ro(
          "solved", [](const Solution& s) { return s.status == Status::kSolved; },
          "Whether the certificate is below tol.")
      .def_ro("certificate", &Solution::certificate, "How exactly the answer obeys the law.")
      .def_prop_ro(
          "iterations", [](const Solution& s) { return s.info.iterations; },
          "Of the method: sweeps, ADMM iterations, multiplier updates.")
      .def_prop_ro(
          "newton_steps", [](const Solution& s) { return s.info.newton_steps; },
          "Linear systems solved by Newton methods.")
      .def_prop_ro(
          "time_ms", [](const Solution& s) { return s.info.time_ms; }, "Wall time of the solve [ms].")
      .def_prop_ro(
          "trace",
          [](const Solution& s) {
            MatXr rows(static_cast<Eigen::Index>(s.info.trace.size()), 4);
            for (Eigen::Index k = 0; k < rows.rows(); ++k) {
              const TracePoint& p = s.info.trace[static_cast<std::size_t>(k)];
              rows.row(k) << p.time_ms, p.iteration, p.residual, p.natural_map;
            }
            return matrix_to_numpy(std::move(rows));
          },
          "Rows of time [ms], iteration, residual, natural map; with trace=True.")
      .def("__getstate__", &to_pickle<Solution>)
      .def("__setstate__", &from_pickle<Solution>)
      .def("__repr__", [](const Solution& s) {
        return std::string("<almond.Solution: ") + to_string(s.status) + ", residual " +
               almond::to_text(s.certificate.residual) + ", " + std::to_string(s.info.iterations) + " iterations, " +
               almond::to_text(s.info.time_ms) + " ms>";
      });
  m.def("solve_problem", &solve_problem, nb::arg("problem"), nb::arg("settings"), nb::arg("start").none(),
        nb::arg("workspace"));
  m.def(
      "setting_names",
      [] {
        std::vector<std::string> names;
        for (const auto& [name, field] : setting_fields()) names.push_back(name);
        return names;
      },
      "Names of the solver's settings.");
  m.def("solver_names", [] {
    std::vector<std::string> names;
    for (int k = 0; k < kNumSolverKinds; ++k) names.emplace_back(to_string(static_cast<SolverKind>(k)));
    return names;
  });
}

}  // namespace almond::python
