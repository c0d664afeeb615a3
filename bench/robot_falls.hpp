#pragma once
// Robot files of folders and packages, and how each falls on a floor.

#include <string>
#include <vector>

#include "almond/base/types.hpp"

namespace almond::bench {

/// A folder with robot files.
struct RobotSource {
  std::string name;  // of the package, or the folder
  std::string folder;
  bool urdf = true, mjcf = true;  // what of it counts
};

struct RobotFiles {
  std::vector<std::string> files;  // sorted
  int passed_over = 0;             // .xml files that are no MJCF model: manifests, schemas, parts to include
};

/// example-robot-data, gymnasium, dm_control and robosuite, as far as the interpreter `python` has them beside it.
[[nodiscard]] std::vector<RobotSource> installed_robots(const std::string& python);

/// All *.urdf and *.xml below the folder. Throws Error when it cannot be read.
[[nodiscard]] RobotFiles find_robot_files(const RobotSource& source);

[[nodiscard]] bool is_urdf(const std::string& path);

inline constexpr double kMostOverlap = 1.0;  // [mm]

struct Fall {
  std::string refused;  // why the file was not read; empty: it was
  int bodies = 0, dofs = 0;
  double mass = 0.0;  // [kg]
  int steps = 0, wanted = 0;
  int unsolved = 0;         // steps
  int contacts = 0;         // most at once
  double start_mm = 0.0;    // overlap that the file starts with
  double deepest_mm = 0.0;  // overlap, from when that of the start is gone
  double median_step_ms = kNaN;
  bool finite = true;

  [[nodiscard]] bool in_time() const { return steps == wanted; }
  [[nodiscard]] bool good() const { return in_time() && unsolved == 0 && deepest_mm <= kMostOverlap && finite; }
};

/// Limp, at 240 Hz (URDF, on a floating base) or at the time step of the file. A floor is put 5 cm below where the file
/// has none. Stops early after `limit_s` of wall-clock time.
[[nodiscard]] Fall let_fall(const std::string& path, double seconds, double limit_s);

}  // namespace almond::bench
