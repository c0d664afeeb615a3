#include "almond/load/installed_robots.hpp"

#include <cstdlib>
#include <filesystem>

#include "almond/base/check.hpp"

namespace almond {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Of a Python environment: lib/python3.11/site-packages/...
std::string robots_of(const fs::path& prefix) {
  std::error_code error;
  for (const fs::directory_entry& version : fs::directory_iterator(prefix / "lib", error)) {
    const fs::path folder = version.path() / "site-packages/cmeel.prefix/share/example-robot-data/robots";
    if (fs::is_directory(folder, error)) return folder.string();
  }
  return "";
}

}  // namespace

std::string find_robot_folder() {
  std::error_code error;
  const std::string named = environment("ALMOND_ROBOTS"), python = environment("ALMOND_PINOCCHIO_PYTHON"),
                    active = environment("VIRTUAL_ENV");
  if (!named.empty()) return fs::is_directory(named, error) ? named : "";
  std::string found;
  // Not canonical: the interpreter of a virtual environment is a link to the system's.
  if (!python.empty()) found = robots_of(fs::path(python).parent_path().parent_path());
  if (found.empty() && !active.empty()) found = robots_of(active);
  for (fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
       found.empty() && folder.has_relative_path(); folder = folder.parent_path())
    found = robots_of(folder / ".venv");
  return found.empty() ? robots_of(fs::current_path(error) / ".venv") : found;
}

std::string find_installed_robot(const std::string& file) {
  std::error_code error;
  const std::string folder = find_robot_folder();
  const fs::path path = fs::path(folder) / file;
  return !folder.empty() && fs::is_regular_file(path, error) ? path.string() : "";
}

std::string need_installed_robot(const std::string& file) {
  const std::string path = find_installed_robot(file), folder = find_robot_folder(),
                    named = environment("ALMOND_ROBOTS");
  require(named.empty() || !folder.empty(),
          file + ": ALMOND_ROBOTS is \"" + named +
              "\", which is no folder; expected the folder robots of `pip install example-robot-data`");
  require(
      !path.empty(),
      file + (folder.empty()
                  ? ": the package example-robot-data is not installed: `make peers` or `make test` in a checkout, or "
                    "`pip install example-robot-data` in the active environment, or set ALMOND_ROBOTS to "
                    "its folder robots"
                  : ": is not in " + folder + ", expected a file of example-robot-data"));
  return path;
}

}  // namespace almond
