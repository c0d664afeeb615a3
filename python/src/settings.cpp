
#include "almond/base/text.hpp"
#include "almond/sim/option_fields.hpp"
#include "almond/solver/setting_fields.hpp"
#include "parts.hpp"

namespace almond::python {
namespace {

template <class Value>
Value read_value(nb::handle value, const std::string& name, const char* expected) {
  Value result{};
  if (!nb::try_cast(value, result, false))
    raise_value_error(name + ": is " + nb::cast<std::string>(nb::repr(value)) + ", expected " + expected);
  return result;
}

int read_int(nb::handle value, const std::string& name) {
  constexpr int kMost = std::numeric_limits<int>::max();
  return static_cast<int>(read_whole(value, name, -kMost, kMost));
}

void set_field(const SettingField& field, nb::handle value, const std::string& name, Settings& settings) {
  std::visit(
      [&](auto member) {
        using Value = std::remove_reference_t<decltype(settings.*member)>;
        if constexpr (std::is_same_v<Value, double>) {
          settings.*member = read_number(value, name);
        } else if constexpr (std::is_same_v<Value, int>) {
          settings.*member = read_int(value, name);
        } else if constexpr (std::is_same_v<Value, bool>) {
          settings.*member = read_flag(value, name);
        } else {
          const auto text = read_value<std::string>(value, name, "a name");
          if constexpr (std::is_same_v<Value, InnerSolver>) {
            settings.*member = inner_from_string(text, name + ": is " + quote(text));
          } else {
            try {
              settings.*member = solver_from_string(text);
            } catch (const Error& error) {
              raise_value_error(name + ": " + error.what());
            }
          }
        }
      },
      field);
}

}  // namespace

void refuse_name(const std::string& name, const std::vector<std::string>& known, const std::string& kind) {
  const std::string near = nearest_name(name, known);
  std::string list;
  for (const std::string& k : known) list += (list.empty() ? "" : ", ") + k;
  raise_value_error(quote(name) + ": no such " + kind +
                    (near.empty() ? "; there are " + list : "; did you mean " + near + "?"));
}

void apply_settings(const nb::dict& given, Settings& settings, nb::dict& rest) {
  for (const auto& [key, value] : given) {
    const std::string name = read_name(key, "settings");
    const auto found = setting_fields().find(name);
    if (found == setting_fields().end()) {
      rest[key] = value;
    } else {
      set_field(found->second, value, name, settings);
    }
  }
  settings.validate();
}

void read_settings(const nb::dict& given, Settings& settings) {
  nb::dict rest;
  apply_settings(given, settings, rest);
  for (const auto& [key, value] : rest)
    refuse_name(nb::cast<std::string>(key), {"solver", "tol", "budget_ms", "max_iterations", "threads", "trace"},
                "setting");
}

void apply_options(const nb::dict& given, StepOptions& options, const std::vector<std::string>& others) {
  nb::dict rest;
  apply_settings(given, options.solver, rest);
  const std::map<std::string, StepField> fields = step_fields(options);
  for (const auto& [key, value] : rest) {
    const auto name = nb::cast<std::string>(key);
    const auto found = fields.find(name);
    if (found == fields.end()) {
      std::vector<std::string> known = others;
      for (const auto& [k, field] : fields) known.push_back(k);
      for (const auto& [k, field] : setting_fields()) known.push_back(k);
      refuse_name(name, known, "option");
    }
    if (double* const* number = std::get_if<double*>(&found->second)) **number = read_number(value, name);
    if (int* const* whole = std::get_if<int*>(&found->second)) **whole = read_int(value, name);
  }
  options.validate();
}

Busy::Busy(std::atomic<bool>& flag, const char* what) : flag_(flag) {
  if (flag.exchange(true)) {
    PyErr_Format(PyExc_RuntimeError, "%s is in use by another thread; give each thread one of its own", what);
    throw nb::python_error();
  }
}

}  // namespace almond::python
