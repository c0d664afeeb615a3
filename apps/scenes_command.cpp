// `almond scenes`: what can be run, and what it can be given.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "almond/base/check.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"
#include "scenes/scene.hpp"

namespace almond::app {
namespace {

using Json = nlohmann::ordered_json;

Json info_json(const scenes::SceneInfo& info) {
  Json parameters = Json::array();
  for (const scenes::Parameter& p : info.parameters)
    parameters.push_back(
        {{"name", p.name}, {"default", p.value}, {"meaning", p.text}, {"expected", scenes::expected_text(p.range)}});
  return {{"name", info.name}, {"summary", info.summary}, {"parameters", std::move(parameters)}};
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

std::string list_text() {
  std::size_t width = 0;
  for (const scenes::SceneInfo& info : scenes::all_scenes()) width = std::max(width, info.name.size());
  std::string text;
  for (const scenes::SceneInfo& info : scenes::all_scenes())
    text += padded(info.name, width) + "  " + info.summary + "\n";
  return text;
}

std::string scene_text(const scenes::SceneInfo& info, const scenes::Scene& scene) {
  char size[128];
  std::snprintf(size, sizeof size, "  %d bodies, %d dofs; %d steps of %.4g ms\n", scene.model.num_bodies(),
                scene.model.num_v, scene.steps, 1e3 * scene.options.dt);
  std::string text = info.name + ": " + info.summary + "\n" + size;
  if (info.parameters.empty()) return text + "  no parameters\n";
  std::size_t name_width = 0, value_width = 0;
  for (const scenes::Parameter& p : info.parameters) {
    name_width = std::max(name_width, p.name.size());
    value_width = std::max(value_width, to_text(p.value).size());
  }
  for (const scenes::Parameter& p : info.parameters) {
    text += "  --set " + padded(p.name + "=" + to_text(p.value), name_width + value_width + 1) + "  " + p.text + ": " +
            scenes::expected_text(p.range) + "\n";
  }
  return text;
}

int run_scenes(const std::string& name, const std::string& json) {
  check_output("--json", json);
  std::string text, document;
  if (name.empty()) {
    Json list = Json::array();
    for (const scenes::SceneInfo& info : scenes::all_scenes()) list.push_back(info_json(info));
    text = list_text();
    document = list.dump(1);
  } else {
    const scenes::SceneInfo& info = scenes::find_scene(name);
    const scenes::Scene scene = scenes::make_scene(name);
    Json object = info_json(info);
    object["steps"] = scene.steps;
    object["dt"] = scene.options.dt;
    object["bodies"] = scene.model.num_bodies();
    object["dofs"] = scene.model.num_v;
    text = scene_text(info, scene);
    document = object.dump(1);
  }
  std::fputs(text.c_str(), json == "-" ? stderr : stdout);
  write_output(json, document + "\n");
  return kDone;
}

}  // namespace

Action add_scenes_command(CLI::App& command) {
  struct Arguments {
    std::string name, json;
  };
  const auto o = std::make_shared<Arguments>();
  command.add_option("NAME", o->name, "show the parameters of this scene");
  command.add_option("--json", o->json, "write the same as JSON (-: standard output)");
  return [o] { return run_scenes(o->name, o->json); };
}

}  // namespace almond::app
