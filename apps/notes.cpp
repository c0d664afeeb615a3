#include "apps/notes.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>

#include "apps/common.hpp"
#include "apps/run_settings.hpp"

namespace almond::app {
namespace {

constexpr std::size_t kShownRemarks = 10;

/// A remark without the names and numbers in it.
std::string kind_of_remark(const std::string& remark) {
  std::string kind;
  bool quoted = false;
  for (const char c : remark) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == ' ')) kind += c;
  }
  return kind;
}

}  // namespace

void print_remarks(const std::vector<std::string>& remarks) {
  std::vector<std::pair<std::string, int>> kinds;  // the first of its kind, how many
  std::map<std::string, std::size_t> index;
  for (const std::string& remark : remarks) {
    const auto [found, is_new] = index.try_emplace(kind_of_remark(remark), kinds.size());
    if (is_new) kinds.emplace_back(remark, 0);
    ++kinds[found->second].second;
  }
  const std::size_t shown = std::min(kinds.size(), kShownRemarks);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [text, count] = kinds[i];
    const std::string more = count > 1 ? " (and " + std::to_string(count - 1) + " more like this, see --json)" : "";
    say("remark: " + terminal_line(text) + more);
  }
  if (shown < kinds.size()) std::fprintf(stderr, "remark: %zu more, see --json\n", kinds.size() - shown);
}

void print_notes(const FileNotes& notes) {
  std::vector<std::string> lines;
  int hulls = 0;
  for (const std::string& note : notes.said) {
    if (note.find("as their convex hull") != std::string::npos) {
      ++hulls;
    } else {
      lines.push_back(note);
    }
  }
  if (hulls > 0) lines.push_back(std::to_string(hulls) + " meshes collide as their convex hulls; see almond inspect");
  if (!notes.ignored.empty()) lines.push_back("without effect: " + ignored_text(notes));
  const std::size_t shown = std::min(lines.size(), kShownRemarks);
  for (std::size_t i = 0; i < shown; ++i) say("note: " + lines[i]);
  if (shown < lines.size()) std::fprintf(stderr, "note: %zu more, see almond inspect\n", lines.size() - shown);
}

}  // namespace almond::app
