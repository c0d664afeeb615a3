// Meshes: STL (text and binary), OBJ and DAE. The first byte says which; the rest is the file.

#include "almond/load/mesh_file.hpp"
#include "almond/load/mesh_import.hpp"
#include "fuzz/robots.hpp"

namespace almond::fuzz {
namespace {

constexpr const char* kEndings[] = {"stl", "obj", "dae"};

}  // namespace

void read_input(const std::string& input) {
  if (input.empty()) return;
  const std::string ending = kEndings[static_cast<unsigned char>(input[0]) % 3];
  const std::string path = own_folder() + "/mesh." + ending, bytes = input.substr(1);
  const TriangleSoup raw = import_triangles(path, bytes);
  const int count = static_cast<int>(raw.vertices.size());
  for (const auto& triangle : raw.triangles)
    for (const int v : triangle) check(v >= 0 && v < count, "corners of triangles are vertices");
  // A hull of many points takes its time; what is small goes all the way.
  constexpr std::size_t kMostTriangles = 2000;
  if (raw.triangles.size() > kMostTriangles) return;
  write_file(path, bytes);
  FileNotes notes;
  const TriangleSoup soup = load_mesh(path, Vec3::Ones(), notes);
  for (const Vec3& v : soup.vertices) check(v.allFinite(), "vertices are finite");
  static_cast<void>(make_triangle_mesh(soup));
  const auto hull = load_hull(path, Vec3(1.0, -2.0, 0.5), notes);
  for (const Vec3& v : hull->vertices) check(v.allFinite(), "vertices of a hull are finite");
}

std::vector<std::string> make_seeds() {
  const testing::SampleBox box;
  const auto with = [](int ending, const std::string& bytes) {
    return std::string(1, static_cast<char>(ending)) + bytes;
  };
  return {
      with(0, box.stl_text()),
      with(0, box.stl_binary()),
      with(1, box.obj()),
      with(2, box.dae()),
      with(1,
           "v 0 0 0\nv 1 0 0 1 1 1\nv 1 1 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nvt 0 0\nf -5//1 -4//1 -3//1 -2//1\nf 1/1/1 "
           "2/1/1 5/1/1\n"
           "f 2 3 5\nf 3 4 5\nf 4 1 5\n"),
      with(
          2,
          R"(<COLLADA><library_geometries><geometry id="g"><mesh><source id="s"><float_array id="f" count="12">0 0 0 1 0 0 0 1 0 0 0 1
</float_array><technique_common><accessor source="#f" stride="3" offset="0"/></technique_common></source><vertices id="v">
<input semantic="POSITION" source="#s"/></vertices><polylist><input semantic="VERTEX" source="#v" offset="0"/><vcount>3 4</vcount>
<p>0 1 2 3 2 1 0</p></polylist><tristrips><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2 3</p></tristrips></mesh></geometry>
</library_geometries><library_nodes><node id="n"><instance_geometry url="#g"/></node></library_nodes><library_visual_scenes>
<visual_scene id="w"><node><rotate>0 0 1 90</rotate><scale>1 2 -1</scale><translate>1 2 3</translate><instance_node url="#n"/></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#w"/></scene></COLLADA>)")};
}

}  // namespace almond::fuzz
