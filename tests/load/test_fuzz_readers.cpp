// Thousands of damaged files of each format: the reader returns a valid problem (or robot) or throws one line, and
// never crashes, hangs or asks for memory that the file cannot back. Deterministic; meant to run under
// AddressSanitizer.

#include <gtest/gtest.h>

#include <algorithm>

#include "almond/load/mesh_file.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/load/urdf.hpp"
#include "load/load_fixture.hpp"
#include "load/robot_samples.hpp"

#if defined(__SANITIZE_ADDRESS__)
// The HDF5 library itself asks for absurd sizes when it meets damaged ones, and copes when malloc refuses; and it loses
// a few small objects when it gives up on a file. Both are its own affair, everything else is ours.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5\n"; }
#endif

namespace almond::testing {
namespace {

/// Cuts, flips bits, writes extreme bytes, overwrites runs, copies parts over others, inserts and removes.
std::string mutate(const std::string& original, std::mt19937_64& random) {
  std::string bytes = original;
  const auto any = [&](std::size_t limit) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(limit, 1));
  };
  // Half of all changes hit the first kilobytes or the end, where formats keep their structure.
  const auto place = [&] {
    const std::size_t choice = any(4);
    if (choice == 0) return any(std::min<std::size_t>(bytes.size(), 2048));
    if (choice == 1) return bytes.size() - 1 - any(std::min<std::size_t>(bytes.size(), 512));
    return any(bytes.size());
  };
  const std::size_t changes = 1 + any(4);
  for (std::size_t change = 0; change < changes && bytes.size() > 1; ++change) {
    const std::size_t at = place();
    const std::size_t length = std::min(bytes.size() - at, 1 + any(8));
    switch (any(8)) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(at, bytes.substr(any(bytes.size()), 1 + any(16)));
        break;
      case 3:
        bytes[at] = "\x00\x7f\xff\x80"[any(4)];
        break;
      case 4:
        for (std::size_t i = at; i < at + length; ++i) bytes[i] = static_cast<char>(random());
        break;
      case 5:
        bytes.replace(at, length, bytes.substr(any(bytes.size()), length));
        break;
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << any(8));
    }
  }
  return bytes;
}

/// Puts extreme numbers and broken words where numbers are: past the syntax, to what is done with the values.
std::string mutate_numbers(const std::string& original, std::mt19937_64& random) {
  static const std::vector<std::string> kWords = {
      "0",           "-1",           "1e308", "nan",   "inf", "-inf", "1e-320", "4294967296", "2147483647",
      "-2147483648", "999999999999", "1e9",   "0.5 3", "",    "\"",   "<",      "&#0;",       "-1e-9"};
  std::string text = original;
  const std::size_t changes = 1 + random() % 3;
  for (std::size_t change = 0; change < changes; ++change) {
    const std::size_t begin = text.find_first_of("0123456789", random() % text.size());
    if (begin == std::string::npos) continue;
    const std::size_t end = std::min(text.find_first_not_of("0123456789.eE+-", begin), text.size());
    text.replace(begin, end - begin, kWords[random() % kWords.size()]);
  }
  return text;
}

class FuzzReaders : public FolderTest {
 protected:
  /// Loads mutations of a robot or mesh by `load`; each one is built or refused in one line that names the file.
  template <class Load>
  int fuzz_text(const std::string& name, const std::string& original, int count, const Load& load) {
    std::mt19937_64 random(7);
    int accepted = 0;
    for (int i = 0; i < count; ++i) {
      SCOPED_TRACE(name + " mutation " + std::to_string(i));
      write_file(path(name), i % 2 == 0 ? mutate_numbers(original, random) : mutate(original, random));
      try {
        load(path(name));
        ++accepted;
      } catch (const Error& error) {
        const std::string message = error.what();
        EXPECT_NE(message.find(name), std::string::npos) << message;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        EXPECT_LT(message.size(), 2500U) << message;
      }
    }
    return accepted;
  }

  /// Loads `count` mutations of the file; returns how many were accepted.
  int fuzz(const std::string& name, const std::string& seed_file, int count, std::uint64_t seed) {
    const std::string original = read_file(seed_file);
    std::mt19937_64 random(seed);
    int accepted = 0;
    for (int i = 0; i < count; ++i) {
      SCOPED_TRACE(name + " mutation " + std::to_string(i));
      write_file(path(name), mutate(original, random));
      try {
        load_problem(path(name)).validate();
        ++accepted;
      } catch (const Error& error) {
        const std::string message = error.what();
        EXPECT_EQ(message.rfind(path(name) + ": ", 0), 0U) << message;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        EXPECT_LT(message.size(), 600U) << message;
      }
    }
    return accepted;
  }
};

TEST_F(FuzzReaders, Npz) {
  save_problem(make_rich_problem(), path("seed.npz"));
  // Checksums catch nearly every change.
  EXPECT_LT(fuzz("p.npz", path("seed.npz"), 3000, 1), 1500);
}

TEST_F(FuzzReaders, NpzWithValidChecksums) {
  // Changes inside the arrays, packed again: the checks of the fields are reached.
  save_problem(make_rich_problem(), path("seed.npz"));
  const NpzArchive archive = NpzArchive::read(path("seed.npz"));
  const std::vector<std::string> names = archive.names();
  std::mt19937_64 random(2);
  const std::vector<double> extremes = {0.0, -1.0, 1e308, -1e308, kNaN, kInfinity, 5e-324, 1e-20, 3.0};
  const std::vector<std::int64_t> integers = {0, -1, 1, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 7, 1000000};
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    NpzArchive changed = archive;
    for (std::uint64_t change = 0; change < 1 + random() % 3; ++change) {
      const std::string& name = names[random() % names.size()];
      NpzArray array = changed.at(name);
      std::visit(
          [&](auto& data) {
            if (data.empty()) return;
            const std::size_t at = random() % data.size();
            if constexpr (std::is_same_v<std::decay_t<decltype(data)>, std::vector<double>>) {
              data[at] = extremes[random() % extremes.size()];
            } else if constexpr (!std::is_same_v<std::decay_t<decltype(data)>, std::string> &&
                                 !std::is_same_v<std::decay_t<decltype(data)>, std::vector<std::string>>) {
              using Integer = typename std::decay_t<decltype(data)>::value_type;
              data[at] = static_cast<Integer>(integers[random() % integers.size()]);
            }
          },
          array.data);
      if (!array.shape.empty() && random() % 8 == 0) std::swap(array.shape.front(), array.shape.back());
      changed.set(name, array);
    }
    changed.write(path("p.npz"));
    try {
      load_problem(path("p.npz")).validate();
      ++accepted;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).rfind(path("p.npz") + ": ", 0), 0U) << error.what();
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 1500);
}

TEST_F(FuzzReaders, Json) {
  save_problem(make_rich_problem(), path("seed.json"));
  EXPECT_LT(fuzz("p.json", path("seed.json"), 3000, 3), 2900);
}

TEST_F(FuzzReaders, Urdf) {
  const std::string text = read_file(std::string(ALMOND_SOURCE_DIR) + "/examples/robot/leg.urdf");
  const int accepted = fuzz_text("leg.urdf", text, 2000, [](const std::string& file) {
    ModelBuilder builder;
    FileNotes notes;
    FileOptions options;
    options.base = Base::kFloating;
    add_urdf(builder, file, options, notes);
    static_cast<void>(builder.build());
  });
  EXPECT_GT(accepted, 50);
  EXPECT_LT(accepted, 1950);
}

TEST_F(FuzzReaders, Mjcf) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  const std::string text = read_file(std::string(ALMOND_SOURCE_DIR) + "/examples/robot/leg.xml");
  const int accepted = fuzz_text("leg.xml", text, 2000, [](const std::string& file) {
    ModelBuilder builder;
    FileNotes notes;
    add_mjcf(builder, file, {}, notes);
    static_cast<void>(builder.build());
  });
  EXPECT_GT(accepted, 50);
  EXPECT_LT(accepted, 1950);
}

TEST_F(FuzzReaders, Meshes) {
  const SampleBox box;
  for (const auto& [name, bytes] : {std::pair("text.stl", box.stl_text()), std::pair("binary.stl", box.stl_binary()),
                                    std::pair("box.obj", box.obj()), std::pair("box.dae", box.dae())}) {
    const int accepted = fuzz_text(name, bytes, 400, [](const std::string& file) {
      FileNotes notes;
      static_cast<void>(load_hull(file, Vec3::Ones(), notes));
      static_cast<void>(make_triangle_mesh(load_mesh(file, Vec3::Ones(), notes)));
    });
    EXPECT_GT(accepted, 10) << name;
    EXPECT_LT(accepted, 390) << name;
  }
}

#ifdef ALMOND_HAVE_HDF5

TEST_F(FuzzReaders, Hdf5) {
  std::mt19937_64 random(9);
  ContactProblem problem;
  for (int s = 0; s < 3; ++s) problem.add_subsystem(random_inertia(random, 6), random_matrix(random, 6, 1));
  const auto side = [&](int sub) { return SideInput{sub, random_matrix(random, 3, 6), -1, {}}; };
  for (int i = 0; i < 6; ++i) problem.add_contact(0.3, Vec3(1, 2, 3), side(i % 3), side((i + 1) % 3));
  save_problem(problem, path("global.hdf5"));
  save_problem(problem, path("local.hdf5"), FclibForm::kLocal);
  EXPECT_LT(fuzz("p.hdf5", path("global.hdf5"), 1500, 4), 1400);
  EXPECT_LT(fuzz("p.hdf5", path("local.hdf5"), 1500, 5), 1400);
}

#endif  // ALMOND_HAVE_HDF5

}  // namespace
}  // namespace almond::testing
