// The program `almond`, for `python -m almond`.

#include "apps/commands.hpp"
#include "bench/scripts.hpp"
#include "parts.hpp"

namespace almond::python {

void add_program(nb::module_& m) {
  m.def(
      "run_program",
      [](const std::vector<nb::bytes>& given, const std::string& scripts) {
        std::vector<std::string> arguments;
        for (const nb::bytes& word : given) arguments.emplace_back(word.c_str(), word.size());
        const nb::gil_scoped_release release;
        bench::set_script_folder(scripts);
        return app::run_program(arguments);
      },
      nb::arg("arguments"), nb::arg("scripts"),
      "Runs a command of the program almond and returns its exit code; `scripts` is the folder of those of bench.");
}

}  // namespace almond::python
