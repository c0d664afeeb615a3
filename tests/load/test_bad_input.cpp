// Each way a problem file can be wrong gets one line that names the file, the field, the value and what was expected.

#include <gtest/gtest.h>

#include <functional>

#include "load/load_fixture.hpp"

namespace almond::testing {
namespace {

using Doubles = std::vector<double>;
using Longs = std::vector<std::int64_t>;

class BadInput : public FolderTest {
 protected:
  /// The message for the plain problem after `change`, as .npz; JSON must give the same words.
  std::string message(const std::function<void(NpzArchive&)>& change) {
    NpzArchive fields = make_plain_fields();
    change(fields);
    return message_of(fields);
  }

  std::string message_of(const NpzArchive& fields) {
    fields.write(path("p.npz"));
    std::string text = error_of([&] { (void)load_problem(path("p.npz")); });
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_EQ(text.rfind(path("p.npz") + ": ", 0), 0U) << text;
    return text;
  }

  static NpzArchive without(const NpzArchive& fields, const std::string& name) {
    NpzArchive out;
    for (const std::string& other : fields.names()) {
      if (other != name) out.set(other, fields.at(other));
    }
    return out;
  }

  /// A field of the plain problem with one value replaced.
  static NpzArray changed(const NpzArchive& fields, const std::string& name, std::size_t index, double value) {
    NpzArray array = fields.at(name);
    std::get<Doubles>(array.data).at(index) = value;
    return array;
  }
};

#define EXPECT_MESSAGE(text, part)                             \
  do {                                                         \
    const std::string message_text = text;                     \
    EXPECT_TRUE(contains(message_text, part)) << message_text; \
  } while (false)

TEST_F(BadInput, MissingFields) {
  for (const std::string name : {"A", "b", "J", "e", "mu"}) {
    EXPECT_MESSAGE(message_of(without(make_plain_fields(), name)), "field \"" + name + "\" is missing");
  }
  NpzArchive renamed = without(make_plain_fields(), "mu");
  renamed.set("Mu", NpzArray({2}, Doubles{1, 1}));
  EXPECT_MESSAGE(message_of(renamed), "field \"mu\" is missing (the nearest there is \"Mu\")");
}

TEST_F(BadInput, WrongSizes) {
  EXPECT_MESSAGE(message([](NpzArchive& f) { f.set("e", NpzArray({5}, Doubles(5))); }),
                 "field \"e\": shape (5), expected (6): three rows per contact, mu has 2");
  EXPECT_MESSAGE(message([](NpzArchive& f) {
                   f.set("J", NpzArray({6, 5}, Doubles(30)));
                 }),
                 "field \"J\": shape (6, 5), expected (6, 6)");
  EXPECT_MESSAGE(message([](NpzArchive& f) { f.set("A", NpzArray({36}, Doubles(36))); }),
                 "field \"A\": shape (36), expected (6, 6): b has 6 values");
  EXPECT_MESSAGE(message([](NpzArchive& f) {
                   f.set("b", NpzArray({1, 6}, Doubles(6)));
                 }),
                 "field \"b\": shape (1, 6), expected (any)");
  EXPECT_MESSAGE(message([](NpzArchive& f) { f.set("v0", NpzArray({3}, Doubles(3))); }), "field \"v0\": shape (3)");
  EXPECT_MESSAGE(message([](NpzArchive& f) { f.set("lambda0", NpzArray({7}, Doubles(7))); }),
                 "field \"lambda0\": shape (7), expected (6)");
}

TEST_F(BadInput, WrongTypes) {
  EXPECT_MESSAGE(message([](NpzArchive& f) { f.set("mu", NpzArray(std::string("rough"))); }),
                 "field \"mu\": text, expected numbers");
  EXPECT_MESSAGE(message([](NpzArchive& f) {
                   f.set("subsystem_offsets", NpzArray({2}, Doubles{0, 6}));
                 }),
                 "field \"subsystem_offsets\": floating-point numbers, expected integers");
  EXPECT_MESSAGE(message([](NpzArchive& f) { f.set("name", NpzArray({1}, Doubles{1})); }),
                 "field \"name\": numbers, expected text");
}

TEST_F(BadInput, ValuesOutOfRange) {
  for (const double value : {kNaN, kInfinity, -kInfinity}) {
    for (const std::string name : {"A", "b", "J", "e", "mu"}) {
      const std::string expected = "field \"" + name + "\"[1] = " + to_text(value) + ", expected a finite number";
      EXPECT_MESSAGE(message([&](NpzArchive& f) { f.set(name, changed(f, name, 1, value)); }), expected);
    }
  }
  EXPECT_MESSAGE(message([](NpzArchive& f) { f.set("mu", changed(f, "mu", 1, -0.25)); }),
                 "field \"mu\"[1] = -0.25, expected >= 0");
  EXPECT_MESSAGE(message([](NpzArchive& f) { f.set("A", changed(f, "A", 0, -3)); }),
                 "subsystem 0: A is not positive definite");
  EXPECT_MESSAGE(message([](NpzArchive& f) { f.set("A", changed(f, "A", 1, 3.5)); }),
                 "field \"A\" is not symmetric at dofs 0 to 5");
}

TEST_F(BadInput, SubsystemOffsets) {
  const auto with = [this](const Longs& offsets) {
    return message([&](NpzArchive& f) {
      f.set("subsystem_offsets", NpzArray({static_cast<std::int64_t>(offsets.size())}, offsets));
    });
  };
  EXPECT_MESSAGE(with({}), "\"subsystem_offsets\": is empty, expected 0 to 6");
  EXPECT_MESSAGE(with({0, 5}), "runs from 0 to 5, expected 0 to 6");
  EXPECT_MESSAGE(with({0, 4, 2, 6}), "\"subsystem_offsets\"[2] = 2, expected more than the value before, 4");
  EXPECT_MESSAGE(with({0, 7}), "\"subsystem_offsets\"[1] = 7, expected 0 to 6");
  EXPECT_MESSAGE(with({0, 3, 6}), "couples subsystems 0 and 1, expected 0");
  EXPECT_MESSAGE(with({0, std::int64_t{1} << 40, 6}), "= 1099511627776, expected 0 to 6");
}

TEST_F(BadInput, SparseMatrices) {
  const auto with = [this](const Longs& shape, const Doubles& data, const Longs& indices, const Longs& indptr) {
    NpzArchive fields = without(make_plain_fields(), "J");
    const auto size = [](const auto& values) { return Longs{static_cast<std::int64_t>(values.size())}; };
    fields.set("J_shape", NpzArray(size(shape), shape));
    fields.set("J_data", NpzArray(size(data), data));
    fields.set("J_indices", NpzArray(size(indices), indices));
    fields.set("J_indptr", NpzArray(size(indptr), indptr));
    return message_of(fields);
  };
  const Longs good = {0, 1, 2, 2, 2, 2, 2};
  EXPECT_MESSAGE(with({6, 7}, {1, 1}, {0, 1}, good), "field \"J_shape\": (6, 7), expected (6, 6)");
  EXPECT_MESSAGE(with({6}, {1, 1}, {0, 1}, good), "field \"J_shape\": shape (1), expected (2)");
  EXPECT_MESSAGE(with({6, 6}, {1, 1}, {0}, good), "field \"J_indices\": shape (1), expected (2)");
  EXPECT_MESSAGE(with({6, 6}, {1, 1}, {0, 6}, good), "field \"J_indices\"[1] = 6, expected 0 to 5");
  EXPECT_MESSAGE(with({6, 6}, {1, 1}, {0, -1}, good), "field \"J_indices\"[1] = -1, expected 0 to 5");
  EXPECT_MESSAGE(with({6, 6}, {1, 1}, {0, 1}, {0, 1, 2}), "field \"J_indptr\": shape (3), expected (7)");
  EXPECT_MESSAGE(with({6, 6}, {1, 1}, {0, 1}, {0, 2, 1, 2, 2, 2, 2}), "field \"J_indptr\"[2] = 1, expected at least");
  EXPECT_MESSAGE(with({6, 6}, {1, 1}, {0, 1}, {0, 1, 1, 1, 1, 1, 1}), "runs from 0 to 1, expected 0 to 2");
  EXPECT_MESSAGE(with({6, 6}, {1, kNaN}, {0, 1}, good), "field \"J_data\"[1] = nan");
  EXPECT_MESSAGE(message_of(without(make_plain_fields(), "J")), "field \"J\" is missing");
}

TEST_F(BadInput, RowsOfOtherKinds) {
  const auto row = [](NpzArchive& f, const std::string& suffix) {
    f.set("J" + suffix, NpzArray({1, 6}, Doubles(6, 1.0)));
    f.set("e" + suffix, NpzArray({1}, Doubles(1)));
  };
  EXPECT_MESSAGE(message([&](NpzArchive& f) { row(f, "s"); }), "field \"ks\" is missing");
  EXPECT_MESSAGE(message([&](NpzArchive& f) {
                   row(f, "s");
                   f.set("ks", NpzArray({1}, Doubles{1}));
                   f.set("bs", NpzArray({1}, Doubles{0}));
                 }),
                 "field \"bs\"[0] = 0, expected > 0");
  EXPECT_MESSAGE(message([&](NpzArchive& f) {
                   row(f, "b");
                   f.set("limit", NpzArray({1}, Doubles{-1}));
                 }),
                 "field \"limit\"[0] = -1, expected >= 0");
  EXPECT_MESSAGE(message([&](NpzArchive& f) { f.set("Jh", NpzArray({1, 6}, Doubles(6))); }), "field \"eh\" is missing");
  EXPECT_MESSAGE(message([&](NpzArchive& f) { f.set("eq", NpzArray({1}, Doubles(1))); }), "field \"Jq\" is missing");
}

/// The rich problem as arrays, with one of them replaced.
TEST_F(BadInput, SidesAndTrees) {
  save_problem(make_rich_problem(), path("rich.npz"));
  const NpzArchive rich = NpzArchive::read(path("rich.npz"));
  const auto with = [&](const std::string& name, std::size_t index, std::int32_t value) {
    NpzArchive fields = rich;
    NpzArray array = rich.at(name);
    std::get<std::vector<std::int32_t>>(array.data).at(index) = value;
    fields.set(name, array);
    return message_of(fields);
  };
  EXPECT_MESSAGE(with("J_sides", 0, 9), "field \"J_sides\"[0] = 9, expected -1 to 3");
  EXPECT_MESSAGE(with("J_sides", 2, -1), "field \"J_sides\": row 1 has a second side without a first");
  EXPECT_MESSAGE(with("J_sides", 0, 2), "lies in subsystem 0, which is no side of it");
  EXPECT_MESSAGE(with("J_bodies", 2, 4), "row 1 names body 4 of subsystem 3, which has 4 bodies");
  EXPECT_MESSAGE(with("J_bodies", 0, 0), "row 0 names body 0 of subsystem 0, which has no tree");
  EXPECT_MESSAGE(with("subsystem_tree", 0, 0), "");
  EXPECT_MESSAGE(with("subsystem_tree", 2, 0), "that tree has 6 dofs, expected 3");
  EXPECT_MESSAGE(with("subsystem_tree", 1, 2), "field \"subsystem_tree\"[1] = 2, expected -1 to 1");
  EXPECT_MESSAGE(with("tree_parent", 1, 1), "field \"tree_parent\"[1] = 1, expected -1 to 0");
  EXPECT_MESSAGE(with("tree_bodies", 0, 3), "expected (7)");
  EXPECT_MESSAGE(with("tree_dofs", 0, 2), "expected (11, 6)");
  EXPECT_MESSAGE(message_of(without(rich, "tree_M")), "field \"tree_M\" is missing");
  EXPECT_MESSAGE(message_of(without(rich, "J_body_blocks")), "field \"J_body_blocks\" is missing");
  EXPECT_MESSAGE(message_of(without(rich, "subsystem_offsets")), "needs subsystem_offsets beside it");
}

TEST_F(BadInput, FilesThatAreNotProblems) {
  EXPECT_MESSAGE(error_of([&] { (void)load_problem(path("absent.npz")); }), "cannot be opened (No such file");
  EXPECT_MESSAGE(error_of([&] { (void)load_problem(path(".")); }), "is a folder, expected a file");
  const auto of_bytes = [&](const std::string& name, const std::string& bytes) {
    write_file(path(name), bytes);
    return error_of([&] { (void)load_problem(path(name)); });
  };
  EXPECT_MESSAGE(of_bytes("p.npz", ""), "is empty, expected a contact problem");
  EXPECT_MESSAGE(of_bytes("p.npz", "hello, this is not a zip file at all"), "no zip directory found");
  EXPECT_MESSAGE(of_bytes("p.json", "hello"), "is not valid JSON");
  EXPECT_MESSAGE(of_bytes("p.json", "{}"), "field \"b\" is missing");
  EXPECT_MESSAGE(of_bytes("p.dat", "hello"), "unknown kind of file, expected FCLIB HDF5, .npz or JSON");
}

}  // namespace
}  // namespace almond::testing
