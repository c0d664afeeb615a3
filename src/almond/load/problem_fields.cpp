#include "almond/load/problem_fields.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/fields.hpp"
#include "almond/load/problem_parts.hpp"

namespace almond {
namespace {

constexpr std::int64_t kMaxDofs = 1 << 28;

void note_unknown_fields(const NpzArchive& archive, LoadReport& report) {
  const std::vector<std::string>& known = known_fields();
  for (const std::string& name : archive.names()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = nearest_name(name, known);
    report.notes.push_back("field " + quote(name) + " ignored" +
                           (nearest.empty() ? "" : " (the nearest known name is " + quote(nearest) + ")"));
  }
}

std::vector<int> read_offsets(const FieldReader& fields, int n) {
  if (!fields.has("subsystem_offsets")) return {};
  const std::string name = "subsystem_offsets";
  std::vector<int> offsets = fields.integers(name, {-1}, 0, n, "starts of the subsystems in v, and the end");
  require(
      !offsets.empty() && offsets.front() == 0 && offsets.back() == n,
      fields.where(name) + ": " +
          (offsets.empty() ? "is empty"
                           : "runs from " + std::to_string(offsets.front()) + " to " + std::to_string(offsets.back())) +
          ", expected 0 to " + std::to_string(n) + ", the length of b");
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    require(offsets[s] < offsets[s + 1], fields.where(name) + "[" + std::to_string(s + 1) +
                                             "] = " + std::to_string(offsets[s + 1]) +
                                             ", expected more than the value before, " + std::to_string(offsets[s]));
  }
  return offsets;
}

void read_trees(const FieldReader& fields, ProblemParts& parts) {
  if (!fields.has("subsystem_tree")) return;
  require(!parts.offsets.empty(), fields.where("subsystem_tree") + ": needs subsystem_offsets beside it");
  const auto subsystems = static_cast<std::int64_t>(parts.offsets.size()) - 1;
  const std::vector<int> bodies = fields.integers("tree_bodies", {-1}, 0, kMaxDofs, "number of bodies of each tree");
  std::int64_t total = 0;
  for (const int count : bodies) total += count;
  parts.tree_of_subsystem =
      fields.integers("subsystem_tree", {subsystems}, -1, static_cast<std::int64_t>(bodies.size()) - 1,
                      "a tree of each subsystem, or -1");
  const std::vector<int> parent =
      fields.integers("tree_parent", {total}, -1, kMaxDofs, "the parent body in its tree, or -1");
  const std::vector<int> dofs = fields.integers("tree_dofs", {total}, 0, kMaxDofs, "number of joint dofs of each body");
  std::int64_t total_dofs = 0;
  for (const int count : dofs) total_dofs += count;
  const std::vector<double> S = fields.doubles("tree_S", {total_dofs, 6}, "one motion subspace column per dof");
  const std::vector<double> M = fields.doubles("tree_M", {total, 6, 6}, "one spatial inertia per body");
  const std::vector<double> diagonal = fields.doubles("tree_diagonal", {total_dofs}, "one value per dof");
  std::size_t body = 0, dof = 0;
  for (const int count : bodies) {
    Tree tree;
    tree.dof_offset.push_back(0);
    for (int b = 0; b < count; ++b, ++body) {
      require(parent[body] < b, fields.where("tree_parent") + "[" + std::to_string(body) +
                                    "] = " + std::to_string(parent[body]) + ", expected -1 to " +
                                    std::to_string(b - 1) + ": parents come before their children");
      tree.parent.push_back(parent[body]);
      tree.dof_offset.push_back(tree.dof_offset.back() + dofs[body]);
      tree.M.push_back(Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(M.data() + 36 * body));
    }
    const int n = tree.dof_offset.back();
    tree.S = Eigen::Map<const Eigen::Matrix<double, 6, -1>>(S.data() + 6 * dof, 6, n);
    tree.diagonal = MapConstVec(diagonal.data() + dof, n);
    dof += static_cast<std::size_t>(n);
    parts.trees.push_back(std::move(tree));
  }
  for (std::size_t s = 0; s < parts.tree_of_subsystem.size(); ++s) {
    const int tree = parts.tree_of_subsystem[s], own = parts.offsets[s + 1] - parts.offsets[s];
    require(tree < 0 || parts.trees[tree].num_dofs() == own,
            fields.where("subsystem_tree") + "[" + std::to_string(s) + "] = " + std::to_string(tree) +
                ": that tree has " + (tree < 0 ? "" : std::to_string(parts.trees[tree].num_dofs())) +
                " dofs, expected " + std::to_string(own));
  }
}

/// J_sides, J_bodies, J_body_blocks (or Jh_..., ...): which subsystem and body each side of a constraint acts on.
void read_sides(const FieldReader& fields, const ProblemParts& parts, PartRows& rows) {
  const std::string sides_name = rows.name + "_sides", bodies_name = rows.name + "_bodies";
  if (!fields.has(sides_name)) return;
  require(!parts.offsets.empty(), fields.where(sides_name) + ": needs subsystem_offsets beside it");
  const std::int64_t count = rows.count(), subsystems = static_cast<std::int64_t>(parts.offsets.size()) - 1;
  const std::vector<int> sides =
      fields.integers(sides_name, {count, 2}, -1, subsystems - 1, "the subsystem of either side, or -1");
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    require(sides[2 * i] >= 0 || sides[2 * i + 1] < 0,
            fields.where(sides_name) + ": row " + std::to_string(i) + " has a second side without a first");
    rows.sides.push_back({sides[2 * i], sides[2 * i + 1]});
  }
  if (!fields.has(bodies_name)) return;
  const std::vector<int> bodies =
      fields.integers(bodies_name, {count, 2}, -1, kMaxDofs, "the body of either side, or -1");
  rows.J_body = fields.doubles(rows.name + "_body_blocks", {count, 2, rows.rows_each, 6}, "a body Jacobian per side");
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    for (std::size_t s = 0; s < 2; ++s) {
      const int body = bodies[2 * i + s], sub = rows.sides[i][s];
      const int tree = sub < 0 || parts.tree_of_subsystem.empty() ? -1 : parts.tree_of_subsystem[sub];
      require(body < (tree < 0 ? 0 : parts.trees[tree].num_bodies()),
              fields.where(bodies_name) + ": row " + std::to_string(i) + " names body " + std::to_string(body) +
                  " of subsystem " + std::to_string(sub) + ", which has " +
                  (tree < 0 ? "no tree" : std::to_string(parts.trees[tree].num_bodies()) + " bodies"));
    }
    rows.bodies.push_back({bodies[2 * i], bodies[2 * i + 1]});
  }
}

/// Rows of one scalar kind: its length is that of `e_name`.
std::vector<double> read_rows(const FieldReader& fields, const std::string& e_name, ProblemParts& parts,
                              PartRows& rows) {
  const auto n = static_cast<std::int64_t>(parts.b.size());
  std::vector<double> e;
  if (fields.has_matrix(rows.name) || fields.has(e_name)) {
    e = fields.doubles(e_name);
    rows.J = fields.matrix(rows.name, static_cast<std::int64_t>(e.size()), n,
                           "a row per value of " + e_name + ", a column per value of b");
  } else {
    rows.J = Csr::empty(0, static_cast<int>(n));
  }
  read_sides(fields, parts, rows);
  return e;
}

/// Start values; absent: none.
std::vector<double> read_start(const FieldReader& fields, const std::string& name, int size,
                               const std::string& meaning) {
  return fields.has(name) ? fields.doubles(name, {size}, meaning) : std::vector<double>{};
}

}  // namespace

const std::vector<std::string>& known_fields() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list = {"name",
                                     "b",
                                     "e",
                                     "mu",
                                     "subsystem_offsets",
                                     "eh",
                                     "es",
                                     "ks",
                                     "bs",
                                     "eq",
                                     "eb",
                                     "limit",
                                     "limit_s",
                                     "v0",
                                     "lambda0",
                                     "subsystem_tree",
                                     "tree_bodies",
                                     "tree_parent",
                                     "tree_dofs",
                                     "tree_S",
                                     "tree_M",
                                     "tree_diagonal"};
    for (const std::string matrix : {"A", "J", "Jh", "Js", "Jq", "Jb"}) {
      for (const std::string suffix : {"", "_data", "_indices", "_indptr", "_shape"}) list.push_back(matrix + suffix);
      if (matrix == "A") continue;
      for (const std::string suffix : {"_sides", "_bodies", "_body_blocks"}) list.push_back(matrix + suffix);
    }
    return list;
  }();
  return names;
}

ContactProblem problem_from_fields(const NpzArchive& archive, LoadReport& report) {
  const FieldReader fields(archive);
  note_unknown_fields(archive, report);
  ProblemParts parts;
  parts.label = archive.label();
  parts.b = fields.doubles("b");
  require(static_cast<std::int64_t>(parts.b.size()) <= kMaxDofs,
          fields.where("b") + ": " + std::to_string(parts.b.size()) + " values are too many");
  const auto n = static_cast<int>(parts.b.size());
  parts.A = fields.matrix("A", n, n, "b has " + std::to_string(n) + " values");
  const std::vector<double> mu = fields.doubles_from("mu", -1, 0.0, false, "a vector");
  const auto m = static_cast<std::int64_t>(mu.size());
  const std::string per_contact = "three rows per contact, mu has " + std::to_string(m);
  const std::vector<double> e = fields.doubles("e", {3 * m}, per_contact);
  parts.contact.J = fields.matrix("J", 3 * m, n, per_contact + "; a column per value of b");
  parts.offsets = read_offsets(fields, n);
  read_trees(fields, parts);
  read_sides(fields, parts, parts.contact);
  const std::vector<double> eh = read_rows(fields, "eh", parts, parts.hard);
  const std::vector<double> es = read_rows(fields, "es", parts, parts.soft);
  const std::vector<double> eq = read_rows(fields, "eq", parts, parts.equality);
  const std::vector<double> eb = read_rows(fields, "eb", parts, parts.bounded);

  ContactProblem problem = assemble_parts(std::move(parts), report);
  for (std::size_t i = 0; i < mu.size(); ++i) {
    problem.contacts[i].mu = mu[i];
    problem.contacts[i].e = Vec3(e[3 * i], e[3 * i + 1], e[3 * i + 2]);
  }
  for (std::size_t i = 0; i < eh.size(); ++i) problem.hard[i].e = eh[i];
  for (std::size_t i = 0; i < eq.size(); ++i) problem.equality[i].e = eq[i];
  const auto per_row = [](const std::vector<double>& values) { return static_cast<std::int64_t>(values.size()); };
  if (!es.empty()) {
    const std::vector<double> k = fields.doubles_from("ks", per_row(es), 0.0, false, "one stiffness per soft row");
    const std::vector<double> b = fields.doubles_from("bs", per_row(es), 0.0, true, "one damping per soft row");
    for (std::size_t i = 0; i < es.size(); ++i) {
      problem.soft[i].e = es[i];
      problem.soft[i].k = k[i];
      problem.soft[i].b = b[i];
    }
    if (fields.has("limit_s")) {
      const std::vector<double> limit =
          fields.doubles_from("limit_s", per_row(es), 0.0, true, "one limit per soft row");
      for (std::size_t i = 0; i < es.size(); ++i) problem.soft[i].limit = limit[i] >= kNoLimit ? kInfinity : limit[i];
    }
  }
  if (!eb.empty()) {
    const std::vector<double> limit =
        fields.doubles_from("limit", per_row(eb), 0.0, false, "one limit per bounded row");
    for (std::size_t i = 0; i < eb.size(); ++i) {
      problem.bounded[i].e = eb[i];
      problem.bounded[i].limit = limit[i];
    }
  }
  problem.v0 = read_start(fields, "v0", n, "like b");
  problem.lambda0 = read_start(fields, "lambda0", problem.num_rows(), "a value per row of all constraints");
  if (fields.has("name")) problem.name = fields.text("name");
  return problem;
}

}  // namespace almond
