#include "almond/load/problem_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "almond/base/check.hpp"

namespace almond {
namespace {

// Dense blocks are refused above this total number of entries (4 GiB), before they are allocated.
constexpr std::int64_t kMaxEntries = std::int64_t{1} << 29;

/// Subsystem of every dof.
std::vector<int> block_of_dof(const std::vector<int>& offsets) {
  std::vector<int> block(static_cast<std::size_t>(offsets.back()));
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    std::fill(block.begin() + offsets[s], block.begin() + offsets[s + 1], static_cast<int>(s));
  }
  return block;
}

/// The finest partition into consecutive blocks that has all nonzeros of A inside.
std::vector<int> find_blocks(const Csr& A) {
  std::vector<int> reach(static_cast<std::size_t>(A.rows));  // last index coupled to i, as row or as column
  for (int i = 0; i < A.rows; ++i) reach[i] = i;
  for (int i = 0; i < A.rows; ++i) {
    for (int k = A.start[i]; k < A.start[i + 1]; ++k) {
      if (A.value[k] == 0.0) continue;
      const int first = std::min(i, A.column[k]);
      reach[first] = std::max(reach[first], std::max(i, A.column[k]));
    }
  }
  std::vector<int> offsets = {0};
  int last = 0;
  for (int i = 0; i < A.rows; ++i) {
    last = std::max(last, reach[i]);
    if (last == i) offsets.push_back(i + 1);
  }
  return offsets;
}

void check_offsets(const ProblemParts& parts) {
  const std::vector<int> block = block_of_dof(parts.offsets);
  const Csr& A = parts.A;
  for (int i = 0; i < A.rows; ++i) {
    for (int k = A.start[i]; k < A.start[i + 1]; ++k) {
      if (A.value[k] == 0.0 || block[i] == block[A.column[k]]) continue;
      throw Error(parts.label + ": field \"A\": entry (" + std::to_string(i) + ", " + std::to_string(A.column[k]) +
                  ") = " + to_text(A.value[k]) + " couples subsystems " + std::to_string(block[i]) + " and " +
                  std::to_string(block[A.column[k]]) + ", expected 0");
    }
  }
}

std::array<const PartRows*, 5> all_rows(const ProblemParts& parts) {
  return {&parts.contact, &parts.hard, &parts.soft, &parts.equality, &parts.bounded};
}

/// Sorted blocks that constraint i touches.
void find_touched(const PartRows& rows, int i, const std::vector<int>& block, std::vector<int>& touched) {
  touched.clear();
  const int begin = rows.J.start[i * rows.rows_each], end = rows.J.start[(i + 1) * rows.rows_each];
  for (int k = begin; k < end; ++k) {
    if (rows.J.value[k] != 0.0) touched.push_back(block[rows.J.column[k]]);
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
}

bool at_most_two(const ProblemParts& parts, const std::vector<int>& offsets) {
  const std::vector<int> block = block_of_dof(offsets);
  std::vector<int> touched;
  for (const PartRows* rows : all_rows(parts)) {
    for (int i = 0; i < rows->count(); ++i) {
      find_touched(*rows, i, block, touched);
      if (touched.size() > 2) return false;
    }
  }
  return true;
}

/// Every `size` dofs one block, or empty if that would cut one of the given blocks.
std::vector<int> uniform_blocks(const std::vector<int>& fine, int size) {
  if (fine.back() % size != 0) return {};
  std::vector<int> offsets;
  for (const int offset : fine) {
    if (offset % size == 0) offsets.push_back(offset);
  }
  return static_cast<int>(offsets.size()) == fine.back() / size + 1 ? offsets : std::vector<int>{};
}

/// Consecutive blocks that have been joined, as a union-find whose roots are the first blocks.
class BlockJoin {
 public:
  explicit BlockJoin(const std::vector<int>& offsets) : offsets_(offsets), first_(offsets.size() - 1) {
    for (std::size_t s = 0; s < first_.size(); ++s) first_[s] = static_cast<int>(s);
  }

  int find(int block) {
    while (first_[block] != block) block = first_[block] = first_[first_[block]];
    return block;
  }

  void join_range(int first, int last) {
    const int root = find(first);
    for (int s = last; s > root; --s) first_[s] = root;
  }

  [[nodiscard]] int dofs_between(int first, int last) {
    int end = last;
    while (end + 1 < static_cast<int>(first_.size()) && find(end + 1) == find(last)) ++end;
    return offsets_[end + 1] - offsets_[find(first)];
  }

  std::vector<int> offsets() {
    std::vector<int> merged;
    for (int s = 0; s < static_cast<int>(first_.size()); ++s) {
      if (find(s) == s) merged.push_back(offsets_[s]);
    }
    merged.push_back(offsets_.back());
    return merged;
  }

 private:
  const std::vector<int>& offsets_;
  std::vector<int> first_;
};

/// Joins, constraint by constraint, the neighbours that cost the fewest dofs until each touches at most two.
std::vector<int> merge_blocks(const ProblemParts& parts, const std::vector<int>& offsets) {
  const std::vector<int> block = block_of_dof(offsets);
  BlockJoin join(offsets);
  std::vector<int> touched;
  for (const PartRows* rows : all_rows(parts)) {
    for (int i = 0; i < rows->count(); ++i) {
      find_touched(*rows, i, block, touched);
      for (int& t : touched) t = join.find(t);
      touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
      while (touched.size() > 2) {
        std::size_t best = 0;
        for (std::size_t t = 1; t + 1 < touched.size(); ++t) {
          if (join.dofs_between(touched[t], touched[t + 1]) < join.dofs_between(touched[best], touched[best + 1]))
            best = t;
        }
        join.join_range(touched[best], touched[best + 1]);
        touched.erase(touched.begin() + static_cast<std::ptrdiff_t>(best) + 1);
      }
    }
  }
  return join.offsets();
}

std::vector<int> choose_offsets(const ProblemParts& parts, LoadReport& report) {
  std::vector<int> offsets = parts.offsets;
  const bool given = !offsets.empty();
  if (given) {
    check_offsets(parts);
  } else {
    offsets = find_blocks(parts.A);
  }
  if (at_most_two(parts, offsets)) return offsets;
  if (!given) {
    for (const int size : {6, 3}) {
      std::vector<int> uniform = uniform_blocks(offsets, size);
      if (!uniform.empty() && at_most_two(parts, uniform)) return uniform;
    }
  }
  std::vector<int> merged = merge_blocks(parts, offsets);
  report.notes.push_back("subsystems merged because rows of J touch more than two of them: " +
                         std::to_string(offsets.size() - 1) + " became " + std::to_string(merged.size() - 1));
  return merged;
}

/// Dense symmetric blocks of A. Repeated entries add up; -0.0 + x = x bit for bit, so that is where they start.
void fill_A(const ProblemParts& parts, const std::vector<int>& block, ContactProblem& problem) {
  const Csr& A = parts.A;
  for (const bool adding : {false, true}) {
    for (int i = 0; i < A.rows; ++i) {
      const Subsystem& sub = problem.subsystems[block[i]];
      for (int k = A.start[i]; k < A.start[i + 1]; ++k) {
        const int column = A.column[k] - sub.offset;
        if (column < 0 || column >= sub.dofs) continue;  // a stored zero, see check_offsets() and find_blocks()
        double& entry = problem.A_pool[static_cast<std::size_t>(sub.A_start) +
                                       static_cast<std::size_t>(column) * static_cast<std::size_t>(sub.dofs) +
                                       static_cast<std::size_t>(i - sub.offset)];
        entry = adding ? entry + A.value[k] : -0.0;
      }
    }
  }
}

void symmetrise_A(const ProblemParts& parts, ContactProblem& problem, LoadReport& report) {
  double worst = 0.0;
  for (const Subsystem& sub : problem.subsystems) {
    MapMat A(problem.A_pool.data() + sub.A_start, sub.dofs, sub.dofs);
    const double scale = A.cwiseAbs().maxCoeff();
    const double difference = (A - A.transpose()).cwiseAbs().maxCoeff();
    if (difference <= 1e-12 * scale) continue;
    require(difference <= parts.asymmetry_allowed * scale,
            parts.label + ": field \"A\" is not symmetric at dofs " + std::to_string(sub.offset) + " to " +
                std::to_string(sub.offset + sub.dofs - 1) + " (largest difference " + to_text(difference) +
                "), expected A = A^T");
    worst = std::max(worst, difference / scale);
    A = (0.5 * (A + A.transpose())).eval();
  }
  if (worst > 0.0) {
    report.notes.push_back("A symmetrised: its transpose differed by up to " + to_text(worst) +
                           " of the largest entry");
  }
}

void add_subsystems(ProblemParts& parts, const std::vector<int>& offsets, ContactProblem& problem, LoadReport& report) {
  std::int64_t entries = 0;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::int64_t dofs = offsets[s + 1] - offsets[s];
    Subsystem sub;
    sub.dofs = static_cast<int>(dofs);
    sub.offset = offsets[s];
    sub.A_start = static_cast<int>(entries);
    entries += dofs * dofs;
    require(entries <= kMaxEntries, parts.label + ": the dense blocks of A would take more than " +
                                        std::to_string(kMaxEntries) + " entries (subsystem " + std::to_string(s) +
                                        " has " + std::to_string(dofs) + " dofs)");
    problem.subsystems.push_back(sub);
  }
  problem.b = std::move(parts.b);
  problem.A_pool.assign(static_cast<std::size_t>(entries), 0.0);
  fill_A(parts, block_of_dof(offsets), problem);
  symmetrise_A(parts, problem, report);

  if (parts.tree_of_subsystem.empty()) return;
  if (offsets == parts.offsets) {
    for (std::size_t s = 0; s < problem.subsystems.size(); ++s) problem.subsystems[s].tree = parts.tree_of_subsystem[s];
    problem.trees = std::move(parts.trees);
  } else {
    report.notes.push_back("trees dropped: their subsystems had to be merged");
  }
}

/// Fills the sides of one kind of constraint into the J pool.
class SideWriter {
 public:
  SideWriter(const ProblemParts& parts, const std::vector<int>& offsets, ContactProblem& problem)
      : parts_(parts), problem_(problem), block_(block_of_dof(offsets)), seen_(block_.size(), -1) {
    // A merged problem knows its subsystems by other numbers than the file.
    if (!parts.offsets.empty()) {
      for (std::size_t s = 0; s + 1 < parts.offsets.size(); ++s) group_.push_back(block_[parts.offsets[s]]);
      file_block_ = block_of_dof(parts.offsets);
    }
  }

  template <class Constraint>
  void write(const PartRows& rows, int i, Constraint& constraint) {
    // Side s takes the entries of file subsystem wanted[s] (given), or of block wanted[s] (found).
    std::array<int, 2> wanted = {-1, -1};
    const bool given = !rows.sides.empty();
    if (given) {
      wanted = rows.sides[i];
    } else {
      find_touched(rows, i, block_, touched_);
      for (std::size_t s = 0; s < touched_.size(); ++s) wanted[s] = touched_[s];
    }
    for (int s = 0; s < 2 && wanted[s] >= 0; ++s) {
      constraint.sides[s] = allocate(rows, given ? group_[wanted[s]] : wanted[s], wanted[s]);
      constraint.num_sides = s + 1;
    }
    if (constraint.num_sides == 0 && !problem_.subsystems.empty()) {
      // A constraint that acts on nothing keeps its place, with a block of zeros.
      constraint.sides[0] = allocate(rows, 0, 0);
      constraint.num_sides = 1;
    }
    scatter(rows, i, wanted, given ? file_block_ : block_, constraint);
    if (!rows.bodies.empty()) write_bodies(rows, i, constraint);
  }

 private:
  Side allocate(const PartRows& rows, int subsystem, int wanted) {
    const std::int64_t entries = std::int64_t{rows.rows_each} * problem_.subsystems[subsystem].dofs;
    require(static_cast<std::int64_t>(problem_.J_pool.size()) + entries <= kMaxEntries,
            parts_.label + ": the dense blocks of J would take more than " + std::to_string(kMaxEntries) +
                " entries (subsystem " + std::to_string(wanted) + " has " +
                std::to_string(problem_.subsystems[subsystem].dofs) + " dofs)");
    Side side;
    side.subsystem = subsystem;
    side.J_start = static_cast<int>(problem_.J_pool.size());
    problem_.J_pool.resize(problem_.J_pool.size() + static_cast<std::size_t>(entries), 0.0);
    return side;
  }

  template <class Constraint>
  void scatter(const PartRows& rows, int i, const std::array<int, 2>& wanted, const std::vector<int>& block,
               const Constraint& constraint) {
    for (int r = 0; r < rows.rows_each; ++r) {
      const int row = i * rows.rows_each + r;
      ++stamp_;
      for (int k = rows.J.start[row]; k < rows.J.start[row + 1]; ++k) {
        const int column = rows.J.column[k];
        const double value = rows.J.value[k];
        const int owner = block[column];
        if (owner != wanted[0] && owner != wanted[1]) {
          require(value == 0.0, place(rows, row) + ": column " + std::to_string(column) + " = " + to_text(value) +
                                    " lies in subsystem " + std::to_string(owner) + ", which is no side of it");
          continue;
        }
        // Both sides on one subsystem: the first mention of a column is side 0's, the second side 1's.
        int s = owner == wanted[0] ? 0 : 1;
        const bool shared = wanted[0] == wanted[1];
        const bool repeated = seen_[column] >= 2 * stamp_;
        if (shared && repeated) {
          require(seen_[column] == 2 * stamp_, place(rows, row) + ": column " + std::to_string(column) +
                                                   " occurs more than twice, expected once per side");
          s = 1;
        }
        const Side& side = constraint.sides[s];
        const Subsystem& sub = problem_.subsystems[side.subsystem];
        double& entry = problem_.J_pool[static_cast<std::size_t>(side.J_start) +
                                        static_cast<std::size_t>(r) * static_cast<std::size_t>(sub.dofs) +
                                        static_cast<std::size_t>(column - sub.offset)];
        entry = repeated && !shared ? entry + value : value;
        seen_[column] = repeated ? 2 * stamp_ + 1 : 2 * stamp_;
      }
    }
  }

  template <class Constraint>
  void write_bodies(const PartRows& rows, int i, Constraint& constraint) {
    const auto block = static_cast<std::size_t>(rows.rows_each) * 6;
    for (int s = 0; s < constraint.num_sides; ++s) {
      Side& side = constraint.sides[s];
      if (rows.bodies[i][s] < 0 || problem_.subsystems[side.subsystem].tree < 0) continue;
      side.body = rows.bodies[i][s];
      side.J_body_start = static_cast<int>(problem_.J_pool.size());
      const double* source =
          rows.J_body.data() + (2 * static_cast<std::size_t>(i) + static_cast<std::size_t>(s)) * block;
      problem_.J_pool.insert(problem_.J_pool.end(), source, source + block);
    }
  }

  [[nodiscard]] std::string place(const PartRows& rows, int row) const {
    return parts_.label + ": field \"" + rows.name + "\": row " + std::to_string(row);
  }

  const ProblemParts& parts_;
  ContactProblem& problem_;
  std::vector<int> block_, group_, file_block_;
  std::vector<std::int64_t> seen_;  // per column: 2 stamp at its first mention in a row, 2 stamp + 1 after
  std::int64_t stamp_ = 0;
  std::vector<int> touched_;
};

void note_idle_contacts(const ProblemParts& parts, LoadReport& report) {
  int count = 0, first = -1;
  const Csr& J = parts.contact.J;
  for (int i = 0; i < parts.contact.count(); ++i) {
    const bool idle = std::all_of(J.value.begin() + J.start[3 * i], J.value.begin() + J.start[3 * i + 3],
                                  [](double value) { return value == 0.0; });
    if (!idle) continue;
    if (count++ == 0) first = i;
  }
  if (count > 0) {
    report.notes.push_back(std::to_string(count) + " contact(s) act on nothing (J = 0), kept; the first is contact " +
                           std::to_string(first));
  }
}

}  // namespace

ContactProblem assemble_parts(ProblemParts parts, LoadReport& report) {
  ContactProblem problem;
  const std::vector<int> offsets = choose_offsets(parts, report);
  add_subsystems(parts, offsets, problem, report);
  SideWriter writer(parts, offsets, problem);
  problem.contacts.resize(static_cast<std::size_t>(parts.contact.count()));
  for (int i = 0; i < parts.contact.count(); ++i) writer.write(parts.contact, i, problem.contacts[i]);
  const std::array<std::vector<Row>*, 4> pools = {&problem.hard, &problem.soft, &problem.equality, &problem.bounded};
  const auto rows = all_rows(parts);
  for (std::size_t kind = 0; kind < pools.size(); ++kind) {
    pools[kind]->resize(static_cast<std::size_t>(rows[kind + 1]->count()));
    for (int i = 0; i < rows[kind + 1]->count(); ++i) writer.write(*rows[kind + 1], i, (*pools[kind])[i]);
  }
  note_idle_contacts(parts, report);
  return problem;
}

}  // namespace almond
