#pragma once
// Small robots and meshes as text, for the tests of their readers, and a way to damage them.

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "almond/base/check.hpp"

namespace almond::testing {

/// A box from the origin to (x, y, z): corner k has bit 0 along x, 1 along y, 2 along z; triangles face outwards.
struct SampleBox {
  std::array<double, 3> size{1.0, 2.0, 3.0};
  std::vector<std::array<int, 3>> triangles{{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                                            {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};

  [[nodiscard]] double at(int corner, int axis) const { return (corner >> axis & 1) * size[axis]; }
  [[nodiscard]] std::string corner(int index) const {
    return to_text(at(index, 0)) + " " + to_text(at(index, 1)) + " " + to_text(at(index, 2));
  }

  [[nodiscard]] std::string stl_text() const {
    std::string text = "solid box\n";
    for (const auto& t : triangles) {
      text += "facet normal 0 0 0\nouter loop\n";
      for (const int v : t) text += "vertex " + corner(v) + "\n";
      text += "endloop\nendfacet\n";
    }
    return text + "endsolid box\n";
  }

  [[nodiscard]] std::string stl_binary() const {
    std::string bytes(80, ' ');
    const auto append = [&](const auto& value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
    append(static_cast<std::uint32_t>(triangles.size()));
    for (const auto& t : triangles) {
      for (int i = 0; i < 3; ++i) append(0.0F);
      for (const int v : t)
        for (int axis = 0; axis < 3; ++axis) append(static_cast<float>(at(v, axis)));
      append(std::uint16_t{0});
    }
    return bytes;
  }

  [[nodiscard]] std::string obj() const {
    std::string text = "mtllib nowhere.mtl\no box\n";
    for (int k = 0; k < 8; ++k) text += "v " + corner(k) + "\n";
    for (const auto& t : triangles) {
      text += "f";
      for (const int v : t) text += " " + std::to_string(v + 1);
      text += "\n";
    }
    return text;
  }

  /// In units of `meter`, below a node that moves it by (10, 0, 0).
  [[nodiscard]] std::string dae(double meter = 1.0, const std::string& up = "Z_UP") const {
    std::string points, indices;
    for (int k = 0; k < 8; ++k) points += corner(k) + " ";
    for (const auto& t : triangles)
      for (const int v : t) indices += std::to_string(v) + " ";
    return R"(<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="u" meter=")" +
           to_text(meter) + R"("/><up_axis>)" + up + R"(</up_axis></asset>
  <library_geometries><geometry id="box"><mesh>
    <source id="p"><float_array id="pa" count="24">)" +
           points + R"(</float_array>
      <technique_common><accessor source="#pa" count="8" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="12"><input semantic="VERTEX" source="#v" offset="0"/><p>)" +
           indices + R"(</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s">
    <node id="n"><matrix>1 0 0 10 0 1 0 0 0 0 1 0 0 0 0 1</matrix><instance_geometry url="#box"/></node>
  </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
)";
  }
};

/// Cuts, flips bits, writes odd bytes, copies parts over others, inserts, removes, and changes numbers.
inline std::string damage(const std::string& original, std::mt19937_64& random) {
  std::string bytes = original;
  const auto any = [&](std::size_t limit) { return static_cast<std::size_t>(random() % (limit == 0 ? 1 : limit)); };
  static const char* const kWords[] = {"nan",         "inf", "-1",   "0",    "1e999",   "-0",
                                       "99999999999", "\"",  "<",    ">",    "/>",      "<link name=\"x\"/>",
                                       "<!--",        "]]>", "&#0;", "\xef", "\xff\xfe"};
  for (std::size_t change = 1 + any(4); change > 0 && bytes.size() > 1; --change) {
    const std::size_t at = any(bytes.size()), length = std::min(bytes.size() - at, 1 + any(12));
    switch (any(8)) {
      case 0:
        if (any(4) == 0) bytes.resize(at);
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(at, bytes.substr(any(bytes.size()), 1 + any(200)));
        break;
      case 3:
        bytes[at] = "\x00\x7f\xff\x80"[any(4)];
        break;
      case 4:
        bytes.replace(at, length, bytes.substr(any(bytes.size()), length));
        break;
      case 5:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << any(8));
        break;
      default: {  // a number or a word
        const std::size_t digit = bytes.find_first_of("0123456789", at);
        const std::size_t place = any(3) == 0 || digit == std::string::npos ? at : digit;
        bytes.replace(place, any(2), kWords[any(std::size(kWords))]);
      }
    }
  }
  return bytes;
}

}  // namespace almond::testing
