#include "almond/load/mjcf_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_trust.hpp"

namespace almond {
namespace {

namespace fs = std::filesystem;

/// All paths of a model begin with it: MuJoCo asks whoever has this folder, and that are we.
const std::string kRoot = "/almond-model-files";
const char* const kMain = "almond-model.xml";  // the model, whatever its file is called

std::string with_slashes(std::string name) {
  std::replace(name.begin(), name.end(), '\\', '/');
  return name;
}

/// "C:" and "file:", which MuJoCo leaves to others, or to the present folder.
bool has_scheme(const std::string& name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return false;
  const bool word =
      colon > 0 && std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(colon), [](unsigned char c) {
        return std::isalnum(c) != 0 || std::strchr("+-.", c) != nullptr;
      });
  return word || with_slashes(name).find(":/") != std::string::npos;
}

/// MuJoCo unpacks these, and reads models and meshes in them by "a.zip/mesh.stl".
bool is_in_archive(const std::string& name) {
  for (const fs::path& part : fs::path(with_slashes(name))) {
    std::string end = part.extension().string();
    std::transform(end.begin(), end.end(), end.begin(), [](unsigned char c) { return std::tolower(c); });
    if (end == ".zip" || end == ".mjz") return true;
  }
  return false;
}

/// What the system says of a file that may be read.
struct Kind {
  bool there = false, plain = false, folder = false;
  MjcfFiles::Asset asset;
};

Kind look_at(const fs::path& path) {
  Kind kind;
  kind.asset.path = path.string();
  struct stat status {};
  if (::stat(kind.asset.path.c_str(), &status) != 0) return kind;
  kind.there = true;
  kind.plain = S_ISREG(status.st_mode);
  kind.folder = S_ISDIR(status.st_mode);
  kind.asset.bytes = static_cast<std::uint64_t>(status.st_size);
  for (const long part :
       {static_cast<long>(status.st_dev), static_cast<long>(status.st_ino), static_cast<long>(status.st_size),
        static_cast<long>(status.st_mtim.tv_sec), static_cast<long>(status.st_mtim.tv_nsec)})
    kind.asset.stamp += std::to_string(part) + ".";
  return kind;
}

}  // namespace

MjcfFiles make_mjcf_files(const std::string& text, const std::string& start) {
  MjcfFiles files;
  files.main = (start.empty() ? kRoot : start) + "/" + kMain;
  files.texts[files.main] = text;
  files.roots = {files.main.substr(0, files.main.find('/', 1))};
  return files;
}

std::string mujoco_folder(const std::string& folder, const std::string& place) {
  std::error_code code;
  fs::path path = fs::absolute(folder.empty() ? "." : folder, code);
  const bool climbs = std::find(path.begin(), path.end(), "..") != path.end();
  path = climbs ? real_path(path) : path.lexically_normal();  // .. of the user is that of the system
  if (!path.has_filename()) path = path.parent_path();
  require(path.string().find('\\') == std::string::npos,
          place + ": lies in " + quote(path.string()) + ", expected a folder without \\, which MuJoCo takes for /");
  return kRoot + path.string();
}

std::string mujoco_path(const std::string& folder, const std::string& inner, const std::string& name) {
  const fs::path path = fs::path(folder) / with_slashes(inner) / with_slashes(name);
  return ("/" / path.lexically_normal().relative_path()).string();
}

fs::path path_behind(const std::string& mujoco_path) {
  return mujoco_path.rfind(kRoot + "/", 0) == 0 ? mujoco_path.substr(kRoot.size()) : mujoco_path;
}

std::string with_plain_paths(std::string message) {
  for (std::size_t at = 0; (at = message.find(kRoot, at)) != std::string::npos;) message.erase(at, kRoot.size());
  return message;
}

void check_mujoco_name(const std::string& name, const std::string& place) {
  require(!has_scheme(name) && name.rfind('\\', 0) != 0,
          place + ": " + quote(name) + " is no path, expected one with / and without a drive or an address");
  require(!is_in_archive(name), place + ": " + quote(name) + " is an archive, expected plain files");
}

std::string strip_folders(const std::string& name) { return name.substr(with_slashes(name).rfind('/') + 1); }

std::vector<std::string> find_mjcf_files(MjcfFiles& files, const std::vector<std::string>& paths,
                                         const std::string& name, const MjcfScope& scope, const std::string& place,
                                         bool expect_one) {
  std::vector<std::string> found;
  std::string refused, other;
  bool allowed = false;
  for (const std::string& path : paths) {
    const fs::path file = path_behind(path);
    files.roots.insert(path.substr(0, path.find('/', 1)));
    if (!files.assets.contains(path)) {
      try {
        check_may_read(file, name, scope.folder, scope.options.search, scope.options.scene_search, place);
      } catch (const Error& error) {
        refused = files.outside.try_emplace(path, error.what()).first->second;
        continue;
      }
      const Kind kind = look_at(real_path(file));
      allowed = true;
      if (kind.there && !kind.plain) other = kind.folder ? "a folder" : "a device or a pipe";
      if (!kind.plain) continue;
      files.assets[path] = kind.asset;
    }
    found.push_back(path);
  }
  if (!expect_one || !found.empty()) return found;
  require(allowed, refused);
  require(other.empty(), place + ": " + quote(name) + " is " + other + ", expected a file");
  return found;
}

}  // namespace almond
