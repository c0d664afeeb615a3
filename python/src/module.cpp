// almond._core: what Python sees of the library. The package almond wraps it in python/almond.

#include "almond/load/mjcf.hpp"
#include "parts.hpp"

namespace {

/// What bad input raises; lives as long as the interpreter.
PyObject* error_type() {
  static PyObject* const type = PyErr_NewExceptionWithDoc(
      "almond.Error", "What bad input raises: one line that names the place, the value and what was expected.",
      PyExc_ValueError, nullptr);
  return type;
}

}  // namespace

NB_MODULE(_core, m) {
  using namespace almond::python;
#ifdef NDEBUG
  nb::set_leak_warnings(
      false);  // objects that modules hold until the interpreter ends; `make test-python-asan` counts them
#endif
  m.doc() = "Exact Signorini-Coulomb contact for robots: the compiled part of almond.";
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const almond::Error& error) {
      PyErr_SetString(error_type(), error.what());
    } catch (const std::bad_cast&) {
      PyErr_SetString(PyExc_TypeError,
                      "a value of a type that is not expected here, or an object that was not initialised");
    }
  });
  m.attr("Error") = nb::borrow(error_type());
  m.attr("__version__") = ALMOND_VERSION;
  m.def("have_mujoco", &almond::have_mujoco, "Whether MJCF files can be read.");
  m.def("set_mujoco_library", &almond::set_mujoco_library, nb::arg("path"));
  add_solver(m);
  add_model(m);
  add_step_report(m);
  add_simulation(m);
  add_batch(m);
  add_mujoco(m);
  add_program(m);
}
