#include "almond/load/file_trust.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/installed_robots.hpp"

namespace almond {
namespace {

namespace fs = std::filesystem;

bool begins_with(const fs::path& path, const fs::path& tree) {
  const auto [own, other] = std::mismatch(tree.begin(), tree.end(), path.begin(), path.end());
  return own == tree.end();
}

bool is_marked(const fs::path& folder) {
  std::error_code code;
  for (const char* mark : {"package.xml", "model.config", ".git"})
    if (fs::exists(folder / mark, code)) return true;
  static const std::set<std::string> kInstalled = {"share", "site-packages", "dist-packages"};
  return kInstalled.contains(folder.parent_path().filename().string());
}

/// What the user opened: as named and as it really lies, since an installation may be made of links.
bool is_opened(const fs::path& path, const std::vector<std::string>& search) {
  std::error_code code;
  const fs::path named = fs::absolute(path, code).lexically_normal(), there = real_path(path);
  std::vector<fs::path> opened(search.begin(), search.end());
  for (const char* variable : {"ALMOND_TRUSTED_FOLDERS", "ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"}) {
    const std::vector<fs::path> more = environment_folders(variable);
    opened.insert(opened.end(), more.begin(), more.end());
  }
  if (const std::string robots = find_robot_folder(); !robots.empty()) opened.push_back(tree_of(robots));
  return std::any_of(opened.begin(), opened.end(), [&](const fs::path& folder) {
    fs::path plain = fs::absolute(folder, code).lexically_normal();
    if (!plain.has_filename()) plain = plain.parent_path();
    return begins_with(named, plain) || begins_with(there, real_path(folder));
  });
}

}  // namespace

fs::path real_path(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as of Linux; what goes round in a circle stays where it is
  std::error_code code;
  const fs::path whole = fs::absolute(path, code);
  std::vector<fs::path> open(whole.begin(), whole.end());
  std::reverse(open.begin(), open.end());
  fs::path out;
  for (int links = 0; !open.empty();) {
    const fs::path part = open.back();
    open.pop_back();
    if (part.is_absolute()) {
      out = part;
    } else if (part == "..") {
      out = out.parent_path();
    } else if (!part.empty() && part != ".") {
      const bool link = links < kMostLinks && fs::is_symlink(out / part, code);
      const fs::path target = link ? fs::read_symlink(out / part, code) : fs::path();
      links += link ? 1 : 0;
      if (target.empty()) out /= part;
      const std::vector<fs::path> parts(target.begin(), target.end());
      open.insert(open.end(), parts.rbegin(), parts.rend());
    }
  }
  return out;
}

std::vector<fs::path> environment_folders(const char* variable) {
  const char* value = std::getenv(variable);
  std::vector<fs::path> folders;
  std::string rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    if (end != 0) folders.emplace_back(rest.substr(0, end));
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return folders;
}

fs::path tree_of(const fs::path& folder) {
  const fs::path start = real_path(folder);
  for (fs::path path = start; path.has_relative_path(); path = path.parent_path())
    if (is_marked(path)) return path;
  static const std::set<std::string> kInner = {"urdf",   "urdfs", "xml",    "mjcf",   "sdf",        "robot",
                                               "robots", "model", "models", "scenes", "description"};
  const bool inner = kInner.contains(start.filename().string()) && start.parent_path().has_relative_path();
  return inner ? start.parent_path() : start;
}

bool lies_in(const fs::path& path, const fs::path& tree) { return begins_with(real_path(path), real_path(tree)); }

bool may_read(const fs::path& path, const std::string& folder, const std::vector<std::string>& search,
              const std::vector<std::string>& scene_search) {
  return folder.empty() || lies_in(path, tree_of(folder)) || is_opened(path, search) ||
         std::any_of(scene_search.begin(), scene_search.end(), [&](const auto& inner) { return lies_in(path, inner); });
}

void check_may_read(const fs::path& path, const std::string& name, const std::string& folder,
                    const std::vector<std::string>& search, const std::vector<std::string>& scene_search,
                    const std::string& place) {
  if (may_read(path, folder, search, scene_search)) return;
  std::string tree = tree_of(folder).string();
  for (char& c : tree)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  throw Error(
      (place.empty() ? "" : place + ": ") + quote(name) + " lies outside " + tree +
      ", the folder of the file that names it; expected a file in there, or its folder among the search folders "
      "(--search) or in ALMOND_TRUSTED_FOLDERS");
}

std::string named_file(const std::string& name, const std::string& folder, const std::string& place) {
  const bool as_it_is = fs::path(name).is_absolute() || folder.empty() || folder == ".";
  const fs::path plain = fs::path(name).lexically_normal();
  const std::string full = as_it_is ? plain.string() : (fs::path(folder) / plain).string();
  check_may_read(full, name, folder, {}, {}, place);
  return full;
}

}  // namespace almond
