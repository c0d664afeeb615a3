#pragma once
// Python scripts of bench/ and the interpreters they run in.

#include <string>

namespace almond::bench {

/// The folder of all scripts, where they came along with an installation.
void set_script_folder(const std::string& folder);

/// Where a script of bench/ lies: in that folder, or beside the program's checkout, or where it was built.
[[nodiscard]] std::string find_script(const std::string& name);

[[nodiscard]] std::string from_environment(const char* name, const std::string& otherwise);

/// That of the checkout's .venv; may not be there.
[[nodiscard]] std::string find_own_python();

/// ALMOND_PINOCCHIO_PYTHON, or that of the checkout's .venv; may not be there.
[[nodiscard]] std::string find_python();

/// That of Siconos: ALMOND_SICONOS_PYTHON, or the system's; may not be there.
[[nodiscard]] std::string find_siconos_python();

/// Whether this interpreter has numpy and the modules ("a, b"); else `why` not.
[[nodiscard]] bool can_import(const std::string& python, const std::string& modules, std::string& why);

}  // namespace almond::bench
