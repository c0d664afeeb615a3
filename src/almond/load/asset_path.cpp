#include "almond/load/asset_path.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_trust.hpp"

namespace almond {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxParents = 64;
constexpr std::size_t kMaxPackageXml = 1U << 16U;

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

/// Loops of links, missing rights and the like are no file.
bool is_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}

/// The folder and all above it; through links as named and as they really lie.
std::vector<fs::path> with_parents(const std::string& folder) {
  std::vector<fs::path> folders;
  std::error_code code;
  for (fs::path path : {fs::absolute(folder.empty() ? "." : folder, code), fs::weakly_canonical(folder, code)}) {
    path = path.lexically_normal();
    if (!path.has_filename() && path.has_relative_path()) path = path.parent_path();
    for (int i = 0; i < kMaxParents && path.has_relative_path(); ++i, path = path.parent_path())
      if (std::find(folders.begin(), folders.end(), path) == folders.end()) folders.push_back(path);
  }
  return folders;
}

/// The first <name> of the folder's package.xml, or nothing.
std::string package_name(const fs::path& folder) {
  if (!is_file(folder / "package.xml")) return {};
  std::ifstream in(folder / "package.xml", std::ios::binary);
  std::string text(kMaxPackageXml, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  const std::size_t begin = text.find("<name>"), end = text.find("</name>");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  const std::string name = text.substr(begin + 6, end - begin - 6);
  const std::size_t first = name.find_first_not_of(" \t\r\n"), last = name.find_last_not_of(" \t\r\n");
  return first == std::string::npos ? "" : name.substr(first, last - first + 1);
}

bool is_package(const fs::path& folder, const std::string& package) {
  const fs::path path = folder.lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()) == package ||
         package_name(path) == package;
}

/// file:// names come with %20 for spaces.
std::string decode_percent(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string digits = text.substr(i + 1 < text.size() ? i + 1 : text.size(), 2);
    const bool coded = text[i] == '%' && digits.size() == 2 && std::isxdigit(static_cast<unsigned char>(digits[0])) &&
                       std::isxdigit(static_cast<unsigned char>(digits[1]));
    out += coded ? static_cast<char>(std::stoi(digits, nullptr, 16)) : text[i];
    if (coded) i += 2;
  }
  return out;
}

/// Names come from files: line breaks and other control bytes stay out of messages.
std::string shown(const fs::path& path) {
  std::string text = path.string();
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

/// Packages that stand beside the one the robot is in; other folders there are not the robot's.
bool is_robot_package(const fs::path& folder) {
  return is_file(folder / "package.xml") || folder.filename().string().ends_with("_description");
}

struct Search {
  const std::string& name;
  const std::string& folder;
  const std::vector<std::string>& search;
  const std::vector<std::string>& scene_search;
  std::vector<fs::path> tried;    // where the robot file may name files
  std::vector<fs::path> outside;  // where it may not: what is there is not its business
  std::optional<fs::path> found;
  fs::path package = {};  // the one that is looked into

  void look(const fs::path& path) {
    const fs::path normal = path.lexically_normal();
    const auto known = [&](const std::vector<fs::path>& paths) {
      return std::find(paths.begin(), paths.end(), normal) != paths.end();
    };
    if (found || known(tried) || known(outside)) return;
    const bool allowed = may_name(normal);
    (allowed ? tried : outside).push_back(normal);
    if (allowed && is_file(normal)) found = normal;
  }

  void look_in_package(const fs::path& above, const std::string& name_of_package, const fs::path& rest) {
    package = above / name_of_package;
    look(package / rest);
    package = above;
    if (!found && is_package(above, name_of_package)) look(above / rest);
    package.clear();
  }

  [[nodiscard]] bool may_name(const fs::path& path) const {
    return may_read(path, folder, search, scene_search) || in_package(path);
  }

  /// Search folders in their order, the user's first.
  [[nodiscard]] std::vector<std::string> search_folders() const {
    std::vector<std::string> folders = search;
    folders.insert(folders.end(), scene_search.begin(), scene_search.end());
    return folders;
  }

  /// In a package beside the robot's own, or around it.
  [[nodiscard]] bool in_package(const fs::path& path) const {
    if (package.empty()) return false;
    return lies_in(path, package) && (is_robot_package(real_path(package)) || lies_in(folder, package));
  }

  /// A file of nearly that name in one of the folders: meshes written as .stl that are .STL.
  [[nodiscard]] std::string hint() const {
    for (const fs::path& path : tried) {
      std::error_code code;
      std::vector<std::string> names;
      for (fs::directory_iterator it(path.parent_path(), code), end; !code && it != end && names.size() < 10000;
           it.increment(code))
        names.push_back(it->path().filename().string());
      const std::string near = nearest_name(path.filename().string(), names);
      if (!near.empty()) return "; did you mean " + quote(near) + " in " + shown(path.parent_path()) + "?";
    }
    return {};
  }

  /// It is named within the tree and lies elsewhere.
  [[nodiscard]] bool is_link_of_tree(const fs::path& path) const {
    const fs::path tree = tree_of(folder);
    return std::mismatch(tree.begin(), tree.end(), path.begin(), path.end()).first == tree.end();
  }

  void refuse(const fs::path& path) const { check_may_read(path, name, folder, search, scene_search); }

  [[nodiscard]] std::string result(const std::string& expected) const {
    if (found) return found->string();
    // Nowhere within the tree, or there by a link that leads out of it.
    const auto link =
        std::find_if(outside.begin(), outside.end(), [&](const fs::path& path) { return is_link_of_tree(path); });
    if (tried.empty() && !outside.empty()) refuse(outside.front());
    if (link != outside.end()) refuse(*link);
    for (const fs::path& path : tried) {
      std::error_code code;
      const fs::file_status there = fs::status(path, code);
      require(!fs::exists(there), quote(name) + ": " + shown(path) + " is " +
                                      (fs::is_directory(there) ? "a folder" : "a device or a pipe") +
                                      ", expected a file");
    }
    std::string places;
    constexpr std::size_t kMostPlaces = 20;
    for (std::size_t i = 0; i < std::min(tried.size(), kMostPlaces); ++i)
      places += (places.empty() ? "" : ", ") + shown(tried[i]);
    if (tried.size() > kMostPlaces) places += " and " + std::to_string(tried.size() - kMostPlaces) + " places more";
    throw Error(quote(name) + " is not there; looked for " + places + hint() + expected);
  }
};

void check_name(const std::string& name, const std::string& path) {
  require(path.find('\0') == std::string::npos && path.size() < 4096, quote(name) + " is no file name");
}

std::string find_in_packages(Search& search, const std::string& path) {
  const std::string trimmed = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  const std::size_t slash = trimmed.find('/');
  const std::string package = trimmed.substr(0, slash);
  const fs::path rest = slash == std::string::npos ? "" : fs::path(trimmed.substr(slash + 1)).lexically_normal();
  require(!package.empty() && package != "." && package != ".." && !rest.empty() && rest.is_relative(),
          quote(search.name) + ": expected package://NAME/path");
  require(*rest.begin() != "..", quote(search.name) + " leaves its package, expected a path within it");
  for (const std::string& open : search.search_folders()) search.look_in_package(open, package, rest);
  for (const fs::path& above : with_parents(search.folder)) search.look_in_package(above, package, rest);
  for (const fs::path& ros : environment_folders("ROS_PACKAGE_PATH")) search.look_in_package(ros, package, rest);
  for (const fs::path& ament : environment_folders("AMENT_PREFIX_PATH")) search.look(ament / "share" / package / rest);
  return search.result("; expected a search folder that holds " + quote(package));
}

}  // namespace

std::string find_asset(const std::string& name, const std::string& folder, const std::vector<std::string>& search,
                       const std::vector<std::string>& scene_search) {
  require(!name.empty(), "the file name is empty, expected one");
  std::string path = name;
  std::replace(path.begin(), path.end(), '\\', '/');
  check_name(name, path);
  Search places{name, folder, search, scene_search, {}, {}, {}};
  for (const char* scheme : {"package://", "model://"})
    if (starts_with(path, scheme)) return find_in_packages(places, path.substr(std::string(scheme).size()));
  const bool file_scheme = starts_with(path, "file://");
  if (file_scheme) path = decode_percent(path.substr(7));
  check_name(name, path);
  require(path.find("://") == std::string::npos, quote(name) + ": expected package://, model://, file:// or a path");
  if (fs::path(path).is_absolute()) {
    places.look(path);
    return places.result("");
  }
  for (const std::string& open : places.search_folders()) places.look(fs::path(open) / path);
  for (const fs::path& above : with_parents(folder)) places.look(above / path);
  return places.result("; expected a search folder that holds it");
}

}  // namespace almond
