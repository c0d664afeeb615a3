// Outputs appear when they are complete or not at all, scratch folders go with their owner, and what may be unpacked
// has its limits: against the files that are there afterwards.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "almond/load/file_io.hpp"
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
