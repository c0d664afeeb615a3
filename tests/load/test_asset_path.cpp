// Files are found where ROS users keep them, in the order of the search, and what is missing is told with every place.

#include <sys/stat.h>

#include <cstdlib>

#include "almond/load/asset_path.hpp"
#include "load/load_fixture.hpp"

namespace almond::testing {
namespace {

namespace fs = std::filesystem;

class AssetPath : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    ::unsetenv("ROS_PACKAGE_PATH");
    ::unsetenv("AMENT_PREFIX_PATH");
  }
  void TearDown() override {
    ::unsetenv("ROS_PACKAGE_PATH");
    ::unsetenv("AMENT_PREFIX_PATH");
    FolderTest::TearDown();
  }
  std::string put(const std::string& name, const std::string& text = "x") {
    fs::create_directories(fs::path(path(name)).parent_path());
    write_file(path(name), text);
    return path(name);
  }
  std::string find(const std::string& name, const std::string& folder, const std::vector<std::string>& search = {}) {
    return find_asset(name, path(folder), search);
  }
  std::string error_of(const std::string& name, const std::string& folder,
                       const std::vector<std::string>& search = {}) {
    try {
      return "found " + find(name, folder, search);
    } catch (const Error& error) {
      return error.what();
    }
  }
};

TEST_F(AssetPath, PackagesAboveTheRobotFile) {
  const std::string mesh = put("ws/arm_description/meshes/a.stl");
  put("ws/arm_description/urdf/arm.urdf");
  EXPECT_EQ(find("package://arm_description/meshes/a.stl", "ws/arm_description/urdf"), mesh);
  EXPECT_EQ(find("package:///arm_description/meshes/a.stl", "ws/arm_description/urdf"), mesh);
  EXPECT_EQ(find("model://arm_description/meshes/a.stl", "ws/arm_description/urdf"), mesh);
  EXPECT_EQ(find("package://arm_description/meshes/a.stl", "ws/arm_description/urdf/"), mesh);
  // A package beside the one the robot is in.
  const std::string other = put("ws/hand_description/meshes/h.stl");
  EXPECT_EQ(find("package://hand_description/meshes/h.stl", "ws/arm_description/urdf"), other);
}

TEST_F(AssetPath, PackagesCalledOtherwiseThanTheirFolder) {
  const std::string mesh = put("ws/clone-1/meshes/a.stl");
  put("ws/clone-1/package.xml", "<package>\n  <name>\n arm_description </name></package>");
  put("ws/clone-1/urdf/arm.urdf");
  EXPECT_EQ(find("package://arm_description/meshes/a.stl", "ws/clone-1/urdf"), mesh);
  EXPECT_EQ(find("package://arm_description/meshes/a.stl", "", {path("ws/clone-1")}), mesh);
  EXPECT_TRUE(contains(error_of("package://leg_description/meshes/a.stl", "ws/clone-1/urdf"), "is not there"));
}

TEST_F(AssetPath, SearchFoldersComeFirstThenEnvironment) {
  const std::string near = put("near/p/m.stl"), user = put("user/p/m.stl"), ros = put("ros/p/m.stl"),
                    ament = put("prefix/share/p/m.stl");
  EXPECT_EQ(find("package://p/m.stl", "near", {path("user")}), user);
  EXPECT_EQ(find("package://p/m.stl", "near", {path("user/p")}), user);
  EXPECT_EQ(find("package://p/m.stl", "near"), near);
  fs::create_directories(path("far"));
  ::setenv("AMENT_PREFIX_PATH", ("/nowhere:" + path("prefix")).c_str(), 1);
  EXPECT_EQ(find("package://p/m.stl", "far"), ament);
  ::setenv("ROS_PACKAGE_PATH", (":" + path("ros") + "::/nowhere").c_str(), 1);
  EXPECT_EQ(find("package://p/m.stl", "far"), ros);
}

TEST_F(AssetPath, PathsAndFileNames) {
  const std::string mesh = put("robot/meshes/a b.stl");
  fs::create_directories(path("robot/urdf"));
  EXPECT_EQ(find("meshes/a b.stl", "robot"), mesh);
  EXPECT_EQ(find("../meshes/a b.stl", "robot/urdf"), mesh);
  EXPECT_EQ(find("meshes/a b.stl", "robot/urdf"), mesh);
  EXPECT_EQ(find("meshes\\a b.stl", "robot"), mesh);
  EXPECT_EQ(find("a b.stl", "elsewhere", {path("robot/meshes")}), mesh);
  EXPECT_EQ(find(mesh, "robot/urdf"), mesh);
  EXPECT_EQ(find("file://" + path("robot/meshes/a%20b.stl"), "robot"), mesh);
}

TEST_F(AssetPath, FilesOutsideTheTreeAreRefused) {
  const std::string secret = put("home/secret.stl");
  const std::string mesh = put("home/robots/arm/meshes/m.stl");
  fs::create_directories(path("home/robots/arm/urdf"));
  const std::string urdf = "home/robots/arm/urdf";
  for (const std::string& name :
       {secret, "file://" + secret, std::string("../../../secret.stl"), std::string("x/../../../../secret.stl")}) {
    const std::string error = error_of(name, urdf);
    EXPECT_TRUE(contains(error, "lies outside " + path("home/robots/arm") + ", ")) << name << "\n" << error;
    EXPECT_TRUE(contains(error, "--search")) << error;
  }
  // Folders above the tree, and a package's name that is one of a folder which is none: nobody looks there.
  put("home/documents/letter.stl");
  for (const char* name : {"secret.stl", "package://documents/letter.stl"}) {
    const std::string error = error_of(name, urdf);
    EXPECT_TRUE(contains(error, "is not there; looked for " + path(urdf)) && contains(error, "search folder")) << error;
    EXPECT_FALSE(contains(error, path("home/secret.stl")) || contains(error, path("home/documents"))) << error;
  }
  // A link that leads out.
  fs::create_symlink(secret, path("home/robots/arm/meshes/link.stl"));
  EXPECT_TRUE(contains(error_of("../meshes/link.stl", urdf), "lies outside"));
  fs::create_directory_symlink(path("home"), path("home/robots/arm/up"));
  EXPECT_TRUE(contains(error_of("../up/secret.stl", urdf), "lies outside"));
  EXPECT_EQ(find("../meshes/m.stl", urdf), mesh);
  // Open where the user says so.
  EXPECT_EQ(find(secret, urdf, {path("home")}), secret);
  ::setenv("ALMOND_TRUSTED_FOLDERS", ("/nowhere:" + path("home")).c_str(), 1);
  EXPECT_EQ(find("../../../secret.stl", urdf), secret);
  ::unsetenv("ALMOND_TRUSTED_FOLDERS");
}

TEST_F(AssetPath, WhatIsOutsideIsNotTold) {
  put("home/secret.stl");
  put("home/folder/f.stl");
  const std::string urdf = "home/robots/arm/urdf";
  put(urdf + "/arm.urdf");
  fs::create_directory_symlink(path("home"), path("home/robots/arm/up"));
  fs::create_symlink(path("home/secret.stl"), path("home/robots/arm/there.stl"));
  fs::create_symlink(path("home/secre.stl"), path("home/robots/arm/nowhere.stl"));
  // The same words, but for the name, whether a file is there, one of nearly that name, a folder, a device or nothing.
  const auto answer = [&](const std::string& name) {
    const std::string error = error_of(name, urdf);
    return error.substr(std::min(error.find("\" "), error.size()));
  };
  const std::string refusal = answer(path("home/secret.stl"));
  EXPECT_EQ(refusal.find("\" lies outside " + path("home/robots/arm") + ", "), 0U) << refusal;
  for (const std::string& name :
       {path("home/secre.stl"), path("home/folder"), path("nowhere/x.stl"), std::string("/etc/shadw"),
        std::string("/etc/shadow"), std::string("/dev/zero"), "file://" + path("home/secre.stl"),
        std::string("../../../secre.stl"), std::string("../../../folder"), std::string("../../../nowhere/x.stl"),
        std::string("../up/secret.stl"), std::string("../up/secre.stl"), std::string("../up/folder"),
        std::string("../there.stl"), std::string("../nowhere.stl")})
    EXPECT_EQ(answer(name), refusal) << name;
  EXPECT_EQ(answer("secret.stl").find("home/secret"), std::string::npos);
  EXPECT_EQ(answer("secre.stl").find("secret"), std::string::npos);
}

TEST_F(AssetPath, TreeIsThePackage) {
  const std::string mesh = put("ws/arm/assets/deep/m.stl");
  fs::create_directories(path("ws/arm/some/where"));
  EXPECT_TRUE(contains(error_of("../../assets/deep/m.stl", "ws/arm/some/where"), "lies outside"));
  for (const char* mark : {"ws/arm/package.xml", "ws/arm/model.config", "ws/arm/.git"}) {
    put(mark);
    EXPECT_EQ(find("../../assets/deep/m.stl", "ws/arm/some/where"), mesh) << mark;
    fs::remove(path(mark));
  }
  // What was installed is one tree.
  const std::string installed = put("lib/site-packages/suite/textures/t.stl");
  fs::create_directories(path("lib/site-packages/suite/arenas"));
  EXPECT_EQ(find("../textures/t.stl", "lib/site-packages/suite/arenas"), installed);
  EXPECT_TRUE(contains(error_of("../../../../secret.stl", "lib/site-packages/suite/arenas"), "lies outside"));
}

TEST_F(AssetPath, MissingFilesAreToldWithEveryPlace) {
  put("ws/arm/meshes/Link_1.STL");
  const std::string error = error_of("package://arm/meshes/link_1.stl", "ws/arm/urdf", {path("user")});
  for (const char* place : {"user/arm/meshes/link_1.stl", "ws/arm/urdf/arm/meshes/link_1.stl",
                            "ws/arm/arm/meshes/link_1.stl", "ws/arm/meshes/link_1.stl"})
    EXPECT_TRUE(contains(error, path(place))) << place << "\n" << error;
  EXPECT_TRUE(contains(error, "did you mean \"Link_1.STL\"")) << error;
  EXPECT_TRUE(contains(error, "expected a search folder that holds \"arm\"")) << error;
  EXPECT_TRUE(contains(error_of("file://" + path("ws/x.stl"), "ws"), "looked for " + path("ws/x.stl")));
}

TEST_F(AssetPath, OddNamesAreRefused) {
  put("secret.stl");
  put("ws/p/m.stl");
  EXPECT_TRUE(contains(error_of("package://p/../../secret.stl", "ws"), "leaves its package"));
  EXPECT_TRUE(contains(error_of("package://p/a/../../../secret.stl", "ws"), "leaves its package"));
  EXPECT_TRUE(contains(error_of("package://../secret.stl", "ws/p"), "expected package://NAME/path"));
  EXPECT_EQ(find("package://p/a/../m.stl", "ws"), path("ws/p/m.stl"));
  for (const char* name : {"", "package://", "package://p", "package://p/", "package:///"})
    EXPECT_TRUE(contains(error_of(name, "ws"), "expected")) << name;
  EXPECT_TRUE(contains(error_of("http://host/m.stl", "ws"), "expected package://"));
  EXPECT_TRUE(contains(error_of("file:///a%00b", "ws"), "is no file name"));
  EXPECT_TRUE(contains(error_of(std::string(5000, 'a'), "ws"), "is no file name"));
  EXPECT_TRUE(contains(error_of(std::string(4000, 'a'), "ws"), "is not there"));
  EXPECT_EQ(error_of("p", "ws"), "\"p\": " + path("ws/p") + " is a folder, expected a file");
  ASSERT_EQ(::mkfifo(path("ws/pipe.stl").c_str(), 0600), 0);
  EXPECT_EQ(error_of("pipe.stl", "ws"),
            "\"pipe.stl\": " + path("ws/pipe.stl") + " is a device or a pipe, expected a file");
  fs::create_symlink("/dev/zero", path("ws/zero.stl"));
  EXPECT_TRUE(contains(error_of("zero.stl", "ws"), "lies outside"));
  const std::string broken = error_of("a\n\x1b[31mb.stl", "ws");
  EXPECT_TRUE(contains(broken, "/a??[31mb.stl")) << broken;
  EXPECT_EQ(broken.find_first_of("\n\x1b"), std::string::npos) << broken;
}

TEST_F(AssetPath, LoopsOfLinksEnd) {
  fs::create_directories(path("ws/p"));
  fs::create_symlink(path("ws/p/b.stl"), path("ws/p/a.stl"));
  fs::create_symlink(path("ws/p/a.stl"), path("ws/p/b.stl"));
  fs::create_directory_symlink(path("ws"), path("ws/p/up"));
  EXPECT_TRUE(contains(error_of("package://p/a.stl", "ws/p/up/p/up/p"), "is not there"));
  // A robot file behind a link is also looked for where it really lies.
  const std::string mesh = put("real/robot/meshes/m.stl");
  fs::create_directories(path("real/robot/urdf"));
  fs::create_directory_symlink(path("real/robot/urdf"), path("linked"));
  EXPECT_EQ(find("package://robot/meshes/m.stl", "linked"), mesh);
}

}  // namespace
}  // namespace almond::testing
