#include "almond/load/robot_file.hpp"

#include <set>

namespace almond {

std::map<std::string, int> lost_elements(const FileNotes& notes) {
  static const std::set<std::string> kHarmless = {"visual",      "material", "transmission", "safety_controller",
                                                  "calibration", "sensor"};
  std::map<std::string, int> lost;
  for (const auto& [kind, count] : notes.ignored)
    if (!kHarmless.contains(kind)) lost[kind] = count;
  return lost;
}

std::string elements_text(const std::map<std::string, int>& elements) {
  std::string text;
  for (const auto& [kind, count] : elements) text += (text.empty() ? "" : ", ") + std::to_string(count) + " x " + kind;
  return text;
}

}  // namespace almond
