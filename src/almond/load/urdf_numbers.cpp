// Every number of a URDF that urdfdom reads, judged before it does.

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/mesh_words.hpp"
#include "almond/load/urdf_parse.hpp"
#include "almond/load/xml_scan.hpp"

namespace almond {
namespace {

enum class Kind : std::uint8_t { kNumber, kVector, kColor };
using Attributes = std::map<std::string, Kind>;

/// "parent/element" -> its attributes that are numbers.
const std::map<std::string, Attributes>& numbers() {
  constexpr Kind kOne = Kind::kNumber, kThree = Kind::kVector;
  static const Attributes kOrigin = {{"xyz", kThree}, {"rpy", kThree}}, kRound = {{"radius", kOne}, {"length", kOne}};
  static const std::map<std::string, Attributes> kNumbers = {
      {"inertial/origin", kOrigin},
      {"visual/origin", kOrigin},
      {"collision/origin", kOrigin},
      {"joint/origin", kOrigin},
      {"inertial/mass", {{"value", kOne}}},
      {"inertial/inertia", {{"ixx", kOne}, {"ixy", kOne}, {"ixz", kOne}, {"iyy", kOne}, {"iyz", kOne}, {"izz", kOne}}},
      {"geometry/box", {{"size", kThree}}},
      {"geometry/sphere", {{"radius", kOne}}},
      {"geometry/cylinder", kRound},
      {"geometry/capsule", kRound},
      {"geometry/drake:capsule", kRound},
      {"geometry/mesh", {{"scale", kThree}}},
      {"material/color", {{"rgba", Kind::kColor}}},
      {"joint/axis", {{"xyz", kThree}}},
      {"joint/limit", {{"lower", kOne}, {"upper", kOne}, {"effort", kOne}, {"velocity", kOne}}},
      {"joint/dynamics", {{"damping", kOne}, {"friction", kOne}}},
      {"joint/mimic", {{"multiplier", kOne}, {"offset", kOne}}},
      {"joint/safety_controller",
       {{"soft_lower_limit", kOne}, {"soft_upper_limit", kOne}, {"k_position", kOne}, {"k_velocity", kOne}}},
      {"joint/calibration", {{"rising", kOne}, {"falling", kOne}}},
  };
  return kNumbers;
}

/// A decimal number and nothing behind it: no nan, no inf, nothing that overflows, whatever the locale.
std::optional<double> number_of(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of(" \t\r\n"), word.size()));
  if (word.find_first_not_of("+-.0123456789eE") != std::string_view::npos) return std::nullopt;
  if (word.starts_with("+-")) return std::nullopt;
  return to_number<double>(word);
}

/// Spaces stand between the numbers of a vector, as urdfdom has it.
bool is_good(std::string_view text, Kind kind) {
  if (kind == Kind::kNumber) return number_of(text).has_value();
  int count = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::optional<double> number = number_of(word);
    if (!number || (kind == Kind::kColor && !(*number >= 0.0 && *number <= 1.0))) return false;
    ++count;
  }
  return count == (kind == Kind::kColor ? 4 : 3);
}

/// The link, joint or material that an element stands in: what users look for.
std::string owner_of(const std::vector<XmlElement>& elements, std::size_t element) {
  while (elements[element].parent > 0) element = elements[element].parent;
  const std::string* name = elements[element].attribute("name");
  return elements[element].name + (name == nullptr ? "" : " " + quote(*name)) + ": ";
}

}  // namespace

void check_urdf_numbers(const std::vector<XmlElement>& elements, const std::string& place) {
  std::vector<bool> is_read(elements.size());  // what stands in <gazebo> and the like is not
  for (std::size_t i = 1; i < elements.size(); ++i) {
    const XmlElement& e = elements[i];
    is_read[i] = e.parent == 0 ? e.name == "link" || e.name == "joint" || e.name == "material" : is_read[e.parent];
    if (!is_read[i]) continue;
    const auto known = numbers().find(elements[e.parent].name + "/" + e.name);
    if (known == numbers().end()) continue;
    for (const auto& [key, value] : e.attributes) {
      const auto attribute = known->second.find(key);
      if (attribute == known->second.end()) continue;
      const Kind kind = attribute->second;
      const char* const expected = kind == Kind::kNumber   ? "a number"
                                   : kind == Kind::kVector ? "3 numbers with spaces between them"
                                                           : "4 numbers from 0 to 1 with spaces between them";
      require(is_good(value, kind), place + ":" + std::to_string(e.line) + ": " + owner_of(elements, i) + e.name +
                                        ": " + key + " is " + quote(value) + ", expected " + expected);
    }
  }
}

}  // namespace almond
