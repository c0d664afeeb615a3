// A box comes back from every format with its size, its volume and its faces outwards; what is wrong with a mesh is
// refused or said; hulls are shared, flat ones thickened, and simplified ones stay as near as their note says.

#include <sys/stat.h>

#include <algorithm>
#include <cmath>

#include "almond/load/mesh_file.hpp"
#include "load/load_fixture.hpp"
#include "load/robot_samples.hpp"

namespace almond::testing {
namespace {

class MeshFile : public FolderTest {
 protected:
  std::string put(const std::string& name, const std::string& bytes) {
    write_file(path(name), bytes);
    return path(name);
  }
  std::string error_of(const std::string& file, const Vec3& scale = Vec3::Ones()) {
    FileNotes notes;
    try {
      static_cast<void>(load_mesh(file, scale, notes));
    } catch (const Error& error) {
      EXPECT_TRUE(contains(error.what(), file)) << error.what();
      return error.what();
    }
    return "no error";
  }
};

Vec3 lower(const TriangleSoup& soup) {
  Vec3 low = soup.vertices[0];
  for (const Vec3& p : soup.vertices) low = low.cwiseMin(p);
  return low;
}

Vec3 upper(const TriangleSoup& soup) {
  Vec3 high = soup.vertices[0];
  for (const Vec3& p : soup.vertices) high = high.cwiseMax(p);
  return high;
}

double volume(const TriangleSoup& soup) {
  return solid_properties(make_triangle_mesh(soup), 1.0).mass;  // throws where open or inside out
}

bool says(const FileNotes& notes, const std::string& part) {
  return std::any_of(notes.said.begin(), notes.said.end(), [&](const std::string& s) { return contains(s, part); });
}

TEST_F(MeshFile, ReadsTheSameBoxFromEveryFormat) {
  const SampleBox box;
  for (const auto& [name, bytes] :
       {std::pair("t.stl", box.stl_text()), std::pair("b.STL", box.stl_binary()), std::pair("o.obj", box.obj())}) {
    FileNotes notes;
    const TriangleSoup soup = load_mesh(put(name, bytes), Vec3(1.0, 0.5, 2.0), notes);
    EXPECT_EQ(soup.vertices.size(), 8U) << name;
    EXPECT_EQ(soup.triangles.size(), 12U) << name;
    EXPECT_LT((lower(soup)).norm(), 1e-6) << name;
    EXPECT_LT((upper(soup) - Vec3(1.0, 1.0, 6.0)).norm(), 1e-6) << name;
    EXPECT_NEAR(volume(soup), 6.0, 1e-5) << name;
    EXPECT_EQ(notes.said, std::vector<std::string>{}) << name;
  }
}

TEST_F(MeshFile, AppliesUnitAndNodesOfDaeButNotItsUpAxis) {
  const SampleBox box;
  for (const char* up : {"X_UP", "Y_UP", "Z_UP"}) {
    FileNotes notes;
    const TriangleSoup soup = load_mesh(put("box.dae", box.dae(0.01, up)), Vec3::Ones(), notes);
    EXPECT_LT((lower(soup) - Vec3(0.1, 0.0, 0.0)).norm(), 1e-6) << up;
    EXPECT_LT((upper(soup) - Vec3(0.11, 0.02, 0.03)).norm(), 1e-6) << up;
  }
}

TEST_F(MeshFile, ReadsEveryKindOfDaePrimitive) {
  // The box's corners in other ways: quads, strips of two triangles, fans; with a second index per corner.
  const std::string box = SampleBox().dae();
  const std::size_t begin = box.find("<triangles"), end = box.find("</triangles>") + 12;
  const auto with = [&](const std::string& primitive) {
    return put("box.dae", box.substr(0, begin) + primitive + box.substr(end));
  };
  const std::vector<std::array<int, 4>> quads = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                                 {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
  const std::string inputs =
      R"(<input semantic="NORMAL" source="#none" offset="0"/><input semantic="VERTEX" source="#v" offset="1"/>)";
  std::string all, polygons, strips, fans, counts;
  for (const auto& [a, b, c, d] : quads) {
    const auto list = [](std::initializer_list<int> corners) {
      std::string text;
      for (const int v : corners) text += "0 " + std::to_string(v) + " ";
      return text;
    };
    all += list({a, b, c, d});
    counts += "4 ";
    polygons += "<p>" + list({a, b, c, d}) + "</p>";
    fans += "<p>" + list({a, b, c, d}) + "</p>";
    strips += "<p>" + list({a, b, d, c}) + "</p>";
  }
  for (const std::string& primitive :
       {"<polylist>" + inputs + "<vcount>" + counts + "</vcount><p>" + all + "</p></polylist>",
        "<polygons>" + inputs + polygons + "</polygons>", "<tristrips>" + inputs + strips + "</tristrips>",
        "<trifans>" + inputs + fans + "</trifans>"}) {
    FileNotes notes;
    EXPECT_NEAR(volume(load_mesh(with(primitive), Vec3::Ones(), notes)), 6.0, 1e-9) << primitive;
    EXPECT_EQ(notes.said, std::vector<std::string>{});
  }
}

TEST_F(MeshFile, ShowsDaeNodesAsOftenAsTheyAreNamed) {
  std::string text = SampleBox().dae();
  text.insert(text.find("</visual_scene>"),
              R"(<node><translate>0 0 20</translate><rotate>0 0 1 90</rotate><scale>2 1 -1</scale>
                 <instance_node url="#n"/></node>)");
  FileNotes notes;
  const TriangleSoup soup = load_mesh(put("two.dae", text), Vec3::Ones(), notes);
  EXPECT_EQ(soup.triangles.size(), 24U);
  EXPECT_NEAR(volume(soup), 6.0 + 12.0, 1e-9);  // mirrored, and still outwards
  EXPECT_LT((lower(soup) - Vec3(-2.0, 0.0, 0.0)).norm(), 1e-9);
  EXPECT_LT((upper(soup) - Vec3(11.0, 22.0, 20.0)).norm(), 1e-9);
  text.insert(text.find("<instance_geometry"), "<instance_node url=\"#n\"/>");
  EXPECT_TRUE(contains(error_of(put("loop.dae", text)), "without end"));
}

/// Each node shows the next one twice, and the last one a geometry without triangles many times: 2^25 times in all.
TEST_F(MeshFile, DaeNodesThatDoubleAreRefused) {
  std::string text = "<COLLADA><library_nodes>";
  for (int i = 0; i < 16; ++i) {
    const std::string next = R"(<instance_node url="#n)" + std::to_string(i + 1) + R"("/>)";
    text += R"(<node id="n)" + std::to_string(i) + R"(">)" + next + next + "</node>";
  }
  text += R"(<node id="n16">)";
  for (int i = 0; i < 512; ++i) text += R"(<instance_geometry url="#g"/>)";
  text += R"(</node></library_nodes><library_geometries><geometry id="g"/></library_geometries><library_visual_scenes>
    <visual_scene><node><instance_node url="#n0"/></node></visual_scene></library_visual_scenes></COLLADA>)";
  EXPECT_TRUE(contains(error_of(put("double.dae", text)), "without end, expected 1000000"));
}

TEST_F(MeshFile, ConcavePolygonsKeepTheirShape) {
  // An L of area 3 with a corner that a fan about the first one would cut across.
  FileNotes notes;
  const TriangleSoup soup =
      load_mesh(put("l.obj", "v 0 2 0\nv 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nf 4/1/1 5//1 6/1 \\\n -6 -5 3\n"),
                Vec3::Ones(), notes);
  double area = 0.0;
  for (const auto& t : soup.triangles) {
    const double part =
        0.5 * (soup.vertices[t[1]] - soup.vertices[t[0]]).cross(soup.vertices[t[2]] - soup.vertices[t[0]]).z();
    EXPECT_GT(part, 0.0);
    area += part;
  }
  EXPECT_NEAR(area, 3.0, 1e-12);
  EXPECT_EQ(soup.triangles.size(), 4U);
}

TEST_F(MeshFile, MirroringKeepsFacesOutwards) {
  FileNotes notes;
  EXPECT_NEAR(volume(load_mesh(put("b.stl", SampleBox().stl_text()), Vec3(-1.0, 1.0, 1.0), notes)), 6.0, 1e-5);
  EXPECT_EQ(notes.said, std::vector<std::string>{});
}

TEST_F(MeshFile, TurnsRoundWhatIsInsideOut) {
  SampleBox box;
  for (auto& t : box.triangles) std::swap(t[0], t[1]);
  FileNotes notes;
  EXPECT_NEAR(volume(load_mesh(put("in.stl", box.stl_text()), Vec3::Ones(), notes)), 6.0, 1e-5);
  EXPECT_TRUE(says(notes, "mesh \"in.stl\": was inside out"));
}

TEST_F(MeshFile, SaysWhatIsOdd) {
  SampleBox box;
  box.triangles.pop_back();
  box.triangles.push_back({0, 0, 1});
  FileNotes notes;
  EXPECT_EQ(load_mesh(put("open.stl", box.stl_text()), Vec3::Ones(), notes).triangles.size(), 11U);
  EXPECT_TRUE(says(notes, "1 triangles without area dropped"));
  EXPECT_TRUE(says(notes, "an open surface, 3 edges have one triangle only"));
  box = SampleBox();
  box.triangles.push_back({0, 3, 5});
  box.triangles.push_back({0, 3, 6});
  EXPECT_EQ(load_mesh(put("fin.stl", box.stl_text()), Vec3::Ones(), notes).triangles.size(), 14U);
  EXPECT_TRUE(says(notes, "mesh \"fin.stl\": 3 edges where more than two triangles meet"));
  static_cast<void>(load_mesh(put("mm.stl", SampleBox().stl_text()), Vec3::Constant(100.0), notes));
  EXPECT_TRUE(says(notes, "is 300 m long; are these millimetres?"));
  static_cast<void>(load_mesh(put("um.stl", SampleBox().stl_text()), Vec3::Constant(1e-5), notes));
  EXPECT_TRUE(says(notes, "is only 3e-05 m long"));
}

TEST_F(MeshFile, RefusesWhatIsNoMesh) {
  EXPECT_TRUE(contains(error_of(path("none.stl")), "no such file"));
  std::filesystem::create_directories(path("folder.stl"));
  EXPECT_TRUE(contains(error_of(path("folder.stl")), "is not a file"));
  EXPECT_TRUE(contains(error_of(put("empty.stl", "")), "is empty"));
  EXPECT_TRUE(contains(error_of(put("x.png", "abc")), "expected .stl, .obj or .dae"));
  EXPECT_TRUE(contains(error_of(put("lfs.stl", "version https://git-lfs.github.com/spec/v1\n")), "Git LFS pointer"));
  EXPECT_NE(error_of(put("no.stl", "hello, this is a letter and no mesh at all")), "no error");
  EXPECT_NE(error_of(put("no.dae", "<COLLADA version=\"1.4.1\"></COLLADA>")), "no error");
  EXPECT_NE(error_of(put("no.obj", "v 0 0 0\nv 1 0 0\n")), "no error");
  EXPECT_NE(error_of(put("cut.stl", SampleBox().stl_binary().substr(0, 300))), "no error");
  EXPECT_TRUE(contains(error_of(put("b.obj", SampleBox().obj()), Vec3(1.0, 0.0, 1.0)), "scale is 1 0 1"));
  SampleBox flat;
  flat.triangles = {{0, 0, 1}, {1, 1, 2}};
  EXPECT_TRUE(contains(error_of(put("flat.stl", flat.stl_text())), "have no area"));
  std::string nan = SampleBox().stl_binary();
  const float value = std::nanf("");
  nan.replace(84 + 12, 4, reinterpret_cast<const char*>(&value), 4);
  EXPECT_TRUE(contains(error_of(put("nan.stl", nan)), "is not finite"));
}

TEST_F(MeshFile, HullsAreSharedUntilTheFileChanges) {
  const std::string file = put("box.stl", SampleBox().stl_text());
  FileNotes notes;
  const auto a = load_hull(file, Vec3::Ones(), notes), b = load_hull(path("./box.stl"), Vec3::Ones(), notes);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a->vertices.size(), 8U);
  EXPECT_EQ(a->faces.size(), 6U);
  EXPECT_EQ(notes.said, std::vector<std::string>{"mesh \"box.stl\": 12 triangles as their convex hull of 8 vertices"});
  EXPECT_NE(load_hull(file, Vec3::Constant(2.0), notes), a);
  SampleBox other;
  other.size[0] = 5.25;
  put("box.stl", other.stl_text());
  const auto c = load_hull(file, Vec3::Ones(), notes);
  EXPECT_NEAR(solid_properties(ConvexMesh{c}, 1.0).mass, 5.25 * 6.0, 1e-4);
}

TEST_F(MeshFile, FlatMeshesAreThickened) {
  SampleBox plate;
  plate.size[2] = 0.0;
  FileNotes notes;
  const auto hull = load_hull(put("plate.stl", plate.stl_text()), Vec3::Ones(), notes);
  EXPECT_TRUE(says(notes, "mesh \"plate.stl\": is flat; its hull is given a thickness of 0.001 m"));
  EXPECT_NEAR(solid_properties(ConvexMesh{hull}, 1.0).mass, 2.0 * 1e-3, 1e-8);
  SampleBox needle = plate;
  needle.size[1] = 0.0;
  EXPECT_NEAR(
      solid_properties(ConvexMesh{load_hull(put("needle.stl", needle.stl_text()), Vec3::Ones(), notes)}, 1.0).mass,
      1e-6, 1e-8);
  // Small ones by a hundredth of their length.
  static_cast<void>(load_hull(put("chip.stl", plate.stl_text()), Vec3::Constant(0.001), notes));
  EXPECT_TRUE(says(notes, "mesh \"chip.stl\": is flat; its hull is given a thickness of 2e-05 m"));
  SampleBox point;
  point.size = {0.0, 0.0, 0.0};
  EXPECT_THROW(static_cast<void>(load_hull(put("point.stl", point.stl_text()), Vec3::Ones(), notes)), Error);
}

TEST_F(MeshFile, LargeHullsAreSimplifiedByAsMuchAsTheySay) {
  // A sphere of radius 0.1 m with 40 x 80 points, as an OBJ of quads.
  std::string text;
  const int rows = 40, columns = 80;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      const double a = M_PI * (i + 0.5) / rows, b = 2.0 * M_PI * j / columns;
      text += "v " + std::to_string(0.1 * std::sin(a) * std::cos(b)) + " " +
              std::to_string(0.1 * std::sin(a) * std::sin(b)) + " " + std::to_string(0.1 * std::cos(a)) + "\n";
    }
  for (int i = 0; i + 1 < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      const int k = i * columns + 1, next = (j + 1) % columns;
      text += "f " + std::to_string(k + j) + " " + std::to_string(k + columns + j) + " " +
              std::to_string(k + columns + next) + " " + std::to_string(k + next) + "\n";
    }
  FileNotes notes;
  const std::string file = put("ball.obj", text);
  const auto hull = load_hull(file, Vec3::Ones(), notes);
  EXPECT_EQ(hull->vertices.size(), static_cast<std::size_t>(kMaxHullVertices));
  ASSERT_EQ(notes.said.size(), 1U);
  double stated = 0.0;
  ASSERT_EQ(std::sscanf(notes.said[0].c_str() + notes.said[0].find("at most"), "at most %lf mm", &stated), 1);
  EXPECT_GT(stated, 0.01);
  EXPECT_LT(stated, 2.0);
  // Along random directions no point of the mesh is farther out than that.
  const TriangleSoup soup = load_mesh(file, Vec3::Ones(), notes);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  double farthest = 0.0;
  for (int k = 0; k < 2000; ++k) {
    const Vec3 n = Vec3(normal(random), normal(random), normal(random)).normalized();
    const auto reach = [&](const std::vector<Vec3>& points) {
      double most = -kInfinity;
      for (const Vec3& p : points) most = std::max(most, n.dot(p));
      return most;
    };
    const double short_by = reach(soup.vertices) - reach(hull->vertices);
    EXPECT_GE(short_by, -1e-12);
    farthest = std::max(farthest, short_by);
  }
  EXPECT_LE(farthest * 1e3, stated * (1.0 + 1e-5));
  EXPECT_GT(farthest * 1e3, 0.5 * stated);
}

TEST_F(MeshFile, DamagedFilesLoadOrThrow) {
  const SampleBox box;
  std::mt19937_64 random(5);
  for (const auto& [name, bytes] : {std::pair("t.stl", box.stl_text()), std::pair("b.stl", box.stl_binary()),
                                    std::pair("o.obj", box.obj()), std::pair("d.dae", box.dae())}) {
    int loaded = 0;
    for (int i = 0; i < 300; ++i) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(i));
      const std::string file = put(name, damage(bytes, random));
      FileNotes notes;
      try {
        const TriangleSoup soup = load_mesh(file, Vec3::Ones(), notes);
        EXPECT_FALSE(soup.triangles.empty());
        static_cast<void>(make_triangle_mesh(soup));
        static_cast<void>(load_hull(file, Vec3::Ones(), notes));
        ++loaded;
      } catch (const Error& error) {
        EXPECT_TRUE(contains(error.what(), name)) << error.what();
      }
    }
    EXPECT_GT(loaded, 10) << name;
    EXPECT_LT(loaded, 290) << name;
  }
}

}  // namespace
}  // namespace almond::testing
