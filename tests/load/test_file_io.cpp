// Outputs appear when they are complete or not at all, scratch folders go with their owner, and what may be unpacked
// has its limits: against the files that are there afterwards.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "almond/load/file_io.hpp"
#include "almond/load/file_trust.hpp"
#include "almond/load/scene_file.hpp"
#include "common/helpers.hpp"

namespace almond::testing {
namespace {

namespace fs = std::filesystem;

std::size_t count_files(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(FileIo, AFileThatIsNotCommittedNeverWas) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/out.txt";
  write_file(path, "earlier");
  {
    const PendingFile pending(path), other(path);
    EXPECT_NE(pending.temporary(), other.temporary());
    EXPECT_EQ(fs::path(pending.temporary()).parent_path(), folder.path());  // renaming works within a disk only
    std::ofstream(pending.temporary()) << "half";
    EXPECT_EQ(count_files(folder.path()), 2U);
    EXPECT_EQ(read_file(path), "earlier");
  }
  EXPECT_EQ(count_files(folder.path()), 1U);
  EXPECT_EQ(read_file(path), "earlier");
  PendingFile pending(path);
  std::ofstream(pending.temporary()) << "whole";
  pending.commit();
  EXPECT_EQ(read_file(path), "whole");
  EXPECT_EQ(count_files(folder.path()), 1U);
}

TEST(FileIo, EveryByteComesBack) {
  const TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 200000; ++i) bytes += static_cast<char>(i * 7 % 256);  // more than a block, with zeros
  write_file(folder.path() + "/bytes", bytes);
  EXPECT_EQ(read_file(folder.path() + "/bytes"), bytes);
  write_file(folder.path() + "/bytes", "");
  EXPECT_EQ(read_file(folder.path() + "/bytes"), "");
}

/// Between the look at a file and its reading, somebody may put another thing in its place.
TEST(FileIo, WhatWasLookedAtIsWhatIsRead) {
  const TemporaryFolder folder;
  const fs::path base = real_path(folder.path());
  const std::string path = base / "in" / "file", other = base / "other";
  const auto reading = [&](std::uint64_t most) {
    return error_of([&] { static_cast<void>(read_known_file(path, most)); });
  };
  fs::create_directory(base / "in");
  write_file(path, "12345");
  write_file(other, "secret");
  EXPECT_EQ(read_known_file(path, 5), "12345");
  EXPECT_EQ(reading(4), path + ": is larger than it was when it was looked at, expected the same file");
  fs::remove(path);
  fs::create_symlink(other, path);
  EXPECT_EQ(reading(100), path + ": cannot be opened (Too many levels of symbolic links)");
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(reading(100), path + ": is a device or a pipe, expected a file");
  fs::remove_all(base / "in");  // a link instead of the folder
  fs::create_directory(base / "elsewhere");
  write_file(base / "elsewhere" / "file", "secret");
  fs::create_directory_symlink(base / "elsewhere", base / "in");
  EXPECT_EQ(reading(100), path + ": was moved while it was read, expected it to stay");
}

/// Where links lead is told the same whether anything is there or not; what exists, as the system has it.
TEST(FileIo, LinksAreFollowedToWhatIsNotThere) {
  const TemporaryFolder folder;
  const fs::path base = fs::canonical(folder.path());
  fs::create_directories(base / "a" / "b");
  write_file(base / "a" / "b" / "file", "x");
  fs::create_symlink("../a/b/file", base / "a" / "near");
  fs::create_symlink(base / "a" / "b", base / "folder");
  fs::create_symlink("/nowhere/at/all", base / "out");
  fs::create_symlink("../up/../gone", base / "a" / "gone");
  fs::create_symlink("round", base / "round");
  for (const char* const name : {"a/b/file", "a/near", "folder/file", "folder/../b/file", "a//b/./file", "folder/.."})
    EXPECT_EQ(real_path(base / name), fs::canonical(base / name));
  EXPECT_EQ(real_path(base / "out"), "/nowhere/at/all");
  EXPECT_EQ(real_path(base / "out/x/../y"), "/nowhere/at/all/y");
  EXPECT_EQ(real_path(base / "a/gone"), base / "gone");
  EXPECT_EQ(real_path(base / "missing/../../x"), base.parent_path() / "x");
  EXPECT_EQ(real_path("/../../x"), "/x");
  EXPECT_EQ(real_path(base / "round").parent_path(), base);
}

TEST(FileIo, WhatCannotBeIsToldWithItsPath) {
  const TemporaryFolder folder;
  const auto reading = [](const std::string& path) { return error_of([&] { static_cast<void>(read_file(path)); }); };
  const auto writing = [](const std::string& path) { return error_of([&] { write_file(path, "x"); }); };
  const std::string absent = folder.path() + "/absent/file";
  EXPECT_EQ(reading(absent), absent + ": cannot be opened (No such file or directory)");
  EXPECT_EQ(reading(folder.path()), folder.path() + ": is a folder, expected a file");
  EXPECT_EQ(reading("/dev/null"), "/dev/null: is a device or a pipe, expected a file");
  EXPECT_EQ(writing(absent), absent + ": cannot be written (No such file or directory)");
  const std::string taken = folder.path() + "/taken";
  fs::create_directory(taken);
  EXPECT_EQ(writing(taken), taken + ": cannot be written (Is a directory)");
  EXPECT_EQ(count_files(folder.path()), 1U);
}

TEST(FileIo, ScratchFoldersGoWithTheirOwner) {
  std::string path;
  {
    const TemporaryFolder folder, other;
    path = folder.path();
    EXPECT_NE(path, other.path());
    fs::create_directories(path + "/deep/deeper");
    write_file(path + "/deep/deeper/file", "x");
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(FileIo, UnpackingHasALimit) {
  constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30U;
  for (const std::uint64_t packed : {std::uint64_t{0}, std::uint64_t{1}, kGigabyte / 64})
    EXPECT_EQ(most_unpacked(packed), kGigabyte) << packed;
  EXPECT_EQ(most_unpacked(kGigabyte / 64 + 1), kGigabyte + 64);
  EXPECT_EQ(most_unpacked(kGigabyte), 64 * kGigabyte);
}

TEST(FileOptions, WordsAreThoseOfTheList) {
  EXPECT_EQ(base_from_string("file", "x"), Base::kAsInFile);
  EXPECT_EQ(base_from_string("fixed", "x"), Base::kFixed);
  EXPECT_EQ(base_from_string("floating", "x"), Base::kFloating);
  EXPECT_EQ(mesh_use_from_string("hull", "x"), MeshUse::kHull);
  EXPECT_EQ(mesh_use_from_string("triangles", "x"), MeshUse::kTriangles);
  EXPECT_EQ(mesh_use_from_string("none", "x"), MeshUse::kNone);
  EXPECT_EQ(error_of([] { static_cast<void>(base_from_string("Fixed", "--base")); }),
            "--base: is \"Fixed\", expected file, fixed or floating");
  EXPECT_EQ(error_of([] { static_cast<void>(mesh_use_from_string("", "--meshes")); }),
            "--meshes: is \"\", expected hull, triangles or none");
}

}  // namespace
}  // namespace almond::testing
