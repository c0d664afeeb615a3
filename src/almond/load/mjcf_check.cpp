// What MuJoCo is not given to read: files that the model may not name, and sizes that would fill the memory.

#include "almond/base/check.hpp"

#ifdef ALMOND_HAVE_MUJOCO
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/mjcf_files.hpp"
#include "almond/load/mjcf_reader.hpp"
#include "almond/load/xml_scan.hpp"

namespace almond {
namespace {

namespace fs = std::filesystem;

constexpr double kMostCells = 1 << 26, kMostCopies = 1e5;
constexpr double kMostReserved = 1e6, kMostMemory = 4.0 * (1 << 30);  // of what <size> asks for; [bytes]
constexpr std::size_t kMostFiles = 1000, kMostFolders = 32;
constexpr std::uint64_t kMostText = std::uint64_t{512} << 20U;  // of one file [bytes]

// What MuJoCo takes for a model, measured and rounded up [bytes].
constexpr double kPerElement = 6e3, kPerVertex = 2e4, kPerCell = 4.0, kPerAssetByte = 4.0;
constexpr double kPerBuiltinVertex = 1.6e3, kPerPixel = 8.0 * 14;  // of a mesh; of a camera, for each that looks

constexpr double kPerUserValue = 16.0, kPerKeyValue = 24.0;  // of an element; of a keyframe

constexpr double kMostParam = 400, kMostCount = 1e6, kMostPixels = 16384, kMostSteps = 1e5;
constexpr double kMostKeys = 1e5;  // each is compared with all others

using Elements = std::vector<XmlElement>;

/// As MuJoCo compares some names.
std::string lower(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

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

/// How many points a composite or flexcomp has, or how many nodes its cells, whichever is more.
double points_of(const XmlElement& e) {
  double most = 1.0;
  for (const auto& [key, more] : {std::pair{"count", 0.0}, std::pair{"cellcount", 1.0}}) {
    if (const std::string* count = e.attribute(key)) {
      double points = 1.0;
      std::istringstream words(*count);
      for (double n = 0.0; words >> n;) points *= n + more;
      most = std::max(most, points);
    }
  }
  return most;
}

/// The numbers of an attribute, none of them beyond `most`.
std::vector<double> numbers_of(const XmlElement& e, const std::string& key, double most, const std::string& place) {
  std::vector<double> numbers;
  const std::string* text = e.attribute(key);
  std::istringstream words(text != nullptr ? *text : "");
  for (std::string word; words >> word;) {
    numbers.push_back(number(&word));
    require(
        std::abs(numbers.back()) <= most,  // not so for what is no number
        at(e, place) + ": " + key + " has " + quote(word) + ", expected at most " + std::to_string(std::lround(most)));
  }
  return numbers;
}

/// Of a mesh that MuJoCo makes itself: bytes for its vertices.
double check_builtin(const XmlElement& e, const std::string& place) {
  std::vector<double> n = numbers_of(e, "params", kMostParam, place);
  n.resize(std::max<std::size_t>(n.size(), 2));
  const std::string* kind = e.attribute("builtin");
  if (kind == nullptr || *kind == "cone") return kPerBuiltinVertex * n[0];
  return kPerBuiltinVertex * n[0] * (kind->rfind("super", 0) == 0 ? n[0] : n[1]);
}

/// Bytes for what sensors measure and actuators remember.
double check_counts(const XmlElement& e, const std::string& place) {
  double values = 1.0;
  for (const char* key : {"dim", "num", "actdim", "nsample"})
    for (const double n : numbers_of(e, key, kMostCount, place)) values *= std::max(1.0, n);
  if (values > 1.0) values *= e.name == "contact" ? 17.0 : e.name == "tactile" ? 1e5 : 4.0;
  return 8.0 * values;
}

/// What <size> calls elements of this kind, nuser_geom for instance; empty where it calls them nothing.
std::string kind_of(const XmlElement& e, const std::string& parent) {
  static const std::set<std::string> kOwn = {"body", "geom", "site", "tendon"};
  static const std::set<std::string> kActuators = {"general",     "motor",   "position", "velocity",
                                                   "intvelocity", "damper",  "cylinder", "muscle",
                                                   "adhesion",    "dcmotor", "plugin"};
  if (parent == "sensor") return "sensor";
  if (parent == "actuator" || (parent == "default" && kActuators.contains(e.name))) return "actuator";
  if (kOwn.contains(e.name)) return e.name;
  if (e.name == "joint" || e.name == "freejoint") return "jnt";
  if (e.name == "camera") return "cam";
  return e.name == "spatial" || e.name == "fixed" ? "tendon" : "";
}

/// The motion that MuJoCo simulates to find how far actuators reach.
void check_lengthrange(const XmlElement& e, const std::string& place) {
  const std::string *total = e.attribute("inttotal"), *step = e.attribute("timestep");
  const double steps = (total != nullptr ? number(total) : 10.0) / (step != nullptr ? number(step) : 0.01);
  require(steps <= kMostSteps,
          at(e, place) + ": inttotal is " + to_text(steps) + " times the timestep, expected at most 100000");
}

/// Of a height field or a texture that the file does not name but describe.
double check_cells(const XmlElement& e, const std::string& place) {
  const bool field = e.name == "hfield";
  const std::string *rows = e.attribute(field ? "nrow" : "width"), *columns = e.attribute(field ? "ncol" : "height");
  if (rows == nullptr || (field && columns == nullptr)) return 0.0;
  if (columns == nullptr) columns = rows;
  const double cells = number(rows) * number(columns);
  require(!(cells > kMostCells), at(e, place) + " has " + *rows + " x " + *columns + " points, expected at most " +
                                     std::to_string(1 << 26) + " in all");
  return cells;
}

/// How many copies replicate elements make of what stands in each element; `outer`: of the whole text.
std::vector<double> copies_in(const Elements& elements, double outer, const std::string& place) {
  std::vector<double> copies(elements.size(), outer);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const XmlElement& e = elements[i];
    if (e.parent >= 0) copies[i] = copies[e.parent];
    if (e.name == "replicate") copies[i] *= std::max(1.0, number(e.attribute("count")));
    const double made = e.name == "flexcomp" || e.name == "composite" ? points_of(e) : 1.0;
    require(!(copies[i] * made > kMostCopies),
            at(e, place) + " makes " + to_text(copies[i] * made) + " copies, expected at most 100000");
  }
  return copies;
}

/// What a model holds, all copies counted.
struct Content {
  double bytes = 0.0;                      // what MuJoCo will take for it
  double state = 0.0;                      // numbers of a keyframe
  std::map<std::string, double> elements;  // by what <size> calls them

  void add(const Content& other, double times) {
    state += times * other.state;
    for (const auto& [kind, count] : other.elements) elements[kind] += times * count;
  }
  /// One of the two, whichever it is.
  void widen(const Content& other) {
    bytes = std::max(bytes, other.bytes);
    state = std::max(state, other.state);
    for (const auto& [kind, count] : other.elements) elements[kind] = std::max(elements[kind], count);
  }
};

/// A model: a file with those that it includes. One that is attached is a model of its own.
struct Document {
  struct Use {
    std::string name, place;
    double times;
    std::string model, here;  // folders that it may start from: the model's, and that of the file
    bool stripped = false;    // of its own folders
  };
  std::string folder;  // of the model
  bool strips = false;
  Content content;
  std::set<std::string> included;         // files
  std::map<std::string, Content> models;  // those that can be attached, by name
  std::vector<Use> attached, assets;
  std::vector<std::string> actuators, looks;  // places of the actuators, and of the sensors that look through a camera
  double actuator_default = 0.0;              // bytes for the largest that a default asks for

  /// Where MuJoCo runs out of memory, it ends the program, and its exceptions cannot be caught out here, since it comes
  /// with a C++ library of its own.
  void add(double more, const std::string& place) {
    double& bytes = content.bytes;
    bytes += std::max(0.0, more);
    require(!(bytes > kMostMemory), place + ": up to here the model takes about " + to_text(bytes / (1 << 30)) +
                                        " GB, all copies counted, expected at most 4 GB");
  }

  /// Elements of a kind; joints have up to 7 positions and 6 velocities, bodies a pose where they are mocap bodies.
  void count(const std::string& kind, double elements) {
    content.elements[kind] += elements;
    content.state += elements * (kind == "jnt" ? 13.0 : kind == "body" ? 7.0 : kind == "actuator" ? 2.0 : 0.0);
  }
};

/// The model with all that it includes and attaches.
struct Walk {
  const MjcfScope scope;
  MjcfFiles files = {};
  std::size_t read_files = 0;
  std::map<std::string, Content> known = {};  // models that were read, by file
  std::vector<std::string> open = {};         // models that are being read, each named by the one before
  std::vector<Document::Use> assets = {};
  std::set<std::string> folders = {""};         // that names may start from: meshdir and the like
  double pixels = 1.0;                          // of the largest camera so far
  std::map<std::string, double> reserved = {};  // by <size> or by the longest `user`, the most so far

  Content read_model(const std::string& text, const std::string& place, const std::string& folder) {
    Document document;
    document.folder = folder;
    read(text, place, folder, 1.0, document);
    for (Document::Use& use : document.assets) use.stripped = document.strips;
    for (const Document::Use& use : document.attached) {
      const bool named = document.models.contains(use.name);
      Content most;  // the largest that may be meant: a model without a name here has the one inside of its file
      for (const auto& [name, content] : document.models)
        if (!named || name == use.name || name.empty()) most.widen(content);
      document.add(use.times * most.bytes, use.place);
      document.content.add(most, use.times);
    }
    for (const Document::Use& use : document.assets)
      document.add(use.times * kPerAssetByte * file_bytes(use, false), use.place);
    for (const std::string& actuator : document.actuators) document.add(document.actuator_default, actuator);
    document.content.state += document.actuator_default / 8.0 * static_cast<double>(document.actuators.size());
    for (const std::string& look : document.looks) document.add(kPerPixel * pixels, look);
    assets.insert(assets.end(), document.assets.begin(), document.assets.end());
    add_reserved(document, place);
    return document.content;
  }

  /// What every element of a kind has room for, and every keyframe.
  void add_reserved(Document& document, const std::string& place) {
    Content& content = document.content;
    for (const auto& [kind, count] : content.elements)
      document.add(kPerUserValue * reserved["nuser_" + kind] * count, place + ": nuser_" + kind);
    const double keys = std::max(reserved["nkey"], content.elements["key"]);
    require(keys <= kMostKeys, place + ": has " + to_text(keys) + " keyframes, expected at most 100000");
    document.add(kPerKeyValue * keys * content.state, place + ": nkey");
  }

  void read(const std::string& text, const std::string& place, const std::string& here, double times,
            Document& document) {
    const Elements elements = scan_xml(text, place);
    document.strips = document.strips || lower(elements[0].name) == "robot";  // a URDF, which MuJoCo reads as well
    const std::vector<double> copies = copies_in(elements, times, place);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const XmlElement& e = elements[i];
      if (e.name == "size") reserve(e, place);
      count(elements, e, copies[i], document);
      double bytes = kPerElement;
      if (e.name == "flexcomp" || e.name == "composite") bytes += kPerVertex * points_of(e);
      if (e.name == "hfield" || e.name == "texture") bytes += kPerCell * check_cells(e, place);
      if (e.name == "mesh") bytes += check_builtin(e, place);
      bytes += check_values(elements, e, place, document);
      document.add(copies[i] * bytes, at(e, place));
      if (const std::string* model = e.attribute("model"); e.name == "attach" && model != nullptr)
        document.attached.push_back({*model, at(e, place), copies[i], {}, {}});
      if (lower(e.name) == "compiler") note_folders(e, place, document);
      // MuJoCo ends the program.
      require(e.name != "model" || e.attribute("file") != nullptr, at(e, place) + " without a file, expected one");
      for (const auto& [key, value] : e.attributes)
        if (key.rfind("file", 0) == 0 && !value.empty()) note_file(e, value, at(e, place), here, copies[i], document);
    }
  }

  void note_folders(const XmlElement& e, const std::string& place, Document& document) {
    for (const auto& [key, value] : e.attributes) {
      if (key == "strippath") document.strips = document.strips || value != "false";
      if (key != "meshdir" && key != "texturedir" && key != "assetdir") continue;
      check_mujoco_name(value, at(e, place) + ": " + key);
      folders.insert(value);
      require(folders.size() <= kMostFolders, at(e, place) + ": " + key + " is folder " +
                                                  std::to_string(folders.size()) + " of the model, expected at most " +
                                                  std::to_string(kMostFolders));
    }
  }

  /// MuJoCo includes a file, whatever the case of <INCLUDE> is, before it says that there is no such element.
  void note_file(const XmlElement& e, const std::string& name, const std::string& place, const std::string& here,
                 double times, Document& document) {
    const std::string kind = lower(e.name);
    if (kind == "include" || kind == "model")
      follow(e, name, place, here, times, document);
    else
      document.assets.push_back({name, place, times, document.folder, here});
  }

  void reserve(const XmlElement& e, const std::string& place) {
    check_reserved(e, place);
    for (const auto& [key, value] : e.attributes)
      if (key != "memory") reserved[key] = std::max(reserved[key], number(&value));
  }

  void count(const Elements& elements, const XmlElement& e, double copies, Document& document) {
    const std::string parent = e.parent >= 0 ? elements[e.parent].name : "", kind = kind_of(e, parent);
    if (e.name == "key" && parent == "keyframe") document.count("key", copies);
    if (e.name == "flexcomp" || e.name == "composite")  // of each point
      for (const auto& [made, times] : {std::pair{"body", 1.0}, std::pair{"jnt", 3.0}, std::pair{"geom", 1.0}})
        document.count(made, copies * times * points_of(e));
    if (kind.empty()) return;
    document.count(kind, copies);
    double values = 0.0;
    std::istringstream words(e.attribute("user") != nullptr ? *e.attribute("user") : "");
    for (std::string word; words >> word;) ++values;
    double& most = reserved["nuser_" + kind];
    most = std::max(most, values);
  }

  /// Bytes for what the element measures or remembers; those that are known only with the whole model are noted.
  double check_values(const Elements& elements, const XmlElement& e, const std::string& place, Document& document) {
    if (e.name == "lengthrange") check_lengthrange(e, place);
    const std::vector<double> resolution = numbers_of(e, "resolution", kMostPixels, place);
    if (resolution.size() > 1) pixels = std::max(pixels, resolution[0] * resolution[1]);
    const double bytes = check_counts(e, place);
    const std::string parent = e.parent >= 0 ? elements[e.parent].name : "";
    if (parent == "default") document.actuator_default = std::max(document.actuator_default, bytes);
    if (parent == "actuator") {
      document.actuators.push_back(at(e, place));
      document.content.state += bytes / 8.0;
    }
    if (e.name == "rangefinder" && e.attribute("camera") != nullptr) document.looks.push_back(at(e, place));
    return bytes;
  }

  /// A file that the model includes or can attach.
  void follow(const XmlElement& e, const std::string& name, const std::string& place, const std::string& here,
              double times, Document& document) {
    const bool part = lower(e.name) == "model";
    check_mujoco_name(name, place);
    std::vector<std::string> paths;
    for (const std::string& start : std::set<std::string>{document.folder, here})
      paths.push_back(mujoco_path(start, "", name));
    for (const std::string& path : paths)
      require(!part || std::find(open.begin(), open.end(), path) == open.end(),
              place + ": " + quote(name) + " has itself as a part, expected models without circles");
    for (const std::string& path : find_mjcf_files(files, paths, name, scope, place)) {
      const std::string folder_of_it = fs::path(path).parent_path().string(), plain = path_behind(path).string();
      if (part && !known.contains(path)) {
        open.push_back(path);
        known[path] = read_model(read_one(path, place), plain, folder_of_it);
        open.pop_back();
      }
      if (part) {
        const std::string* called = e.attribute("name");
        document.models[called != nullptr ? *called : ""].widen(known[path]);
        document.add(known[path].bytes, place);
      } else if (document.included.insert(path).second) {  // MuJoCo includes none twice
        const std::string& text = read_one(path, place);
        document.add(static_cast<double>(text.size()), place);
        read(text, plain, folder_of_it, times, document);
      }
    }
  }

  /// Kept, so that MuJoCo gets the bytes that were looked through. One file is one text, and one of the many, each
  /// time.
  const std::string& read_one(const std::string& path, const std::string& place) {
    ++read_files;
    require(read_files <= kMostFiles, place + ": " + quote(path_behind(path).string()) + " is file " +
                                          std::to_string(read_files) + " of the model, expected at most 1000");
    std::string& text = files.texts[path];
    if (text.empty()) text = read_known_file(files.assets.at(path).path, kMostText);
    return text;
  }

  /// Of a mesh or a picture, the largest that the name may mean by the folders known so far. With all of them known,
  /// one that may not be read is refused.
  double file_bytes(const Document::Use& use, bool all) {
    std::set<std::string> names;
    if (use.stripped) names.insert(strip_folders(use.name));
    if (!use.stripped) check_mujoco_name(use.name, use.place);
    names.insert(use.name);
    std::vector<std::string> paths;
    for (const std::string& name : names)
      for (const std::string& inner : folders)
        for (const std::string& start : std::set<std::string>{use.model, use.here})
          paths.push_back(mujoco_path(start, inner, name));
    double bytes = 0.0;
    for (const std::string& path : find_mjcf_files(files, paths, use.name, scope, use.place, all))
      bytes = std::max(bytes, static_cast<double>(files.assets.at(path).bytes));
    return bytes;
  }
};

}  // namespace

MjcfFiles check_mjcf(const std::string& text, const std::string& place, const std::string& folder,
                     const FileOptions& options) {
  Walk walk{{folder, options}};
  const std::string start = mujoco_folder(folder, place);
  walk.files = make_mjcf_files(text, start);
  static_cast<void>(walk.read_model(text, place, start));
  for (const Document::Use& use : walk.assets) static_cast<void>(walk.file_bytes(use, true));
  return std::move(walk.files);
}

}  // namespace almond

#endif
