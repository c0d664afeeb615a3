// STL, text and binary. A binary file is 80 bytes of anything, the number of triangles, and 50 bytes for each: a
// normal, which nobody can rely on, three corners and two bytes of whatever.

#include <cctype>
#include <cstring>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/mesh_import.hpp"
#include "almond/load/mesh_words.hpp"

namespace almond {
namespace {

constexpr std::size_t kHeader = 84, kFacet = 50;

TriangleSoup import_binary(const std::string& path, const std::string& bytes, std::uint32_t count) {
  const std::size_t expected = kHeader + kFacet * count;
  require(bytes.size() >= expected, path + ": has " + std::to_string(bytes.size()) + " bytes, expected " +
                                        std::to_string(expected) + " for the " + std::to_string(count) +
                                        " triangles of a binary STL file");
  TriangleSoup soup;
  soup.vertices.reserve(3 * static_cast<std::size_t>(count));
  for (std::uint32_t f = 0; f < count; ++f) {
    float corners[9];
    std::memcpy(corners, bytes.data() + kHeader + kFacet * f + 12, sizeof corners);
    const int first = static_cast<int>(soup.vertices.size());
    for (int k = 0; k < 3; ++k) soup.vertices.emplace_back(corners[3 * k], corners[3 * k + 1], corners[3 * k + 2]);
    soup.triangles.push_back({first, first + 1, first + 2});
  }
  return soup;
}

TriangleSoup import_text(const std::string& path, std::string_view text) {
  TriangleSoup soup;
  int number = 0, corners = 0;
  while (!text.empty()) {
    std::string_view line = next_line(text);
    ++number;
    const auto at = [&] { return path + ":" + std::to_string(number) + ": "; };
    std::string keyword(next_word(line).substr(0, 16));
    for (char& c : keyword) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (keyword == "vertex") {
      Vec3 p;
      for (double& x : p) {
        const std::string_view word = next_word(line);
        const std::optional<double> value = to_number<double>(word);
        if (!value) throw Error(at() + quote(std::string(word)) + ", expected a number after vertex");
        x = *value;
      }
      soup.vertices.push_back(p);
      ++corners;
    } else if (keyword == "endloop" || keyword == "endfacet") {
      if (corners != 0 && corners != 3)
        throw Error(at() + "a facet with " + std::to_string(corners) + " corners, expected 3");
      const int last = static_cast<int>(soup.vertices.size());
      if (corners == 3) soup.triangles.push_back({last - 3, last - 2, last - 1});
      corners = 0;
    }
  }
  require(corners == 0, path + ": ends within a facet, expected endloop");
  return soup;
}

}  // namespace

TriangleSoup import_stl(const std::string& path, const std::string& bytes) {
  std::uint32_t count = 0;
  if (bytes.size() >= kHeader) std::memcpy(&count, bytes.data() + 80, sizeof count);
  // Binary files may start with "solid" as well, so the size decides first.
  if (bytes.size() >= kHeader && bytes.size() == kHeader + kFacet * count) return import_binary(path, bytes, count);
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && bytes.compare(begin, 5, "solid") == 0) {
    TriangleSoup soup = import_text(path, bytes);
    if (!soup.triangles.empty()) return soup;
  }
  require(bytes.size() >= kHeader, path + ": not an STL file, expected \"solid\" or at least 84 bytes");
  return import_binary(path, bytes, count);
}

}  // namespace almond
