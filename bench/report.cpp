#include "bench/report.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "almond/base/text.hpp"
#include "bench/commit.hpp"

namespace almond::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string format(const char* pattern, double value) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, pattern, value);
  return buffer;
}

/// Three significant digits without an exponent: 0.0123, 1.23, 12.3, 1230.
std::string three_digits(double value) {
  if (value == 0.0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const int decimals = std::clamp(2 - magnitude, 0, 5);
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  return buffer;
}

/// Characters a terminal shows for UTF-8 text (every byte that does not continue a character).
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string pad(const std::string& text, std::size_t width, bool right) {
  const std::size_t own = width_of(text);
  const std::string fill(own < width ? width - own : 0, ' ');
  return right ? fill + text : text + fill;
}

const char* ansi(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "\033[32m";
    case Tone::kBad:
      return "\033[31m";
    case Tone::kQuiet:
      return "\033[2m";
    case Tone::kPlain:
      break;
  }
  return "";
}

std::string paint(const std::string& text, Tone tone, bool colour) {
  if (!colour || tone == Tone::kPlain) return text;
  return ansi(tone) + text + "\033[0m";
}

constexpr std::size_t kTextWidth = 110;  // of captions

/// Lines of at most `width` characters, each with its end.
std::string wrap(const std::string& text, std::size_t width) {
  std::string out, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && width_of(line) + 1 + width_of(word) > width) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + line + "\n";
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "unknown";
}

}  // namespace

Cell text_cell(std::string text, Tone tone) { return {std::move(text), kNaN, tone}; }

Cell count_cell(double value, Tone tone) { return {format("%.0f", value), value, tone}; }

Cell time_cell(double ms) {
  if (!std::isfinite(ms)) return {"-", kNaN, Tone::kBad};
  return {three_digits(ms), ms, Tone::kPlain};
}

Cell residual_cell(double value, Tone tone) {
  if (!std::isfinite(value)) return {"-", kNaN, Tone::kBad};
  return {format("%.1e", value), value, tone};
}

Cell ratio_cell(double value, Tone tone) {
  if (!std::isfinite(value)) return {"-", kNaN, Tone::kQuiet};
  return {three_digits(value) + "x", value, tone};
}

void Report::add_claim(std::string claim, std::string expected, std::string measured, bool holds, std::string criterion,
                       std::string cause) {
  if (holds) cause.clear();
  claims.push_back(
      {std::move(claim), std::move(expected), std::move(measured), holds, std::move(criterion), std::move(cause)});
}

namespace {

template <class Test>
int count_claims(const Report& report, const Test& test) {
  auto sum = static_cast<int>(std::count_if(report.claims.begin(), report.claims.end(), test));
  for (const Report& part : report.parts) sum += count_claims(part, test);
  return sum;
}

}  // namespace

int Report::num_claims() const {
  return count_claims(*this, [](const Claim&) { return true; });
}

int Report::num_held() const {
  return count_claims(*this, [](const Claim& c) { return c.holds && !c.near; });
}

int Report::num_near() const {
  return count_claims(*this, [](const Claim& c) { return c.near; });
}

std::string Report::score() const {
  const int near = num_near();
  const std::string spread =
      near == 0 ? "" : ", " + std::to_string(near) + (near == 1 ? " is" : " are") + " undecided within the spread";
  const std::string held = std::to_string(num_held()), all = std::to_string(num_claims());
  if (!interrupted) return held + " of " + all + " targets hold" + spread;
  const std::size_t full = parts.size() - static_cast<std::size_t>(num_left_out());
  return "interrupted: " +
         (num_claims() == 0 ? "no target was measured"
                            : held + " of the " + all + " targets that were measured hold" + spread) +
         (parts.empty() ? "" : "; parts run in full: " + std::to_string(full) + " of " + std::to_string(parts.size()));
}

int Report::num_left_out() const {
  return static_cast<int>(std::count_if(parts.begin(), parts.end(), [](const Report& part) { return part.left_out; }));
}

std::vector<std::pair<std::string, std::string>> machine_facts() {
  utsname system{};
  uname(&system);
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
  return {{"processor", cpu_name()},
          {"cores", std::to_string(std::thread::hardware_concurrency())},
          {"system", std::string(system.sysname) + " " + system.release},
          {"compiler", "g++ " __VERSION__},
#ifdef NDEBUG
          {"build", "optimised"},
#else
          {"build", "with assertions: times mean nothing"},
#endif
#ifdef __AVX512F__
          {"vector unit", "AVX-512"},
#elif defined(__AVX2__)
          {"vector unit", "AVX2"},
#else
          {"vector unit", "baseline"},
#endif
          {"almond", ALMOND_VERSION},
          {"commit", built_from().empty() ? "not known" : built_from()},
          {"date", date}};
}

namespace {

Json rows_json(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (std::size_t k = 0; k < row.size(); ++k) {
      const Cell& cell = row[k];
      if (std::isfinite(cell.value)) {
        object[table.columns[k]] = cell.value;
      } else if (cell.text == "-") {
        object[table.columns[k]] = nullptr;
      } else {
        object[table.columns[k]] = cell.text;
      }
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

/// What stands in the same lists for a report and its parts.
void add_contents(const Report& report, const std::string& part, Json& out) {
  for (const Claim& c : report.claims) {
    Json claim = {{"claim", c.claim}, {"expected", c.expected}, {"measured", c.measured}, {"holds", c.holds}};
    claim["verdict"] = c.verdict();
    if (!c.criterion.empty()) claim["criterion"] = c.criterion;
    if (!c.cause.empty()) claim["cause"] = c.cause;
    if (!part.empty()) claim["part"] = part;
    out["claims"].push_back(std::move(claim));
  }
  for (const Table& table : report.tables) out["tables"][table.name] = rows_json(table);
  for (const std::string& note : report.notes) out["notes"].push_back(note);
}

}  // namespace

std::string to_json(const Report& report) {
  Json out;
  out["bench"] = report.name;
  if (report.interrupted) out["interrupted"] = true;
  out["facts"] = Json::object();
  for (const auto& [key, value] : report.facts) out["facts"][key] = value;
  out["claims"] = Json::array();
  out["tables"] = Json::object();
  out["notes"] = Json::array();
  add_contents(report, "", out);
  for (const Report& part : report.parts) {
    out["parts"].push_back({{"name", part.name}, {"title", part.title}, {"lead", part.lead}});
    for (const auto& [scene, address] : part.links) out["parts"].back()["replays"][scene] = address;
    add_contents(part, part.name, out);
  }
  return out.dump(1) + "\n";
}

std::string to_text(const Table& table, bool colour) {
  std::vector<std::size_t> width;
  std::vector<bool> right;
  for (std::size_t k = 0; k < table.columns.size(); ++k) {
    std::size_t widest = width_of(table.columns[k]);
    bool numeric = false;
    for (const auto& row : table.rows) {
      widest = std::max(widest, width_of(printable(row[k].text)));
      numeric = numeric || std::isfinite(row[k].value);
    }
    width.push_back(widest);
    right.push_back(numeric);
  }
  std::string out;
  if (!table.title.empty()) out += table.title + "\n";
  if (!table.caption.empty()) out += wrap(table.caption, kTextWidth);
  std::string rule;
  for (std::size_t k = 0; k < table.columns.size(); ++k) {
    out += pad(table.columns[k], width[k], right[k]) + "  ";
    rule += std::string(width[k], '-') + "  ";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      out += paint(pad(printable(row[k].text), width[k], right[k]), row[k].tone, colour) + "  ";
    }
    out += "\n";
  }
  return out;
}

std::string to_text(const std::vector<Claim>& claims, bool colour) {
  std::string out;
  for (const Claim& c : claims) {
    const std::string mark = c.near    ? paint("near  ", Tone::kPlain, colour)
                             : c.holds ? paint("holds ", Tone::kGood, colour)
                                       : paint("MISSED", Tone::kBad, colour);
    out += mark + "  " + c.claim + "\n        expected " + c.expected + "; measured " + c.measured + "\n";
    if (c.near) out += "        undecided: the target lies within the spread\n";
    if (!c.criterion.empty()) out += "        holds if " + c.criterion + "\n";
    if (!c.cause.empty()) out += "        why not: " + c.cause + "\n";
  }
  return out;
}

}  // namespace almond::bench
