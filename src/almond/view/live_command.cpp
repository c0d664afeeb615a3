#include "almond/view/live_command.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/json_fields.hpp"

namespace almond {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestName = 64;
constexpr double kFarthest = 1e6;  // [m]

Vec3 read_point(const Json& json, const char* field) {
  require(json.contains(field) && json[field].is_array() && json[field].size() == 3,
          std::string("command drag: ") + field + " is missing, expected three numbers");
  Vec3 point;
  for (int k = 0; k < 3; ++k) {
    require(json[field][k].is_number(), std::string("command drag: ") + field + " holds something else than numbers");
    point[k] = json[field][k].get<double>();
  }
  require(point.allFinite() && point.cwiseAbs().maxCoeff() <= kFarthest,
          std::string("command drag: ") + field + " " + json[field].dump() + " is out of range, expected at most " +
              to_text(kFarthest) + " m from the origin");
  return point;
}

/// What is not understood is not passed over: it was meant to do something.
void check_fields(const Json& json, std::initializer_list<std::string_view> known) {
  for (const auto& [field, value] : json.items()) {
    if (field == "type" || field == "viewer") continue;
    require(std::find(known.begin(), known.end(), field) != known.end(),
            "command " + json["type"].get<std::string>() + ": no such field, " + quote(field));
  }
}

}  // namespace

Command parse_command(const std::string& text) {
  const Json json = parse_json<Json>(text, "command");
  require(json.is_object() && json.contains("type") && json["type"].is_string(),
          "command: expected a JSON object with a \"type\"");
  static const std::map<std::string, Command::Kind> kKinds = {
      {"play", Command::Kind::kPlay},       {"pause", Command::Kind::kPause},      {"step", Command::Kind::kStep},
      {"reset", Command::Kind::kReset},     {"set", Command::Kind::kSet},          {"drag", Command::Kind::kDrag},
      {"release", Command::Kind::kRelease}, {"defaults", Command::Kind::kDefaults}};
  const auto found = kKinds.find(json["type"].get<std::string>());
  require(found != kKinds.end(), "command " + quote(json["type"].get<std::string>()) +
                                     ": expected play, pause, step, reset, set, defaults, drag or release");
  Command command;
  command.kind = found->second;
  if (command.kind == Command::Kind::kSet)
    check_fields(json, {"name", "value"});
  else if (command.kind == Command::Kind::kDrag)
    check_fields(json, {"body", "local", "target"});
  else
    check_fields(json, {});
  if (command.kind == Command::Kind::kSet) {
    require(json.contains("name") && json["name"].is_string() && json.contains("value"),
            "command set: expected a \"name\" and a \"value\"");
    command.name = json["name"].get<std::string>();
    if (json["value"].is_number()) {
      command.value = json["value"].get<double>();
      require(std::isfinite(command.value), "command set: the value is not finite");
    } else {
      require(json["value"].is_string(), "command set: expected a number or a name as value");
      command.text = json["value"].get<std::string>();
    }
  }
  if (json.contains("viewer")) {
    require(json["viewer"].is_string() && json["viewer"].get<std::string>().size() <= kLongestName,
            "command: expected a short text as \"viewer\"");
    command.viewer = json["viewer"].get<std::string>();
  }
  if (command.kind == Command::Kind::kDrag) {
    require(json.contains("body") && json["body"].is_number_integer(), "command drag: expected the index of a body");
    const auto body = json["body"].get<std::int64_t>();
    require(body >= 0 && body <= std::numeric_limits<int>::max(), "command drag: no body " + json["body"].dump());
    command.drag.body = static_cast<int>(body);
    command.drag.local = read_point(json, "local");
    command.drag.target = read_point(json, "target");
  }
  return command;
}

}  // namespace almond
