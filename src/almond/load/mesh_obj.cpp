// OBJ: vertices and faces; materials, normals and groups have no meaning here.

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/mesh_import.hpp"
#include "almond/load/mesh_words.hpp"

namespace almond {
namespace {

struct Face {
  int line;
  std::vector<int> corners;
};

}  // namespace

TriangleSoup import_obj(const std::string& path, const std::string& text) {
  TriangleSoup soup;
  std::vector<Face> faces;
  std::string_view rest = text;
  int number = 0;
  const auto at = [&](int line) { return path + ":" + std::to_string(line) + ": "; };
  while (!rest.empty()) {
    std::string joined;
    std::string_view line = next_line(rest);
    ++number;
    const int first = number;
    const auto continues = [](std::string_view l) {
      while (!l.empty() && (l.back() == '\r' || l.back() == ' ')) l.remove_suffix(1);
      return !l.empty() && l.back() == '\\';
    };
    while (continues(line) && !rest.empty()) {
      if (joined.empty()) joined = line;
      joined.resize(joined.rfind('\\'));
      joined += ' ';
      joined += next_line(rest);
      ++number;
      line = joined;
    }
    const std::string_view keyword = next_word(line);
    if (keyword == "v") {
      Vec3 p;
      for (double& x : p) {
        const std::string_view word = next_word(line);
        const std::optional<double> value = to_number<double>(word);
        if (!value) throw Error(at(first) + quote(std::string(word)) + ", expected a number after v");
        x = *value;
      }
      soup.vertices.push_back(p);
    } else if (keyword == "f") {
      Face& face = faces.emplace_back(Face{first, {}});
      for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
        const std::optional<int> index = to_number<int>(word.substr(0, word.find('/')));
        if (!index) throw Error(at(first) + quote(std::string(word)) + ", expected a vertex number after f");
        // Counted from 1, or backwards from the last one.
        face.corners.push_back(*index > 0 ? *index - 1 : static_cast<int>(soup.vertices.size()) + *index);
        if (*index == 0) face.corners.back() = -1;
      }
    }
  }
  for (const Face& face : faces) {
    for (const int v : face.corners)
      if (v < 0 || v >= static_cast<int>(soup.vertices.size()))
        throw Error(at(face.line) + "a face names vertex " + std::to_string(v + 1) + " of " +
                    std::to_string(soup.vertices.size()));
    if (face.corners.size() >= 3) add_polygon(face.corners, soup);
  }
  return soup;
}

}  // namespace almond
