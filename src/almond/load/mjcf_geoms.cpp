// Geoms of an MJCF file, and which of them may touch.

#ifdef ALMOND_HAVE_MUJOCO

#include <mujoco/mujoco.h>

#include <algorithm>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/hull_cache.hpp"
#include "almond/load/mjcf_reader.hpp"
#include "almond/model/sdf_solid.hpp"

namespace almond {
namespace {

/// Shapes of the file's meshes, made once.
struct MeshShapes {
  std::vector<Shape> shapes;
  std::vector<char> made;
  int done = 0, all = 0;  // of those that collide
};

bool collides(const mjModel& m, int g);

int count_meshes(const mjModel& m) {
  std::vector<char> used(static_cast<std::size_t>(m.nmesh), 0);
  for (int g = 0; g < m.ngeom; ++g)
    if (m.geom_type[g] == mjGEOM_MESH && collides(m, g)) used[m.geom_dataid[g]] = 1;
  return static_cast<int>(std::count(used.begin(), used.end(), 1));
}

TriangleSoup make_soup(const mjModel& m, int mesh) {
  TriangleSoup soup;
  const float* vertices = m.mesh_vert + 3 * m.mesh_vertadr[mesh];
  for (int i = 0; i < m.mesh_vertnum[mesh]; ++i)
    soup.vertices.emplace_back(vertices[3 * i], vertices[3 * i + 1], vertices[3 * i + 2]);
  const int* faces = m.mesh_face + 3 * m.mesh_faceadr[mesh];
  for (int i = 0; i < m.mesh_facenum[mesh]; ++i)
    soup.triangles.push_back({faces[3 * i], faces[3 * i + 1], faces[3 * i + 2]});
  return soup;
}

/// From the disk where the same points were seen before.
std::shared_ptr<const Polytope> find_hull(const mjModel& m, int mesh, const TriangleSoup& soup) {
  if (hull_cache_folder().empty()) return make_polytope(soup.vertices);
  const auto* points = reinterpret_cast<const char*>(m.mesh_vert + 3 * m.mesh_vertadr[mesh]);
  const std::string key =
      hull_key("points", std::string(points, 3 * sizeof(float) * static_cast<std::size_t>(m.mesh_vertnum[mesh])), {});
  if (const std::optional<StoredHull> stored = read_stored_hull(key)) return stored->hull;
  StoredHull fresh;
  fresh.hull = make_polytope(soup.vertices);
  write_stored_hull(key, fresh);
  return fresh.hull;
}

const Shape& mesh_shape(MjcfReader& r, int mesh, MeshShapes& meshes) {
  if (meshes.made.empty()) {
    meshes.made.assign(r.m.nmesh, 0);
    meshes.shapes.resize(r.m.nmesh, Sphere{1.0});
    meshes.all = count_meshes(r.m);
  }
  if (meshes.made[mesh] == 0) {
    if (r.options.progress) r.options.progress(meshes.done++, meshes.all);
    TriangleSoup soup = make_soup(r.m, mesh);
    const std::string name = r.name_of(r.m.name_meshadr, mesh, "mesh" + std::to_string(mesh));
    const std::size_t triangles = soup.triangles.size();
    if (r.options.meshes == MeshUse::kTriangles) {
      meshes.shapes[mesh] = make_triangle_mesh(std::move(soup));
    } else {
      try {
        const auto hull = find_hull(r.m, mesh, soup);
        r.notes.said.push_back("mesh " + quote(name) + ": " + std::to_string(triangles) +
                               " triangles as their convex hull of " + std::to_string(hull->vertices.size()) +
                               " vertices");
        meshes.shapes[mesh] = ConvexMesh{hull};
      } catch (const Error& error) {
        throw Error("mesh " + quote(name) + ": " + error.what());
      }
    }
    meshes.made[mesh] = 1;
  }
  return meshes.shapes[mesh];
}

HeightField make_height_field(const mjModel& m, int id) {
  auto grid = std::make_shared<HeightGrid>();
  grid->rows = m.hfield_nrow[id];
  grid->columns = m.hfield_ncol[id];
  grid->half_x = m.hfield_size[4 * id];
  grid->half_y = m.hfield_size[4 * id + 1];
  const float* data = m.hfield_data + m.hfield_adr[id];
  for (int i = 0; i < grid->rows * grid->columns; ++i) grid->height.push_back(m.hfield_size[4 * id + 2] * data[i]);
  return {grid};
}

/// False for what has no shape here.
bool make_shape(MjcfReader& r, int g, MeshShapes& meshes, Shape& shape) {
  const mjModel& m = r.m;
  const mjtNum* size = m.geom_size + 3 * g;
  switch (m.geom_type[g]) {
    case mjGEOM_PLANE:
      shape = Plane{};
      return true;
    case mjGEOM_SPHERE:
      shape = Sphere{size[0]};
      return true;
    case mjGEOM_CAPSULE:
      shape = Capsule{size[0], size[1]};
      return true;
    case mjGEOM_CYLINDER:
      shape = Cylinder{size[0], size[1]};
      return true;
    case mjGEOM_BOX:
      shape = Box{Vec3(size[0], size[1], size[2])};
      return true;
    case mjGEOM_ELLIPSOID:
      shape = Ellipsoid{Vec3(size[0], size[1], size[2])};
      return true;
    case mjGEOM_HFIELD:
      shape = make_height_field(m, m.geom_dataid[g]);
      return true;
    case mjGEOM_MESH:
      if (r.options.meshes == MeshUse::kNone) return false;
      shape = mesh_shape(r, m.geom_dataid[g], meshes);
      return true;
    default:
      return false;
  }
}

bool in_pair(const mjModel& m, int g) {
  for (int i = 0; i < m.npair; ++i)
    if (m.pair_geom1[i] == g || m.pair_geom2[i] == g) return true;
  return false;
}

bool collides(const mjModel& m, int g) { return m.geom_contype[g] != 0 || m.geom_conaffinity[g] != 0 || in_pair(m, g); }

/// MuJoCo lets a pair touch if the type of one meets the affinity of the other; here both must meet. Geoms of the same
/// type and affinity form a class with a bit of its own, and a mask of the classes it touches.
struct Classes {
  std::vector<std::pair<int, int>> kinds;  // contype, conaffinity

  int index(int type, int affinity) {
    const auto found = std::find(kinds.begin(), kinds.end(), std::pair(type, affinity));
    if (found != kinds.end()) return static_cast<int>(found - kinds.begin());
    kinds.emplace_back(type, affinity);
    return static_cast<int>(kinds.size()) - 1;
  }
  [[nodiscard]] std::uint32_t mask(int of) const {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const bool meet = (kinds[of].first & kinds[i].second) != 0 || (kinds[i].first & kinds[of].second) != 0;
      if (meet) bits |= 1U << i;
    }
    return bits;
  }
};

/// A body and the one it hangs on do not touch, unless that one stands still; bodies welded together count as one. The
/// builder does the same where a body has one joint; several joints put massless bodies in between.
void filter_parents(MjcfReader& r) {
  const mjModel& m = r.m;
  for (int b = 1; b < m.nbody; ++b) {
    const int own = m.body_weldid[b];
    if (own == 0) continue;
    const int above = m.body_parentid[own], parent = m.body_weldid[above];
    if (parent == 0) {
      if (above > 0) r.builder.include_by_rule(r.file.bodies[above], r.file.bodies[b]);
      continue;
    }
    if (m.body_jntnum[own] < 2) continue;
    for (int k = 1; k < m.nbody; ++k)
      if (m.body_weldid[k] == parent) r.builder.exclude(r.file.bodies[k], r.file.bodies[b]);
  }
}

/// Colour of a geom: its material's, unless it has its own.
Color color_of(const mjModel& m, int g) {
  const float* own = m.geom_rgba + 4 * g;
  const bool plain = own[0] == 0.5F && own[1] == 0.5F && own[2] == 0.5F && own[3] == 1.0F;  // MuJoCo's default
  const float* rgba = plain && m.geom_matid[g] >= 0 ? m.mat_rgba + 4 * m.geom_matid[g] : own;
  return {rgba[0], rgba[1], rgba[2], rgba[3]};
}

Pose geom_pose(const mjModel& m, int g, const Pose& X_WF) {
  const Vec4 q(m.geom_quat[4 * g], m.geom_quat[4 * g + 1], m.geom_quat[4 * g + 2], m.geom_quat[4 * g + 3]);
  const Pose X = {quaternion_to_matrix(q.normalized()),
                  Vec3(m.geom_pos[3 * g], m.geom_pos[3 * g + 1], m.geom_pos[3 * g + 2])};
  return m.geom_bodyid[g] == 0 ? X_WF * X : X;
}

/// The frame that the file gives a geom; MuJoCo moves that of a mesh to the mesh's middle.
Pose file_pose(const mjModel& m, int g, const Pose& X_WF) {
  const Pose X = geom_pose(m, g, X_WF);
  if (m.geom_type[g] != mjGEOM_MESH) return X;
  const mjtNum *q = m.mesh_quat + 4 * m.geom_dataid[g], *p = m.mesh_pos + 3 * m.geom_dataid[g];
  return X * Pose{quaternion_to_matrix(Vec4(q[0], q[1], q[2], q[3]).normalized()), Vec3(p[0], p[1], p[2])}.inverse();
}

/// What MuJoCo shows by default: groups 0 to 2. Of what stands still only what does not collide, the rest is drawn
/// anyway.
void read_looks(MjcfReader& r, const std::map<int, SdfShape>& sdf) {
  const mjModel& m = r.m;
  constexpr int kShownGroups = 3;
  std::vector<std::shared_ptr<const TriangleSoup>> meshes(static_cast<std::size_t>(m.nmesh));
  MeshShapes unused;
  for (int g = 0; g < m.ngeom; ++g) {
    const Color color = color_of(m, g);
    if (m.geom_group[g] >= kShownGroups || color[3] <= 0.0) continue;
    if (m.geom_bodyid[g] == 0 && (collides(m, g) || m.geom_type[g] == mjGEOM_PLANE)) continue;
    Look look;
    look.name = r.name_of(m.name_geomadr, g, "geom" + std::to_string(g));
    look.body = r.file.bodies[m.geom_bodyid[g]];
    look.X_BG = geom_pose(m, g, r.file.X_WF);
    look.role = Look::Role::kVisual;
    look.color = color;
    if (const auto found = sdf.find(g); found != sdf.end()) {
      look.X_BG = file_pose(m, g, r.file.X_WF);
      look.shape = TriangleMesh{std::make_shared<TriangleSoup>(found->second.solid->surface), nullptr};
    } else if (m.geom_type[g] == mjGEOM_MESH) {
      auto& mesh = meshes[static_cast<std::size_t>(m.geom_dataid[g])];
      if (!mesh) mesh = std::make_shared<TriangleSoup>(make_soup(m, m.geom_dataid[g]));
      look.shape = TriangleMesh{mesh, nullptr};
    } else if (!make_shape(r, g, unused, look.shape)) {
      continue;
    }
    r.options.looks->push_back(std::move(look));
  }
}

}  // namespace

void read_geoms(MjcfReader& r) {
  const mjModel& m = r.m;
  r.file.geoms.assign(m.ngeom, -1);
  const std::map<int, SdfShape> sdf = read_sdf_texts(r);
  if (r.options.looks != nullptr) read_looks(r, sdf);
  if (r.disabled(mjDSBL_CONTACT)) {
    r.notes.said.emplace_back("contacts are switched off in the file");
    return;
  }
  Classes classes;
  for (int g = 0; g < m.ngeom; ++g) static_cast<void>(classes.index(m.geom_contype[g], m.geom_conaffinity[g]));
  require(classes.kinds.size() <= 32, "contype and conaffinity come in " + std::to_string(classes.kinds.size()) +
                                          " combinations, expected at most 32");
  const bool overridden = (m.opt.enableflags & mjENBL_OVERRIDE) != 0;
  MeshShapes meshes;
  int visual = 0;
  for (int g = 0; g < m.ngeom; ++g) {
    if (!collides(m, g)) {
      ++visual;
      continue;
    }
    GeomSpec spec;
    const auto found = sdf.find(g);
    if (found != sdf.end()) {
      spec.shape = found->second;
    } else if (!make_shape(r, g, meshes, spec.shape)) {
      r.ignore(m.geom_type[g] == mjGEOM_MESH ? "mesh geom (not asked for)" : "geom of a signed distance field");
      continue;
    }
    const int body = m.geom_bodyid[g];
    spec.name = r.name_of(m.name_geomadr, g, "geom" + std::to_string(g));
    spec.body = r.file.bodies[body];
    spec.X_BG = found != sdf.end() ? file_pose(m, g, r.file.X_WF) : geom_pose(m, g, r.file.X_WF);
    spec.material.mu = overridden ? m.opt.o_friction[0] : m.geom_friction[3 * g];
    spec.material.smooth = m.geom_condim[g] == 1;  // a pair has the larger condim of the two, and the larger friction
    spec.material.priority = m.geom_priority[g];   // unless one has priority
    const int kind = classes.index(m.geom_contype[g], m.geom_conaffinity[g]);
    spec.group = 1U << kind;
    spec.mask = classes.mask(kind);
    r.file.geoms[g] = r.builder.add_geom(spec);
    r.ignore("torsional or rolling friction of a geom (condim 4, 6)", m.geom_condim[g] > 3);
    r.ignore("margin or gap of a geom (contacts are rigid)", m.geom_margin[g] != 0.0 || m.geom_gap[g] != 0.0);
    r.ignore("solref of a geom that makes it bounce or stick (contacts are rigid)", m.geom_solref[mjNREF * g] < 0.0);
    r.ignore("adhesion of a geom", m.geom_adhesion[g] != 0.0);
    bool belt = false;
    for (int k = 0; k < 6; ++k) belt = belt || m.geom_surfacevel[6 * g + k] != 0.0;
    r.ignore("surface velocity of a geom", belt);
  }
  if (visual > 0) r.notes.said.push_back(std::to_string(visual) + " geoms are visual only");
}

void read_filters(MjcfReader& r) {
  const mjModel& m = r.m;
  if (r.disabled(mjDSBL_FILTERPARENT)) {
    for (int b = 1; b < m.nbody; ++b) r.builder.include_by_rule(r.file.bodies[m.body_parentid[b]], r.file.bodies[b]);
  } else {
    filter_parents(r);
  }
  for (int i = 0; i < m.nexclude; ++i)
    r.builder.exclude(r.file.bodies[m.exclude_signature[i] >> 16], r.file.bodies[m.exclude_signature[i] & 0xffff]);
  for (int i = 0; i < m.npair; ++i) {
    const int a = r.file.geoms[m.pair_geom1[i]], b = r.file.geoms[m.pair_geom2[i]];
    if (a < 0 || b < 0) continue;
    const bool overridden = (m.opt.enableflags & mjENBL_OVERRIDE) != 0;
    const mjtNum* friction = overridden ? m.opt.o_friction : m.pair_friction + 5 * i;
    r.builder.add_pair(a, b, {m.pair_dim[i] == 1 ? 0.0 : friction[0], 0.0});
    r.ignore("torsional or rolling friction of a pair (condim 4, 6)", m.pair_dim[i] > 3);
    r.ignore("second friction coefficient of a pair", m.pair_dim[i] > 1 && friction[1] != friction[0]);
    r.ignore("margin or gap of a pair (contacts are rigid)", m.pair_margin[i] != 0.0 || m.pair_gap[i] != 0.0);
  }
}

}  // namespace almond

#endif
