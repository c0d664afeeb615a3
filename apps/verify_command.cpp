// `almond verify`: laws of physics, measured on this machine.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"
#include "bench/report.hpp"
#include "scenes/laws.hpp"

namespace almond::app {
namespace {

using Json = nlohmann::ordered_json;

struct Line {
  std::string law;
  scenes::LawResult result;
};

/// The laws of these names in their own order, each once; all without names.
std::vector<const scenes::Law*> choose_laws(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const scenes::Law& law : scenes::all_laws()) known.push_back(law.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = nearest_name(name, known);
    std::string list;
    for (const std::string& law : known) list += (list.empty() ? "" : ", ") + law;
    throw Error(quote(name) + ": no such law; " + (near.empty() ? "known: " + list : "did you mean " + near + "?"));
  }
  std::vector<const scenes::Law*> chosen;
  for (const scenes::Law& law : scenes::all_laws()) {
    if (names.empty() || std::find(names.begin(), names.end(), law.name) != names.end()) chosen.push_back(&law);
  }
  return chosen;
}

/// A law that cannot be measured does not hold.
std::vector<scenes::LawResult> measure(const scenes::Law& law) {
  try {
    std::vector<scenes::LawResult> results = law.run();
    if (!results.empty()) return results;
    return {{"nothing was measured", kNaN, kNaN, kNaN, ""}};
  } catch (const std::exception& error) {
    return {{error.what(), kNaN, kNaN, kNaN, ""}};
  }
}

bench::Table make_table(const std::vector<Line>& lines) {
  bench::Table table{"laws", "", "", {"law", "what", "measured", "exact", "tolerance", "unit", "ok"}, {}};
  const auto number = [](double value, const char* pattern) {
    char text[40];
    std::snprintf(text, sizeof text, pattern, value);
    return bench::Cell{text, value, bench::Tone::kPlain};
  };
  for (const Line& line : lines) {
    const scenes::LawResult& r = line.result;
    table.rows.push_back(
        {bench::text_cell(line.law), bench::text_cell(r.what), number(r.measured, "%.9g"), number(r.exact, "%.9g"),
         number(r.tolerance, "%.2g"), bench::text_cell(r.unit),
         r.holds() ? bench::text_cell("yes", bench::Tone::kGood) : bench::text_cell("NO", bench::Tone::kBad)});
  }
  return table;
}

std::string make_json(const std::vector<Line>& lines) {
  std::string text = "[";
  for (const Line& line : lines) {
    const scenes::LawResult& r = line.result;
    const Json object = {{"law", line.law},          {"what", r.what}, {"measured", r.measured}, {"exact", r.exact},
                         {"tolerance", r.tolerance}, {"unit", r.unit}, {"holds", r.holds()}};
    text += (text.size() > 1 ? ",\n " : "\n ") + object.dump();
  }
  return text + "\n]\n";
}

int run_verify(const std::vector<std::string>& names, const std::string& json) {
  const std::vector<const scenes::Law*> laws = choose_laws(names);
  check_output("--json", json);
  std::vector<Line> lines;
  std::size_t held = 0;
  {
    Progress progress;
    for (std::size_t i = 0; i < laws.size(); ++i) {
      progress.show("law " + std::to_string(i + 1) + " / " + std::to_string(laws.size()) + ": " + laws[i]->name);
      for (scenes::LawResult& result : measure(*laws[i])) {
        held += result.holds() ? 1 : 0;
        lines.push_back({laws[i]->name, std::move(result)});
      }
    }
  }
  std::FILE* out = json == "-" ? stderr : stdout;
  std::fputs(bench::to_text(make_table(lines), json != "-" && use_colour()).c_str(), out);
  std::fprintf(out, "%zu of %zu hold\n", held, lines.size());
  write_output(json, make_json(lines));
  return held == lines.size() ? kDone : kWorkFailed;
}

}  // namespace

Action add_verify_command(CLI::App& command) {
  struct Arguments {
    std::vector<std::string> laws;
    std::string json;
  };
  const auto o = std::make_shared<Arguments>();
  command.add_option("LAW", o->laws, "laws by name (default: all)");
  command.add_option("--json", o->json, "write the table as JSON (-: standard output)");
  return [o] { return run_verify(o->laws, o->json); };
}

}  // namespace almond::app
