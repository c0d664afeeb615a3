#include "almond/load/mesh_import.hpp"

#include <cctype>
#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"

namespace almond {

std::string mesh_format(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

TriangleSoup import_triangles(const std::string& path, const std::string& bytes) {
  const std::string extension = mesh_format(path);
  require(extension == ".stl" || extension == ".obj" || extension == ".dae",
          path + ": the ending is " + quote(extension) + ", expected .stl, .obj or .dae");
  require(!bytes.empty(), path + ": is empty, expected a mesh");
  require(bytes.rfind("version https://git-lfs", 0) != 0,
          path + ": is a Git LFS pointer, expected the mesh itself (git lfs pull fetches it)");
  TriangleSoup soup = extension == ".stl"   ? import_stl(path, bytes)
                      : extension == ".obj" ? import_obj(path, bytes)
                                            : import_dae(path, bytes);
  require(!soup.triangles.empty(), path + ": has no triangles, expected some");
  return soup;
}

}  // namespace almond
