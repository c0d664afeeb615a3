// What MuJoCo is not given to read: files that the model may not name, and sizes that would fill the memory.

#include "almond/base/check.hpp"

#ifdef ALMOND_HAVE_MUJOCO
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/file_trust.hpp"
#include "almond/load/mjcf_reader.hpp"
#include "almond/load/xml_scan.hpp"

namespace almond {
namespace {

namespace fs = std::filesystem;

constexpr double kMostCells = 1 << 26, kMostCopies = 1e5;
constexpr double kMostReserved = 1e6, kMostMemory = 4.0 * (1 << 30);  // of what <size> asks for; [bytes]
constexpr std::size_t kMostFiles = 1000;

using Elements = std::vector<XmlElement>;

double number(const std::string* text) { return text != nullptr ? std::strtod(text->c_str(), nullptr) : 1.0; }

std::string at(const XmlElement& e, const std::string& place) {
  return place + ":" + std::to_string(e.line) + ": " + e.name;
}

/// "4G" and the like [bytes].
double memory_of(const std::string& text) {
  char* end = nullptr;
  double bytes = std::strtod(text.c_str(), &end);
  const std::string units = "KMGTPE";
  if (const std::size_t unit = units.find(static_cast<char>(std::toupper(*end)));
      *end != 0 && unit != std::string::npos)
    bytes *= std::pow(1024.0, static_cast<double>(unit + 1));
  return bytes;
}

void check_reserved(const XmlElement& e, const std::string& place) {
  for (const auto& [key, value] : e.attributes) {
    if (key == "memory")
      require(!(memory_of(value) > kMostMemory), at(e, place) + ": memory is " + value + ", expected at most 4G");
    else
      require(!(number(&value) > kMostReserved),
              at(e, place) + ": " + key + " is " + value + ", expected at most 1000000");
  }
}

/// Where MuJoCo runs out of memory, it ends the program, and its exceptions cannot be caught out here, since it comes
/// with a C++ library of its own.
void check_sizes(const Elements& elements, const std::string& place) {
  const std::string most = ", expected at most " + std::to_string(1 << 26) + " in all";
  for (const XmlElement& e : elements) {
    const std::string *rows = e.attribute("nrow"), *columns = e.attribute("ncol"), *count = e.attribute("count");
    const std::string *width = e.attribute("width"), *height = e.attribute("height");
    if (e.name == "hfield" && rows != nullptr && columns != nullptr)
      require(!(number(rows) * number(columns) > kMostCells),
              at(e, place) + " has " + *rows + " x " + *columns + " points" + most);
    if (e.name == "texture" && width != nullptr)
      require(!(number(width) * (height != nullptr ? number(height) : number(width)) > kMostCells),
              at(e, place) + " has " + *width + " x " + (height != nullptr ? *height : *width) + " points" + most);
    if (e.name == "size") check_reserved(e, place);
    double copies = 1.0;
    if (e.name == "replicate")
      for (const XmlElement* r = &e; r != nullptr; r = r->parent >= 0 ? &elements[r->parent] : nullptr)
        if (r->name == "replicate") copies *= number(r->attribute("count"));
    if ((e.name == "flexcomp" || e.name == "composite") && count != nullptr) {
      std::istringstream words(*count);
      for (double n = 0.0; words >> n;) copies *= n;
    }
    require(!(copies > kMostCopies), at(e, place) + " makes " + to_text(copies) + " copies, expected at most 100000");
  }
}

/// The model with all that it includes.
struct Walk {
  std::string folder;
  const std::vector<std::string>& search;
  std::set<std::string> seen;                               // files
  std::vector<std::string> open = {};                       // those that are being read, each named by the one before
  std::set<fs::path> folders = {fs::path()};                // that names may start from: meshdir and the like
  std::vector<std::pair<std::string, std::string>> assets;  // name, place
  std::string misread = {};                                 // the first text that is no XML for us

  void read(const std::string& text, const std::string& place, const fs::path& here) {
    Elements elements;
    try {
      elements = scan_xml(text, place);
    } catch (const Error& error) {
      if (misread.empty()) misread = error.what();
      return;
    }
    check_sizes(elements, place);
    for (const XmlElement& e : elements) {
      for (const auto& [key, value] : e.attributes) {
        if (key == "meshdir" || key == "texturedir" || key == "assetdir") folders.insert(value);
        if (key.rfind("file", 0) != 0 || value.empty()) continue;
        if (e.name == "include" || e.name == "model") {
          follow(value, at(e, place), here, e.name == "model");
        } else {
          assets.emplace_back(value, at(e, place));
        }
      }
    }
  }

  void follow(const std::string& name, const std::string& place, const fs::path& here, bool attached) {
    for (const fs::path& start : {fs::path(folder), here}) {
      const fs::path file = (start / name).lexically_normal();
      require(!attached || std::find(open.begin(), open.end(), file.string()) == open.end(),
              place + ": " + quote(name) + " has itself as a part, expected models without circles");
      if (!check(file, name, place) || seen.size() >= kMostFiles || !seen.insert(file.string()).second) continue;
      open.push_back(file.string());
      read(read_file(file.string()), file.string(), file.parent_path());
      open.pop_back();
    }
  }

  /// Whether it is there; throws where it is and may not be read.
  bool check(const fs::path& file, const std::string& name, const std::string& place) const {
    std::error_code code;
    if (!fs::exists(file, code)) return false;
    check_may_read(file, name, folder, search, place);
    return fs::is_regular_file(file, code);
  }
};

}  // namespace

std::string check_mjcf(const std::string& text, const std::string& place, const std::string& folder,
                       const std::vector<std::string>& search) {
  Walk walk{folder, search, {}, {}, {fs::path()}, {}, {}};
  walk.read(text, place, folder);
  for (const auto& [name, where] : walk.assets)
    for (const fs::path& start : walk.folders)
      static_cast<void>(walk.check(fs::path(folder) / start / name, name, where));
  return walk.misread;
}

}  // namespace almond

#endif
