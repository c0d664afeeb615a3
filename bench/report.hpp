#pragma once
// What a benchmark says, independent of how it is shown: facts, claims, tables, figures. The same Report becomes text
// on the terminal, JSON, and one self-contained HTML page.

#include <string>
#include <utility>
#include <vector>

#include "almond/base/types.hpp"

namespace almond::bench {

enum class Tone { kPlain, kGood, kBad, kQuiet };

/// A table cell: what is shown, and the number behind it (NaN: the text is the value).
struct Cell {
  std::string text;
  double value = kNaN;
  Tone tone = Tone::kPlain;
};

[[nodiscard]] Cell text_cell(std::string text, Tone tone = Tone::kPlain);
[[nodiscard]] Cell count_cell(double value, Tone tone = Tone::kPlain);
/// Milliseconds with three significant digits; not finite: "-" in red.
[[nodiscard]] Cell time_cell(double ms);
/// A residual such as 3.1e-10.
[[nodiscard]] Cell residual_cell(double value, Tone tone = Tone::kPlain);
/// A ratio such as 12.3x.
[[nodiscard]] Cell ratio_cell(double value, Tone tone = Tone::kPlain);

struct Table {
  std::string name;     // key in the JSON
  std::string title;    // heading
  std::string caption;  // one or two sentences below the heading, may be empty
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
  int keys = 1;  // leading columns that say what a row is about: a page keeps them in view
};

/// A target and what came out. What could not be measured (a peer is not installed, a file is not there) is no claim
/// but a note.
struct Claim {
  std::string claim, expected, measured;
  bool holds = false;
  std::string criterion = {};  // what makes it hold, where that is not plain from `expected`
  std::string cause = {};      // why it does not; only where it does not
  bool near = false;           // the target lies within the spread of what was measured: neither held nor missed

  [[nodiscard]] const char* verdict() const { return near ? "undecided" : holds ? "holds" : "missed"; }
};

struct Figure {
  std::string name;   // anchor and file stem
  std::string title;  // heading; figures with an equal, non-empty group stand in one grid
  std::string group;
  std::string svg;
};

struct Picture {
  std::string caption;
  std::string png;  // bytes
};

struct Report {
  std::string name;                                        // of the benchmark: fclib, nut, ...
  std::string title;                                       // heading of the page
  std::string lead;                                        // opening paragraph of the page
  std::vector<std::pair<std::string, std::string>> facts;  // machine, compiler, budget, ...
  std::vector<Claim> claims;
  std::vector<Table> tables;
  std::vector<Figure> figures;
  std::vector<std::string> legend;  // names of the curves that all grouped figures share; empty: each has its own
  std::string sheet;                // the figures as one SVG, for a PNG; may be empty
  std::vector<std::string> notes;   // what was left out and why
  bool interrupted = false;         // what there was by then
  bool left_out = false;            // a part that could not run at all; a note says why
  std::vector<Picture> pictures;    // of the scene
  std::vector<std::pair<std::string, std::string>> links;  // replays: scene, address
  std::vector<Report> parts;  // experiments of their own: title, lead, pictures, claims, figures, tables, notes

  /// `cause` is kept where the claim does not hold.
  void add_claim(std::string claim, std::string expected, std::string measured, bool holds, std::string criterion = {},
                 std::string cause = {});
  // With those of the parts.
  [[nodiscard]] int num_claims() const;
  [[nodiscard]] int num_held() const;
  [[nodiscard]] int num_near() const;
  /// "27 of 34 targets hold, 2 are undecided within the spread"; of what was interrupted: "interrupted: 2 of the 2
  /// targets that were measured hold; parts run in full: 1 of 10".
  [[nodiscard]] std::string score() const;
  [[nodiscard]] int num_left_out() const;  // parts
};

/// Machine, compiler, build flags and date as facts.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> machine_facts();

/// {"bench","facts":{..},"claims":[{"claim","expected","measured","holds","verdict","criterion","cause"}..],"tables":{name:[{column:value}..]},"notes":[..]};
/// those of parts stand in the same lists, claims with the part's name, and "parts":[{"name","title","lead"}..] lists
/// them.
[[nodiscard]] std::string to_json(const Report& report);

/// Columns aligned, numbers to the right; `colour` marks good and bad cells with ANSI colours.
[[nodiscard]] std::string to_text(const Table& table, bool colour);
[[nodiscard]] std::string to_text(const std::vector<Claim>& claims, bool colour);

}  // namespace almond::bench
