// Hulls kept on disk come back bit for bit; any entry that is damaged, foreign or no convex polytope is passed over and
// mended, and a cache that cannot be used changes nothing but the time. SHA-256 against the vectors of FIPS 180-4.

#include <sys/stat.h>

#include <cstdlib>

#include "almond/load/hull_cache.hpp"
#include "almond/load/mesh_file.hpp"
#include "almond/load/sha256.hpp"
#include "load/load_fixture.hpp"
#include "load/robot_samples.hpp"

namespace almond::testing {
namespace {

namespace fs = std::filesystem;

std::string hex(const std::string& text, std::size_t piece = std::string::npos) {
  Sha256 hash;
  for (std::size_t at = 0; at < text.size(); at += std::min(piece, text.size()))
    hash.add(std::string_view(text).substr(at, piece));
  std::string out;
  for (const std::uint8_t byte : hash.finish()) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    out += digits;
  }
  return out;
}

TEST(Sha256, KnownTexts) {
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  const std::string million(1'000'000, 'a');
  for (const std::size_t piece : {std::size_t{7}, std::size_t{64}, std::size_t{1000}, million.size()})
    EXPECT_EQ(hex(million, piece), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

class HullCache : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    ::setenv("ALMOND_CACHE_DIR", path("cache").c_str(), 1);
    file = path("box.stl");
    write_file(file, SampleBox().stl_text());
  }
  void TearDown() override {
    ::setenv("ALMOND_CACHE_DIR", "off", 1);
    FolderTest::TearDown();
  }
  /// Loads the hull, lets it go and returns the notes.
  std::vector<std::string> load(const Vec3& scale = Vec3::Ones()) {
    FileNotes notes;
    const auto hull = load_hull(file, scale, notes);
    EXPECT_EQ(hull->vertices.size(), 8U);
    EXPECT_EQ(hull->faces.size(), 6U);
    EXPECT_NEAR(solid_properties(ConvexMesh{hull}, 1.0).mass, 6.0 * scale.prod(), 1e-5);
    return notes.said;
  }
  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> names;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(path("cache/hulls"), code))
      names.push_back(entry.path().filename().string());
    return names;
  }
  /// The key of the only entry.
  [[nodiscard]] std::string key() const {
    EXPECT_EQ(entries().size(), 1U);
    return entries().at(0).substr(0, 64);
  }
  /// Bytes with the checksum that belongs to them.
  static std::string sealed(std::string bytes) {
    bytes.resize(bytes.size() - 32);
    Sha256 hash;
    hash.add(bytes);
    for (const std::uint8_t byte : hash.finish()) bytes += static_cast<char>(byte);
    return bytes;
  }

  const std::vector<std::string> plain{"mesh \"box.stl\": 12 triangles as their convex hull of 8 vertices"};
  std::string file;
};

TEST_F(HullCache, SecondLoadIsTheFirstBitForBit) {
  FileNotes notes;
  const auto first = load_hull(file, Vec3(1.0, 0.3, 0.7), notes);
  const std::optional<StoredHull> stored = read_stored_hull(key());
  ASSERT_TRUE(stored);
  const auto same = [](const std::vector<Vec3>& a, const std::vector<Vec3>& b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](const Vec3& x, const Vec3& y) { return same_values(x, y); });
  };
  EXPECT_TRUE(same(stored->hull->vertices, first->vertices));
  EXPECT_TRUE(same(stored->hull->normals, first->normals));
  EXPECT_TRUE(same({stored->hull->center}, {first->center}));
  EXPECT_EQ(stored->hull->faces, first->faces);
  EXPECT_EQ(stored->hull->neighbors, first->neighbors);
}

TEST_F(HullCache, IsReadByContentAndScale) {
  EXPECT_EQ(load(), plain);
  StoredHull entry = *read_stored_hull(key());
  entry.triangles = 77;  // only the disk knows this number
  write_stored_hull(key(), entry);
  EXPECT_NE(load(), plain);
  EXPECT_NE(load()[0].find("77 triangles"), std::string::npos);
  EXPECT_EQ(load(Vec3::Constant(2.0)), plain);  // another scale is another hull
  EXPECT_EQ(entries().size(), 2U);
  write_file(file, SampleBox().stl_text() + "\n");  // and so are other bytes
  EXPECT_EQ(load(), plain);
  EXPECT_EQ(entries().size(), 3U);
  fs::copy_file(file, path("copy.stl"));  // another name is not
  FileNotes notes;
  static_cast<void>(load_hull(path("copy.stl"), Vec3::Ones(), notes));
  EXPECT_EQ(entries().size(), 3U);
  EXPECT_EQ(notes.said[0].rfind("mesh \"copy.stl\": 12 triangles", 0), 0U);
}

TEST_F(HullCache, EveryDamagedByteAndCutIsNoticedAndMended) {
  load();
  const std::string entry = path("cache/hulls/" + entries().at(0)), good = read_file(entry);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
    write_file(entry, bad);
    ASSERT_FALSE(read_stored_hull(key())) << at;
    if (at % 16 > 0) continue;
    write_file(entry, good.substr(0, at));
    ASSERT_FALSE(read_stored_hull(key())) << at;
  }
  write_file(entry, good + "more");
  EXPECT_FALSE(read_stored_hull(key()));
  EXPECT_EQ(load(), plain);
  EXPECT_EQ(read_file(entry), good);
}

TEST_F(HullCache, WhatIsNoConvexPolytopeIsPassedOverThoughItsChecksumFits) {
  load();
  const std::string name = key();
  const StoredHull good = *read_stored_hull(name);
  const auto refused = [&](const char* what, const auto& change) {
    StoredHull bad = good;
    auto hull = std::make_shared<Polytope>(*good.hull);
    change(bad, *hull);
    bad.hull = hull;
    write_stored_hull(name, bad);
    EXPECT_FALSE(read_stored_hull(name)) << what;
  };
  refused("index", [](StoredHull&, Polytope& h) { h.faces[2][1] = 8; });
  refused("negative index", [](StoredHull&, Polytope& h) { h.faces[2][1] = -1; });
  refused("neighbour index", [](StoredHull&, Polytope& h) { h.neighbors[2][1] = 1 << 30; });
  refused("no neighbours", [](StoredHull&, Polytope& h) { h.neighbors[2].clear(); });
  refused("not finite", [](StoredHull&, Polytope& h) { h.vertices[3][1] = kNaN; });
  refused("huge", [](StoredHull&, Polytope& h) { h.vertices[3][1] = 1e308; });
  refused("far", [](StoredHull&, Polytope& h) {
    h.vertices[7] = Vec3(1e30, 1e30, 1e30);
    h.center = h.vertices[7] / 8.0;
  });
  refused("turned normal", [](StoredHull&, Polytope& h) { h.normals[0] *= -1.0; });
  refused("normal that is none", [](StoredHull&, Polytope& h) { h.normals[0] = Vec3::Constant(kNaN); });
  refused("centre", [](StoredHull&, Polytope& h) { h.center = Vec3(9.0, 0.0, 0.0); });
  refused("a dent", [](StoredHull&, Polytope& h) { h.vertices[7] = h.center + 0.1 * (h.vertices[7] - h.center); });
  refused("face twice", [](StoredHull&, Polytope& h) { h.faces[1] = h.faces[0], h.normals[1] = h.normals[0]; });
  refused("an open side", [](StoredHull&, Polytope& h) { h.faces.pop_back(), h.normals.pop_back(); });
  refused("a face of two corners", [](StoredHull&, Polytope& h) { h.faces[0].resize(2); });
  refused("number", [](StoredHull& s, Polytope&) { s.moved = kNaN; });
  refused("negative length", [](StoredHull& s, Polytope&) { s.extent = -1.0; });
  EXPECT_EQ(load(), plain);
  EXPECT_TRUE(read_stored_hull(name));
}

TEST_F(HullCache, CountsBeyondTheFileAskForNoMemory) {
  load();
  const std::string name = key(), entry = path("cache/hulls/" + entries().at(0)), good = read_file(entry);
  const std::size_t counts = 8 + 64 + 8 * 8;
  for (const std::size_t at : {counts, counts + 4, good.size() - 32 - 4 * 8})
    for (const std::uint32_t value : {0U, 0xffffffffU, 0x7fffffffU, 0x10000U}) {
      std::string bad = good;
      bad.replace(at, 4, reinterpret_cast<const char*>(&value), 4);
      write_file(entry, sealed(bad));
      EXPECT_FALSE(read_stored_hull(name)) << at << " " << value;
    }
  write_file(entry, sealed(good));
  EXPECT_TRUE(read_stored_hull(name));
}

TEST_F(HullCache, EntriesOfOthersAndThingsThatAreNoFilesArePassedOver) {
  load();
  const std::string first = key();
  load(Vec3::Constant(2.0));
  std::string second = entries()[0].substr(0, 64);
  if (second == first) second = entries()[1].substr(0, 64);
  const std::string folder = path("cache/hulls/");
  fs::copy_file(folder + second + ".hull", folder + first + ".hull", fs::copy_options::overwrite_existing);
  EXPECT_FALSE(read_stored_hull(first));
  EXPECT_EQ(load(), plain);
  fs::remove(folder + first + ".hull");
  ASSERT_EQ(::mkfifo((folder + first + ".hull").c_str(), 0600), 0);  // reading one would wait for ever
  EXPECT_FALSE(read_stored_hull(first));
  fs::remove(folder + first + ".hull");
  fs::create_directories(folder + first + ".hull/full");
  EXPECT_EQ(load(), plain);
}

TEST_F(HullCache, AFolderThatCannotBeWrittenIsNoError) {
  write_file(path("taken"), "a file");
  for (const std::string& folder : {path("taken"), std::string("/proc/almond"), path(std::string(5000, 'x'))}) {
    ::setenv("ALMOND_CACHE_DIR", folder.c_str(), 1);
    EXPECT_EQ(load(), plain);
  }
  EXPECT_EQ(read_file(path("taken")), "a file");
}

TEST_F(HullCache, LiesWhereTheEnvironmentSays) {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  const std::string home = value("HOME"), xdg = value("XDG_CACHE_HOME");
  EXPECT_EQ(hull_cache_folder(), path("cache") + "/hulls");
  for (const char* off : {"", "off"}) {
    ::setenv("ALMOND_CACHE_DIR", off, 1);
    EXPECT_EQ(hull_cache_folder(), "");
    EXPECT_EQ(load(), plain);
  }
  EXPECT_EQ(count_files(), 1);  // the mesh
  ::unsetenv("ALMOND_CACHE_DIR");
  ::setenv("XDG_CACHE_HOME", path("xdg").c_str(), 1);
  EXPECT_EQ(hull_cache_folder(), path("xdg") + "/almond/hulls");
  ::setenv("XDG_CACHE_HOME", "not/absolute", 1);
  ::setenv("HOME", path("home").c_str(), 1);
  EXPECT_EQ(hull_cache_folder(), path("home") + "/.cache/almond/hulls");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(hull_cache_folder(), "");
  EXPECT_EQ(load(), plain);
  if (!home.empty()) ::setenv("HOME", home.c_str(), 1);
  if (!xdg.empty()) ::setenv("XDG_CACHE_HOME", xdg.c_str(), 1);
}

TEST_F(HullCache, StaysBelowItsBoundAndForgetsWhatWasUsedLongestAgo) {
  const std::string folder = path("cache/hulls/");
  fs::create_directories(folder);
  write_file(folder + "notes.txt", std::string(5000, ' '));  // not ours
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 8; ++i) {
    const std::string name = folder + std::string(64, static_cast<char>('a' + i)) + ".hull";
    write_file(name, std::string(1000, ' '));
    fs::last_write_time(name, now - std::chrono::hours(i == 0 ? 0 : 100 - i));
  }
  bound_hull_cache(folder, 8000);
  EXPECT_EQ(entries().size(), 9U);
  bound_hull_cache(folder, 4000);
  EXPECT_EQ(entries().size(), 4U);
  for (const char c : {'a', 'g', 'h'}) EXPECT_TRUE(fs::exists(folder + std::string(64, c) + ".hull")) << c;
  EXPECT_TRUE(fs::exists(folder + "notes.txt"));
}

}  // namespace
}  // namespace almond::testing
