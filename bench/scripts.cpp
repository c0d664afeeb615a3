#include "bench/scripts.hpp"

#include <cstdlib>
#include <filesystem>

#include "bench/process.hpp"

namespace almond::bench {

namespace fs = std::filesystem;

namespace {
std::string script_folder;  // empty: that of a checkout
}

void set_script_folder(const std::string& folder) { script_folder = folder; }

std::string find_script(const std::string& name) {
  if (!script_folder.empty()) return (fs::path(script_folder) / name).string();
  std::error_code ignored;
  for (fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::exists(folder / "bench" / name)) return (folder / "bench" / name).string();
  }
  return (fs::path(ALMOND_SOURCE_DIR) / "bench" / name).string();
}

std::string from_environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::string find_own_python() {
  const fs::path checkout = fs::path(find_script("peers_pinocchio.py")).parent_path().parent_path();
  return (checkout / ".venv/bin/python").string();
}

std::string find_python() { return from_environment("ALMOND_PINOCCHIO_PYTHON", find_own_python()); }

std::string find_siconos_python() { return from_environment("ALMOND_SICONOS_PYTHON", "/usr/bin/python3"); }

bool can_import(const std::string& python, const std::string& modules, std::string& why) {
  constexpr double kTimeoutMs = 30e3;
  const ProcessResult result = run_process({python, "-c", "import numpy, " + modules}, kTimeoutMs);
  why = !result.started ? python + " is not there" : result.errors;
  return result.started && result.exit_code == 0;
}

}  // namespace almond::bench
