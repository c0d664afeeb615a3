// Files that mean harm: names that lead out of the model's folder, entities that multiply, sizes that nobody has the
// memory for, links to other files inside HDF5. Each is refused in words, before memory is taken.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>

#include "almond/load/file_io.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/load/scene_file.hpp"
#include "almond/load/urdf.hpp"
#include "almond/load/zip.hpp"
#include "load/load_fixture.hpp"
#include "load/robot_samples.hpp"

#ifdef ALMOND_HAVE_HDF5
#include <hdf5.h>
#endif

namespace almond::testing {
namespace {

class Untrusted : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::filesystem::create_directories(path("bot"));
    write_file(path("secret.stl"), SampleBox().stl_binary());
    write_file(path("secret.xml"), "<mujoco/>");
  }

  std::string mjcf(const std::string& text) {
    write_file(path("bot/m.xml"), text);
    return error_of([&] {
      ModelBuilder builder;
      FileNotes notes;
      add_mjcf(builder, path("bot/m.xml"), {}, notes);
    });
  }
  std::string urdf(const std::string& text) {
    write_file(path("bot/r.urdf"), text);
    return error_of([&] {
      ModelBuilder builder;
      FileNotes notes;
      add_urdf(builder, path("bot/r.urdf"), {}, notes);
    });
  }
  std::string scene(const std::string& text) {
    write_file(path("bot/s.json"), text);
    return error_of([&] { static_cast<void>(load_scene_file(path("bot/s.json"))); });
  }
};

#define EXPECT_SAYS(text, part)                                \
  do {                                                         \
    const std::string message_text = text;                     \
    EXPECT_TRUE(contains(message_text, part)) << message_text; \
  } while (false)

std::string robot_with_mesh(const std::string& file) {
  return R"(<robot name="r"><link name="a"><collision><geometry><mesh filename=")" + file +
         R"("/></geometry></collision></link></robot>)";
}

TEST_F(Untrusted, UrdfNamesNoFileOutside) {
  for (const std::string& name : {std::string("../secret.stl"), path("secret.stl"), "file://" + path("secret.stl")})
    EXPECT_SAYS(urdf(robot_with_mesh(name)), "lies outside");
}

/// A robot with every number that a URDF can have: each one is a letter of its own, so that any can be changed.
const char* const kAllNumbers = R"(<robot name="r"><material name="m"><color rgba="@"/></material>
<link name="a"><inertial><origin xyz="@" rpy="@"/><mass value="@"/><inertia ixx="@" ixy="@" ixz="@" iyy="@" iyz="@" izz="@"/></inertial>
<visual><origin xyz="@" rpy="@"/><geometry><box size="@"/></geometry><material name="n"><color rgba="@"/></material></visual>
<collision><origin xyz="@" rpy="@"/><geometry><mesh filename="own.stl" scale="@"/></geometry></collision>
<collision><geometry><sphere radius="@"/></geometry></collision><collision><geometry><cylinder radius="@" length="@"/></geometry></collision>
<collision><geometry><capsule radius="@" length="@"/></geometry></collision></link><link name="b"/><link name="c"/>
<joint name="j" type="revolute"><origin xyz="@" rpy="@"/><parent link="a"/><child link="b"/><axis xyz="@"/>
<limit lower="@" upper="@" effort="@" velocity="@"/><dynamics damping="@" friction="@"/><calibration rising="@" falling="@"/>
<safety_controller soft_lower_limit="@" soft_upper_limit="@" k_position="@" k_velocity="@"/></joint>
<joint name="k" type="continuous"><parent link="b"/><child link="c"/><mimic joint="j" multiplier="@" offset="@"/></joint></robot>)";

struct Number {
  std::string element, attribute, good;
};

/// The k-th of them is `word`, all others are good; `number` is what stands there.
std::string with_number(int k, const std::string& word, Number& number) {
  std::string text = kAllNumbers;
  number = {};
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; --k) {
    const std::size_t key = text.rfind(' ', at) + 1, name = text.rfind('<', at) + 1;
    const std::string attribute = text.substr(key, at - 2 - key),
                      element = text.substr(name, text.find(' ', name) - name);
    const bool vector = attribute == "xyz" || attribute == "rpy" || attribute == "size" || attribute == "scale";
    const bool small = attribute == "ixy" || attribute == "ixz" || attribute == "iyz" || attribute == "lower" ||
                       attribute == "soft_lower_limit";
    const std::string good = vector ? "1 0.5 2" : attribute == "rgba" ? "1 0 0.5 1" : small ? "0" : "1";
    if (k == 0) number = {element, attribute, good};
    const std::string put = k == 0 ? word.empty() ? good : word : good;
    text.replace(at, 1, put == "EMPTY" ? "" : put);
    at += put.size();
  }
  return text;
}

/// What urdfdom finds wrong with a number it puts into the format of a message: addresses came out with %p, and the
/// program ended with %n. It sees no number that is none.
TEST_F(Untrusted, UrdfNumbersAreNumbers) {
  write_file(path("bot/own.stl"), SampleBox().stl_binary());
  Number number;
  int count = 0;
  for (with_number(0, "", number); !number.attribute.empty(); with_number(++count, "", number)) {
    EXPECT_EQ(urdf(with_number(count, "", number)), "") << number.element;
    const std::string& good = number.good;
    const std::string first = good.substr(0, good.find(' ')), rest = good.substr(first.size());
    for (const std::string& bad :
         {std::string("%p.%p.%p.%p"), std::string("%s%s%s%s%s%s%s%s"), std::string("%n%n"), std::string("&#37;n"),
          std::string("%1000000000d"), std::string("nan"), std::string("-inf"), std::string("INFINITY"),
          std::string("0x1p3"), std::string("1,5"), std::string("1e999"), std::string("1.0m"), std::string("+-1"),
          std::string("--1"), std::string("1e"), std::string("."), std::string("1_0"), std::string("\xef\xbc\x91")}) {
      const std::string error = urdf(with_number(count, bad + rest, number));
      EXPECT_SAYS(error, number.element + ": " + number.attribute + " is \"");
      EXPECT_SAYS(error, ", expected " + std::string(rest.empty()      ? "a number"
                                                     : good.size() > 8 ? "4 numbers"
                                                                       : "3 numbers"));
      EXPECT_TRUE(contains(error, path("bot/r.urdf") + ":") && contains(error, "(nil)") + contains(error, "0x7f") == 0)
          << error;
    }
    EXPECT_SAYS(urdf(with_number(count, "EMPTY", number)), number.attribute + " is \"\", expected ");
    EXPECT_SAYS(urdf(with_number(count, good + " 1", number)), number.attribute + " is \"" + good + " 1\", expected ");
  }
  EXPECT_EQ(count, 39);
}

/// Neither are names formats, in whatever way the sign is written.
TEST_F(Untrusted, UrdfNamesAreNoFormats) {
  for (const char* const name : {"%s%s%s%s%s%s", "%n", "100%", "%%", "a%%%b", "&#37;n", "&#x25;s&#x00025;s&#037;n"}) {
    const std::string n = name;
    std::string plain = n;
    for (const char* const sign : {"&#37;", "&#x25;", "&#x00025;", "&#037;"})
      for (std::size_t at = 0; (at = plain.find(sign)) != std::string::npos;)
        plain.replace(at, std::string(sign).size(), "%");
    const std::string good = "<robot name=\"" + n + "\"><link name=\"" + n +
                             "\"><visual><geometry><sphere radius=\"1\"/></geometry>" + "<material name=\"" + n +
                             "\"><color rgba=\"1 0 0 1\"/></material></visual></link><link name=\"l" + n +
                             "\"/><joint name=\"j" + n + "\" type=\"fixed\"><parent link=\"" + n +
                             "\"/><child link=\"l" + n + "\"/></joint></robot>";
    EXPECT_EQ(urdf(good), "") << n;
    ModelBuilder builder;
    FileNotes notes;
    add_urdf_text(builder, good, "", {}, notes);
    EXPECT_EQ(builder.build().bodies[0].name, plain);
    // A material of no colour, a shape and a type that do not exist.
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>{"<link name=\"l",
                                              "<material name=\"" + n + "\"><color/></material><link name=\"l"},
          {"<sphere radius=\"1\"/>", "<sphere radius=\"1%n\"/>"},
          {"<sphere radius=\"1\"/>", "<x/>"},
          {"type=\"fixed\"", "type=\"" + n + "\""},
          {"child link=\"l", "child link=\"x"}}) {
      std::string text = good;
      text.replace(text.find(from), from.size(), to);
      EXPECT_SAYS(urdf(text), "r.urdf:");
    }
    // A mesh keeps its name.
    EXPECT_SAYS(urdf(robot_with_mesh(n + ".stl")), "\"" + plain + ".stl\" is not there");
  }
}

/// Comments, declarations and references that other parsers end elsewhere would hide elements from our look.
TEST_F(Untrusted, XmlHidesNothing) {
  const std::string link = "<link name=\"a\"/>", two = "<link name=\"b\"/>";
  EXPECT_SAYS(urdf("<robot name=\"r\">" + link + "<!---> <![CDATA[ -->" + two + " ]]></robot>"), "r.urdf:1: ");
  EXPECT_SAYS(urdf("<robot name=\"r\"><?x >" + two + " ?>" + link + "</robot>"),
              "a declaration with < in it, expected one without");
  for (const char* const reference : {"&#000000000000057;", "&#4294967333;", "&#x110000;", "&#0;"})
    EXPECT_SAYS(urdf("<robot name=\"r\"><link name=\"a" + std::string(reference) + "\"/></robot>"),
                "name has a reference to no character, expected &#1; to &#x10ffff;");
}

TEST_F(Untrusted, MjcfNamesNoFileOutside) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  const std::string body = R"(<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>)";
  EXPECT_SAYS(mjcf(R"(<mujoco><asset><mesh name="m" file="../secret.stl"/></asset>)" + body), "lies outside");
  EXPECT_SAYS(mjcf(R"(<mujoco><asset><mesh name="m" file=")" + path("secret.stl") + R"("/></asset>)" + body),
              "lies outside");
  EXPECT_SAYS(mjcf(R"(<mujoco><compiler meshdir=".."/><asset><mesh name="m" file="secret.stl"/></asset>)" + body),
              "lies outside");
  EXPECT_SAYS(mjcf(R"(<mujoco><include file="../secret.xml"/></mujoco>)"), "lies outside");
  EXPECT_SAYS(mjcf(R"(<mujoco><asset><texture name="t" type="cube" fileright="../secret.stl"/></asset></mujoco>)"),
              "lies outside");
  // Through a file that is included.
  write_file(path("bot/inner.xml"), R"(<mujoco><asset><mesh name="m" file="../secret.stl"/></asset></mujoco>)");
  EXPECT_SAYS(mjcf(R"(<mujoco><include file="inner.xml"/></mujoco>)"), "lies outside");
  // Its own, and those that the user opens.
  write_file(path("bot/own.stl"), SampleBox().stl_binary());
  // An attached model's names start from its own folder.
  std::filesystem::create_directories(path("bot/a/b"));
  write_file(path("bot/a/b/part.xml"), R"(<mujoco><asset><mesh name="m" file="../../../secret.stl"/></asset>)" + body);
  EXPECT_SAYS(mjcf(R"(<mujoco><asset><model name="p" file="a/b/part.xml"/></asset></mujoco>)"), "lies outside");
  EXPECT_EQ(mjcf(R"(<mujoco><asset><mesh name="m" file="own.stl"/></asset>)" + body), "");
  ModelBuilder builder;
  FileNotes notes;
  FileOptions options;
  options.search = {path("")};
  write_file(path("bot/m.xml"), R"(<mujoco><asset><mesh name="m" file="../secret.stl"/></asset>)" + body);
  EXPECT_NO_THROW(add_mjcf(builder, path("bot/m.xml"), options, notes));
}

TEST_F(Untrusted, SceneNamesNoFileOutside) {
  const std::string start = R"({"almond_scene": 1, )";
  EXPECT_SAYS(scene(start + R"("robots": [{"file": "../secret.xml"}]})"),
              "robots[0].file: \"../secret.xml\" lies outside");
  EXPECT_SAYS(scene(start + R"("robots": [{"file": "own.urdf", "search": ["/"]}]})"),
              "robots[0].search: \"/\" lies outside");
  EXPECT_SAYS(scene(start + R"("objects": [{"shape": "mesh", "file": "../secret.stl", "mass": 1}]})"),
              "objects[0].file: ");
  EXPECT_SAYS(scene(start + R"("objects": [{"shape": {"kind": "mesh_sdf", "file": "../secret.stl"}, "mass": 1}]})"),
              "lies outside");
}

/// Every element that names a file, with MuJoCo's folder for it; @ stands for the name.
const std::vector<std::string> kMjcfNames = {
    R"(<include file="@"/>)",
    R"(<INCLUDE file="@"/>)",
    R"(<asset><model name="p" file="@"/></asset>)",
    R"(<asset><mesh name="m" file="@"/></asset>)",
    R"(<asset><hfield name="h" file="@" size="1 1 1 1"/></asset>)",
    R"(<asset><skin name="s" file="@"/></asset>)",
    R"(<asset><texture name="t" type="2d" file="@"/></asset>)",
    R"(<asset><texture name="t" type="cube" fileright="@"/></asset>)",
    R"(<asset><texture name="t" type="cube" fileleft="@"/></asset>)",
    R"(<asset><texture name="t" type="cube" fileup="@"/></asset>)",
    R"(<asset><texture name="t" type="cube" filedown="@"/></asset>)",
    R"(<asset><texture name="t" type="cube" filefront="@"/></asset>)",
    R"(<asset><texture name="t" type="cube" fileback="@"/></asset>)",
    R"(<worldbody><body name="b"><flexcomp name="f" type="mesh" file="@"/></body></worldbody>)",
    R"(<worldbody><body name="b"><flexcomp name="f" type="gmsh" file="@"/></body></worldbody>)"};

std::string with_name(const std::string& element, const std::string& name, const std::string& compiler = "") {
  std::string text = "<mujoco>" + compiler + element + "</mujoco>";
  return text.replace(text.find('@'), 1, name);
}

/// The message without the names, which differ.
std::string shape_of(std::string message, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    for (std::size_t at = 0; (at = message.find(name)) != std::string::npos;) message.replace(at, name.size(), "NAME");
  return message;
}

/// Each spelling of a name that leads out is refused, and in the same words whether anything is there or not: against
/// a twin of the file that does not exist.
TEST_F(Untrusted, MjcfNamesNoFileOutsideInAnySpelling) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  std::filesystem::create_directories(path("bot/sub"));
  const std::string folder = path("");
  std::string back = folder;
  std::replace(back.begin(), back.end(), '/', '\\');
  std::filesystem::create_symlink(folder, path("bot/up"));
  for (const char* const kind : {"stl", "xml"}) {
    const std::string there = std::string("secret.") + kind, absent = std::string("secreT.") + kind;
    write_file(path(there), kind == std::string("xml") ? "<mujoco/>" : SampleBox().stl_binary());
    std::filesystem::create_symlink(path(there), path("bot/to_" + there));
    std::filesystem::create_symlink(path(absent), path("bot/to_" + absent));
    for (const std::string& element : kMjcfNames)
      for (const std::string& start : {std::string("../"),
                                       std::string("..\\"),
                                       std::string("sub/../../"),
                                       std::string("sub\\..\\..\\"),
                                       std::string("missing/../../"),
                                       std::string("missing\\..\\../"),
                                       std::string(".//..//"),
                                       std::string("&#46;&#x2e;/"),
                                       std::string("&#x2e;&#46;&#92;"),
                                       std::string("missing/./.././../"),
                                       folder,
                                       back,
                                       "/" + folder,
                                       "//" + folder,
                                       std::string("../../../../../../../../../../../../..") + folder,
                                       std::string("up/"),
                                       std::string("up\\"),
                                       std::string("to_"),
                                       "file://" + folder,
                                       "file:" + folder,
                                       std::string("C:/"),
                                       std::string("C:\\"),
                                       std::string("C:\\..\\..\\"),
                                       std::string("x:/../../"),
                                       std::string("package://bot/../"),
                                       std::string("LoadModelFromString:"),
                                       std::string("../bot.zip/"),
                                       std::string("a.mjz/"),
                                       std::string("../a.ZIP\\")}) {
        const std::string first = mjcf(with_name(element, start + there)),
                          second = mjcf(with_name(element, start + absent));
        EXPECT_EQ(shape_of(first, {there}), shape_of(second, {absent})) << element << start;
        EXPECT_TRUE(contains(first, " lies outside ") || contains(first, " is no path, ") ||
                    contains(first, " is an archive, "))
            << element << start << ": " << first;
        EXPECT_TRUE(contains(first, "m.xml:1: ")) << first;
      }
  }
}

/// The same by the folders that names start from.
TEST_F(Untrusted, MjcfFoldersLeadNowhereElse) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  const std::string mesh = R"(<asset><mesh name="m" file="@"/></asset>)";
  std::filesystem::create_directories(path("bot/sub"));
  write_file(path("bot/sub/own.stl"), SampleBox().stl_binary());
  for (const char* const key : {"meshdir", "assetdir"})
    for (const std::string& folder :
         {std::string(".."), std::string("missing\\..\\.."), std::string("sub/../.."), path("")})
      for (const char* const inner : {"", "./", "sub/../"}) {
        const std::string compiler = "<compiler " + std::string(key) + "=\"" + folder + "\"/>";
        const std::string first = mjcf(with_name(mesh, inner + std::string("secret.stl"), compiler));
        EXPECT_EQ(shape_of(first, {"secret"}),
                  shape_of(mjcf(with_name(mesh, inner + std::string("absent.stl"), compiler)), {"absent"}));
        EXPECT_SAYS(first, "lies outside");
      }
  EXPECT_SAYS(mjcf(with_name(mesh, "own.stl", R"(<compiler meshdir="C:\sub"/>)")),
              "compiler: meshdir: \"C:\\sub\" is no path, ");
  // What strippath leaves of a name is the name.
  EXPECT_EQ(mjcf(with_name(mesh, "package://x/../../own.stl", R"(<compiler meshdir="sub" strippath="true"/>)")), "");
  EXPECT_EQ(mjcf(with_name(mesh, "/etc/own.stl", R"(<compiler meshdir="sub" strippath="true"/>)")), "");
  EXPECT_SAYS(mjcf(with_name(mesh, "/etc/secret.stl", R"(<compiler meshdir=".." strippath="true"/>)")), "lies outside");
  EXPECT_EQ(mjcf(with_name(mesh, "..\\sub\\own.stl", R"(<compiler meshdir="missing"/>)")), "");
  std::string many;
  for (int i = 0; i < 32; ++i) many += "<compiler meshdir=\"d" + std::to_string(i) + "\"/>";
  EXPECT_SAYS(mjcf(with_name(mesh, "own.stl", many)), "is folder 33 of the model, expected at most 32");
}

/// Pipes, devices and folders are refused in words: MuJoCo would wait for a pipe for ever.
TEST_F(Untrusted, MjcfOpensPlainFilesOnly) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  ASSERT_EQ(::mkfifo(path("bot/pipe").c_str(), 0600), 0);
  std::filesystem::create_directories(path("bot/folder"));
  FileOptions all;
  all.search = {"/"};
  for (const std::string& element : kMjcfNames) {
    EXPECT_SAYS(mjcf(with_name(element, "pipe")), "m.xml:1: ");
    EXPECT_SAYS(mjcf(with_name(element, "pipe")), ": \"pipe\" is a device or a pipe, expected a file");
    EXPECT_SAYS(mjcf(with_name(element, "folder")), ": \"folder\" is a folder, expected a file");
    write_file(path("bot/m.xml"), with_name(element, "/dev/zero"));
    EXPECT_SAYS(error_of([&] {
                  ModelBuilder builder;
                  FileNotes notes;
                  add_mjcf(builder, path("bot/m.xml"), all, notes);
                }),
                ": \"/dev/zero\" is a device or a pipe, expected a file");
  }
  std::filesystem::rename(path("bot/pipe"), path("bot/m.xml"));
  ModelBuilder builder;
  FileNotes notes;
  EXPECT_EQ(error_of([&] { add_mjcf(builder, path("bot/m.xml"), {}, notes); }),
            path("bot/m.xml") + ": is a device or a pipe, expected a file");
}

/// Whoever finds a way around the names finds the limits at its end: nothing is parsed that was not looked through.
TEST_F(Untrusted, MjcfLimitsHoldInEverySpelling) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  std::filesystem::create_directories(path("bot/sub"));
  const std::string bomb =
      R"(<mujoco><worldbody><replicate count="3000"><replicate count="300"><geom size=".1"/></replicate></replicate></worldbody></mujoco>)";
  write_file(path("bot/sub/bomb.xml"), bomb);
  for (const char* const name :
       {"sub/bomb.xml", "sub\\bomb.xml", "missing/../sub\\bomb.xml", "./sub//bomb.xml", "sub&#92;bomb.xml"})
    for (const char* const element :
         {R"(<include file="@"/>)", R"(<Include file="@"/>)", R"(<asset><model file="@"/></asset>)"})
      EXPECT_SAYS(mjcf(with_name(element, name)), "bomb.xml:1: replicate makes 900000 copies, expected at most 100000");
  EXPECT_SAYS(mjcf(R"(<mujoco><!---> <![CDATA[ --> <include file="sub/bomb.xml"/> ]]></mujoco>)"),
              "bomb.xml:1: replicate makes 900000 copies");
  EXPECT_SAYS(
      mjcf(
          R"(<mujoco><worldbody><replicate count="&#00000000057;99999"><geom size="1"/></replicate></worldbody></mujoco>)"),
      "count has a reference to no character");
}

/// MuJoCo 4.0 looks at what is not there, and ends the program.
TEST_F(Untrusted, MjcfModelsHaveAFile) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  for (const char* const model : {"<model/>", R"(<model name="p"/>)", R"(<model name="p" content_type="text/xml"/>)"})
    EXPECT_SAYS(mjcf("<mujoco><asset>" + std::string(model) + "</asset></mujoco>"),
                "m.xml:1: model without a file, expected one");
}

/// Files of subfolders start their names where MuJoCo has them start, also where the model is named by a relative path.
TEST_F(Untrusted, MjcfReadsItsOwnFiles) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  std::filesystem::create_directories(path("bot/sub/M"));
  const std::string use = R"(<worldbody><body name="b"><geom type="mesh" mesh="m"/></body></worldbody></mujoco>)";
  for (const char* const place : {"bot/top.stl", "bot/sub/own.stl", "bot/sub/M/part.stl"})
    write_file(path(place), SampleBox().stl_binary());
  const auto inner = [&](const std::string& mesh, const std::string& compiler = "") {
    write_file(path("bot/sub/i.xml"),
               "<mujoco>" + compiler + "<asset><mesh name=\"m\" file=\"" + mesh + "\"/></asset>" + use);
  };
  const std::string
      included = R"(<mujoco><include file="sub\i.xml"/></mujoco>)",
      attached =
          R"(<mujoco><asset><model name="p" file="sub/i.xml"/></asset><worldbody><frame><attach model="p" body="b" prefix="q"/></frame></worldbody></mujoco>)";
  for (const char* const mesh :
       {"top.stl", "sub/own.stl", "own.stl", "../top.stl", "sub\\own.stl", "..\\sub/own.stl"}) {
    inner(mesh);
    EXPECT_EQ(mjcf(included), "") << mesh;
  }
  inner("part.stl", R"(<compiler meshdir="M"/>)");
  EXPECT_EQ(mjcf(attached), "");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(path("bot/sub"));
  for (const char* const file : {"../m.xml", "i.xml", "./i.xml", "../sub/i.xml"}) {
    ModelBuilder builder;
    FileNotes notes;
    EXPECT_EQ(error_of([&] { add_mjcf(builder, file, {}, notes); }), "") << file;
  }
  std::filesystem::current_path(before);
}

/// Links and pipes are judged alike in the other formats.
TEST_F(Untrusted, OtherFilesAreJudgedAlike) {
  ASSERT_EQ(::mkfifo(path("bot/pipe.stl").c_str(), 0600), 0);
  std::filesystem::create_symlink(path("secret.stl"), path("bot/to_secret.stl"));
  std::filesystem::create_symlink(path("absent.stl"), path("bot/to_absent.stl"));
  const std::string start = R"({"almond_scene": 1, "objects": [{"shape": "mesh", "file": ")",
                    end = R"(", "mass": 1}]})",
                    sdf = R"({"almond_scene": 1, "objects": [{"shape": {"kind": "mesh_sdf", "file": ")",
                    sdf_end = R"("}, "mass": 1}]})", robot = R"({"almond_scene": 1, "robots": [{"file": ")",
                    robot_end = R"("}]})";
  const std::vector<std::function<std::string(const std::string&)>> doors = {
      [&](const std::string& name) { return urdf(robot_with_mesh(name)); },
      [&](const std::string& name) { return scene(start + name + end); },
      [&](const std::string& name) { return scene(sdf + name + sdf_end); },
      [&](const std::string& name) { return scene(robot + name + robot_end); }};
  for (const auto& door : doors)
    for (const std::string& lead : {std::string("../"), std::string("missing/../../"), path(""), std::string("to_")}) {
      const std::string first = door(lead + "secret.stl"), second = door(lead + "absent.stl");
      EXPECT_EQ(shape_of(first, {"secret"}), shape_of(second, {"absent"}));
      EXPECT_SAYS(first, "lies outside");
    }
  for (std::size_t door = 0; door < 3; ++door) EXPECT_SAYS(doors[door]("pipe.stl"), ", expected a ");
}

/// Materials and pictures that a mesh names are nobody's business: a pipe in their place would be waited for.
TEST_F(Untrusted, MeshesNameNoOtherFiles) {
  ASSERT_EQ(::mkfifo(path("bot/pipe.mtl").c_str(), 0600), 0);
  write_file(path("bot/m.obj"), "mtllib pipe.mtl\nusemtl a\n" + SampleBox().obj());
  std::string dae = SampleBox().dae();
  const std::string picture =
      "<library_images><image id=\"i\"><init_from>pipe.mtl</init_from></image></library_images>";
  write_file(path("bot/m.dae"), dae.insert(dae.find("<library_geometries"), picture));
  EXPECT_EQ(urdf(robot_with_mesh("m.obj")), "");
  EXPECT_EQ(urdf(robot_with_mesh("m.dae")), "");
  if (!have_mujoco()) return;
  EXPECT_EQ(
      mjcf(
          R"(<mujoco><asset><mesh name="m" file="m.obj"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>)"),
      "");
}

/// What a scene file searches is a part of its tree; what links in there lead to is not. A user's folders are open.
TEST_F(Untrusted, SceneSearchIsNoWayOut) {
  for (const char* folder : {"bot/r", "bot/meshes"}) std::filesystem::create_directories(path(folder));
  write_file(path("bot/meshes/own.stl"), SampleBox().stl_binary());
  std::filesystem::create_symlink(path("secret.stl"), path("bot/meshes/out.stl"));
  const auto read = [&](const std::string& robot, const std::string& text, bool by_user) {
    write_file(path("bot/r/" + robot), text);
    write_file(path("bot/s.json"),
               R"({"almond_scene": 1, "robots": [{"file": "r/)" + robot + R"(", "search": ["meshes"]}]})");
    return error_of([&] {
      FileOptions options = load_scene_file(path("bot/s.json")).robots[0].options;
      if (by_user) options.search = {path("bot/meshes")};
      ModelBuilder builder;
      FileNotes notes;
      if (robot == "r.urdf") add_urdf(builder, path("bot/r/r.urdf"), options, notes);
      if (robot == "r.xml") add_mjcf(builder, path("bot/r/r.xml"), options, notes);
    });
  };
  EXPECT_EQ(read("r.urdf", robot_with_mesh("own.stl"), false), "");
  EXPECT_NE(read("r.urdf", robot_with_mesh("out.stl"), false), "");
  EXPECT_SAYS(read("r.urdf", robot_with_mesh("../meshes/out.stl"), false), "lies outside");
  EXPECT_EQ(read("r.urdf", robot_with_mesh("out.stl"), true), "");
  if (!have_mujoco()) return;
  const auto mjcf_with = [](const std::string& mesh) {
    return R"(<mujoco><asset><mesh name="m" file="../meshes/)" + mesh +
           R"("/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>)";
  };
  EXPECT_EQ(read("r.xml", mjcf_with("own.stl"), false), "");
  EXPECT_SAYS(read("r.xml", mjcf_with("out.stl"), false), "lies outside");
  EXPECT_EQ(read("r.xml", mjcf_with("out.stl"), true), "");
}

/// What is shown often, or shared by many, has a size as often as it is used.
TEST_F(Untrusted, ColladaVerticesAreCounted) {
  const auto dae = [&](int vertices, int geometries, int times) {
    std::string text = R"(<COLLADA><library_geometries><geometry id="s"><mesh><source id="p"><float_array id="a">)";
    for (int i = 0; i < vertices / 4; ++i) text += "0 0 0 1 0 0 0 1 0 0 0 1 ";
    text += R"(</float_array><technique_common><accessor source="#a" stride="3"/></technique_common></source></mesh>)";
    text += "</geometry>";
    for (int g = 0; g < geometries; ++g) {
      const std::string id = std::to_string(g);
      text += "<geometry id=\"g" + id + "\"><mesh><vertices id=\"v" + id +
              R"("><input semantic="POSITION" source="#p"/></vertices><triangles>)" +
              R"(<input semantic="VERTEX" source="#v)" + id +
              R"(" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry>)";
    }
    text += R"(</library_geometries><library_visual_scenes><visual_scene id="n"><node>)";
    for (int i = 0; i < times; ++i) text += "<instance_geometry url=\"#g" + std::to_string(i % geometries) + "\"/>";
    write_file(path("bot/m.dae"), text + "</node></visual_scene></library_visual_scenes></COLLADA>");
    return urdf(robot_with_mesh("m.dae"));
  };
  EXPECT_EQ(dae(4, 1, 1), "");
  EXPECT_SAYS(dae(20'000, 1, 501), "more than 10000000 vertices, expected fewer");    // shown 501 times
  EXPECT_SAYS(dae(20'000, 501, 501), "more than 10000000 vertices, expected fewer");  // kept 501 times
}

TEST_F(Untrusted, XmlAttributesAreFew) {
  const auto with = [](int count) {
    std::string text = "<robot name=\"r\"";
    for (int i = 1; i < count; ++i) text += " a" + std::to_string(i) + "=\"1\"";
    return text + "><link name=\"a\"/></robot>";
  };
  EXPECT_EQ(urdf(with(1000)), "");
  EXPECT_SAYS(urdf(with(1001)), "r.urdf:1: <robot> has more than 1000 attributes, expected fewer");
  if (have_mujoco()) EXPECT_SAYS(mjcf(with(1001)), "has more than 1000 attributes");
}

TEST_F(Untrusted, ErrorsOfJsonAreShort) {
  const std::string error = scene(R"({"almond_scene": 1, "name": ")" + std::string(3'000'000, 'a'));
  EXPECT_SAYS(error, "is no JSON: parse error at line 1, column ");
  EXPECT_SAYS(error, "last read: '...aaaa");
  EXPECT_LT(error.size(), path("bot/s.json").size() + 300);
}

TEST_F(Untrusted, EntitiesDoNotMultiply) {
  std::string bomb = "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a0 \"" + std::string(100, 'a') + "\">";
  for (int i = 1; i < 12; ++i) {
    std::string ten;
    for (int k = 0; k < 10; ++k) ten += "&a" + std::to_string(i - 1) + ";";
    bomb += "<!ENTITY a" + std::to_string(i) + " \"" + ten + "\">";
  }
  bomb += "<!ENTITY out SYSTEM \"file://" + path("secret.xml") + "\">]>";
  EXPECT_SAYS(urdf(bomb + "<robot name=\"&a11;\"><link name=\"&out;\"/></robot>"),
              "a DOCTYPE with definitions, expected none");
  write_file(path("bot/m.dae"), bomb + "<COLLADA>&a11;&out;</COLLADA>");
  EXPECT_SAYS(urdf(robot_with_mesh("m.dae")), "a DOCTYPE with definitions, expected none");
  if (!have_mujoco()) return;
  EXPECT_NE(mjcf(bomb + "<mujoco model=\"&a11;\"><worldbody>&out;</worldbody></mujoco>"), "");
}

TEST_F(Untrusted, MjcfClaimsNoMemory) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  EXPECT_SAYS(
      mjcf(R"(<mujoco><asset><hfield name="h" nrow="1048576" ncol="1048576" size="1 1 1 1"/></asset></mujoco>)"),
      "expected at most");
  EXPECT_SAYS(
      mjcf(
          R"(<mujoco><asset><texture name="t" type="2d" builtin="flat" width="1048576" height="1048576"/></asset></mujoco>)"),
      "expected at most");
  EXPECT_SAYS(
      mjcf(
          R"(<mujoco><worldbody><replicate count="10000"><replicate count="10000"><geom size="1"/></replicate></replicate></worldbody></mujoco>)"),
      "copies");
  // Outer copies count, also over the bounds of files, and so do those of grids.
  write_file(path("bot/inner.xml"),
             R"(<mujoco><worldbody><replicate count="10000"><geom size="1"/></replicate></worldbody></mujoco>)");
  EXPECT_SAYS(
      mjcf(
          R"(<mujoco><worldbody><replicate count="10000"><include file="inner.xml"/></replicate></worldbody></mujoco>)"),
      "inner.xml:1: replicate makes 1e+08 copies, expected at most 100000");
  EXPECT_SAYS(
      mjcf(
          R"(<mujoco><worldbody><replicate count="1000"><flexcomp count="10 10 10"/></replicate></worldbody></mujoco>)"),
      "flexcomp makes 1e+06 copies, expected at most 100000");
  // Each of them is allowed, but not all together.
  std::string fields;
  for (int i = 0; i < 20; ++i)
    fields += "<hfield name=\"h" + std::to_string(i) + R"(" nrow="8192" ncol="8192" size="1 1 1 1"/>)";
  EXPECT_SAYS(mjcf("<mujoco><asset>" + fields + "</asset></mujoco>"), "expected at most 4 GB");
  std::string geoms;
  for (int i = 0; i < 100; ++i) geoms += R"(<geom size="1"/>)";
  EXPECT_SAYS(mjcf(R"(<mujoco><worldbody><replicate count="90000">)" + geoms + "</replicate></worldbody></mujoco>"),
              "expected at most 4 GB");
}

/// <size> asks for room in every element and for every keyframe.
TEST_F(Untrusted, MjcfReservesNoMemory) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  const auto with = [&](const std::string& start, int bodies, const std::string& end = "") {
    std::string text;
    for (int i = 0; i < bodies; ++i) text += R"(<body><freejoint/><geom size="1"/></body>)";
    return mjcf("<mujoco>" + start + "<worldbody>" + text + "</worldbody>" + end + "</mujoco>");
  };
  for (const char* kind : {"body", "geom", "jnt"})
    EXPECT_SAYS(with("<size nuser_" + std::string(kind) + "=\"1000000\"/>", 600),
                "m.xml: nuser_" + std::string(kind) + ": up to here the model takes about ");
  EXPECT_SAYS(with(R"(<size nkey="100000"/>)", 600), "m.xml: nkey: up to here the model takes about ");
  EXPECT_SAYS(with(R"(<size nkey="100001"/>)", 1), "m.xml: has 100001 keyframes, expected at most 100000");
  std::string words, keys;
  for (int i = 0; i < 100'000; ++i) words += "1 ";
  EXPECT_SAYS(with("<default><geom user=\"" + words + "\"/></default>", 6000), "m.xml: nuser_geom: ");
  for (int i = 0; i < 20'000; ++i) keys += "<key/>";
  EXPECT_SAYS(with("", 1500, "<keyframe>" + keys + "</keyframe>"), "m.xml: nkey: ");
  // Copies count, and so does what is attached.
  EXPECT_SAYS(
      mjcf(
          R"(<mujoco><size nuser_geom="100000"/><worldbody><replicate count="6000"><geom size="1"/></replicate></worldbody></mujoco>)"),
      "m.xml: nuser_geom: ");
  write_file(
      path("bot/part.xml"),
      R"(<mujoco><worldbody><body name="b"><replicate count="6000"><geom size="1"/></replicate></body></worldbody></mujoco>)");
  EXPECT_SAYS(
      mjcf(
          R"(<mujoco><asset><model name="p" file="part.xml"/></asset><size nuser_geom="100000"/><worldbody><frame><attach model="p" body="b" prefix="a"/></frame></worldbody></mujoco>)"),
      "m.xml: nuser_geom: ");
  EXPECT_EQ(with(R"(<size nuser_body="5" nuser_geom="5" nkey="10"/>)", 20), "");
}

/// MuJoCo makes these itself, from one number in the file.
TEST_F(Untrusted, MjcfBuiltinMeshesAreSmall) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  const auto mesh = [](const std::string& kind, const std::string& params, const std::string& name = "m") {
    return "<mesh name=\"" + name + "\" builtin=\"" + kind + "\" params=\"" + params + "\"/>";
  };
  const auto with = [&](const std::string& meshes) {
    return mjcf("<mujoco><asset>\n" + meshes +
                R"(</asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>)");
  };
  EXPECT_SAYS(with(mesh("supersphere", "100000 1 1")), "m.xml:2: mesh: params has \"100000\", expected at most 400");
  for (const auto& [kind, params] : {std::pair{"plate", "30 30000"}, std::pair{"wedge", "30000 30000 60 60 0"},
                                     std::pair{"cone", "100000000 1"}, std::pair{"supertorus", "30000 0.2 1 1"},
                                     std::pair{"supersphere", "3000 1 1"}, std::pair{"supersphere", "nan 1 1"},
                                     std::pair{"supersphere", "inf 1 1"}, std::pair{"supersphere", "-1e300 1 1"}})
    EXPECT_SAYS(with(mesh(kind, params)), "expected at most 400");
  // Each of them is allowed, but not all together.
  std::string many;
  for (int i = 0; i < 50; ++i) many += mesh("supersphere", "300 1 1", "m" + std::to_string(i));
  EXPECT_SAYS(with(many), "expected at most 4 GB");
  EXPECT_EQ(with(mesh("supersphere", "10 1 1")), "");
  EXPECT_EQ(with(mesh("wedge", "5 5 60 60 0")), "");
}

TEST_F(Untrusted, MjcfSensorsAndActuatorsAreSmall) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  const auto with = [&](const std::string& text, const std::string& resolution = "64 48") {
    return mjcf("<mujoco>\n" + text + "<worldbody><camera name=\"c\" resolution=\"" + resolution +
                R"("/><body><joint name="j"/><geom size="1"/></body></worldbody></mujoco>)");
  };
  EXPECT_SAYS(with(R"(<sensor><user dim="100000000"/></sensor>)"),
              "m.xml:2: user: dim has \"100000000\", expected at most 1000000");
  EXPECT_SAYS(with(R"(<sensor><contact num="100000000"/></sensor>)"), "contact: num has");
  EXPECT_SAYS(with(R"(<sensor><clock nsample="100000000" delay="1"/></sensor>)"), "clock: nsample has");
  EXPECT_SAYS(with(R"(<actuator><general joint="j" dyntype="user" actdim="100000000"/></actuator>)"),
              "general: actdim has");
  EXPECT_SAYS(with(R"(<default><general actdim="100000000"/></default>)"), "general: actdim has");
  EXPECT_SAYS(with(R"(<sensor><rangefinder camera="c"/></sensor>)", "30000 30000"),
              "camera: resolution has \"30000\", expected at most 16384");
  EXPECT_SAYS(with(R"(<default><camera resolution="9 30000"/></default>)"), "camera: resolution has");
  // Each of them is allowed, but not all together.
  EXPECT_SAYS(with(R"(<sensor><rangefinder camera="c"/></sensor>)", "16000 16000"),
              "m.xml:2: rangefinder: up to here the model takes about ");
  EXPECT_SAYS(with(R"(<sensor><contact num="1000000" nsample="1000"/></sensor>)"), "expected at most 4 GB");
  std::string motors;
  for (int i = 0; i < 200; ++i) motors += R"(<motor joint="j"/>)";
  EXPECT_SAYS(with(R"(<default><general nsample="1000000"/></default><actuator>)" + motors + "</actuator>"),
              "motor: up to here the model takes about ");
  EXPECT_EQ(with(R"(<sensor><user dim="3"/><rangefinder camera="c"/><contact num="4"/></sensor>)"), "");
  EXPECT_EQ(with(R"(<default><general nsample="4"/></default><actuator><motor joint="j" delay="0.01"/></actuator>)"),
            "");
}

TEST_F(Untrusted, MjcfTakesNoTimeWithoutEnd) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  EXPECT_SAYS(mjcf(R"(<mujoco><compiler><lengthrange inttotal="1e9"/></compiler></mujoco>)"),
              "m.xml:1: lengthrange: inttotal is 1e+11 times the timestep, expected at most 100000");
  EXPECT_SAYS(mjcf(R"(<mujoco><compiler><lengthrange timestep="0"/></compiler></mujoco>)"), "lengthrange: inttotal is");
  EXPECT_EQ(mjcf(R"(<mujoco><compiler><lengthrange inttotal="20" timestep="0.005"/></compiler></mujoco>)"), "");
  EXPECT_SAYS(
      mjcf(
          R"(<mujoco><worldbody><body name="b"><flexcomp count="3 3 3" cellcount="100 100 100"/></body></worldbody></mujoco>)"),
      "copies, expected at most 100000");
}

TEST_F(Untrusted, MjcfThatIsNotThere) {
  ModelBuilder builder;
  FileNotes notes;
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  EXPECT_EQ(error_of([&] { add_mjcf(builder, path("bot/none.xml"), {}, notes); }),
            path("bot/none.xml") + ": cannot be opened (No such file or directory)");
}

/// 30 small files, each with the next one in it twice.
TEST_F(Untrusted, AttachedModelsDoNotMultiply) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  const auto model = [](int next, const std::string& attach) {
    return "<mujoco><asset><model name=\"n\" file=\"m" + std::to_string(next) +
           R"(.xml"/></asset><worldbody><body name="b"><geom size="1"/>)" + attach + "</body></worldbody></mujoco>";
  };
  const std::string twice =
      R"(<frame><attach model="n" body="b" prefix="p"/></frame><frame><attach model="n" body="b" prefix="q"/></frame>)";
  for (int i = 1; i < 30; ++i) write_file(path("bot/m" + std::to_string(i) + ".xml"), model(i + 1, twice));
  write_file(path("bot/m30.xml"), R"(<mujoco><worldbody><body name="b"><geom size="1"/></body></worldbody></mujoco>)");
  const std::string said = mjcf(model(1, ""));
  EXPECT_SAYS(said, ".xml:1: attach: up to here the model takes about ");
  EXPECT_SAYS(said, "expected at most 4 GB");
  // The last ones of them are few enough.
  EXPECT_EQ(mjcf(model(27, twice)), "");
  // To name a model is to read it, with all that it names.
  const std::string two =
      R"(<mujoco><asset><model name="a" file="NEXT"/><model name="b" file="NEXT"/></asset></mujoco>)";
  for (int i = 1; i < 30; ++i) {
    std::string text = two;
    for (std::size_t at = 0; (at = text.find("NEXT")) != std::string::npos;)
      text.replace(at, 4, "m" + std::to_string(i + 1) + ".xml");
    write_file(path("bot/m" + std::to_string(i) + ".xml"), text);
  }
  EXPECT_SAYS(mjcf(model(1, "")), ".xml:1: model: up to here the model takes about ");
}

TEST_F(Untrusted, MjcfHasNotTooManyFiles) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  std::string text = "<mujoco>";
  for (int i = 0; i < 1001; ++i) {
    write_file(path("bot/i" + std::to_string(i) + ".xml"), "<mujoco/>");
    text += "<include file=\"i" + std::to_string(i) + ".xml\"/>";
  }
  EXPECT_SAYS(mjcf(text + "</mujoco>"), "is file 1001 of the model, expected at most 1000");
}

TEST_F(Untrusted, NeitherDeepNorHuge) {
  std::string deep, objects;
  for (int i = 0; i < 250; ++i) deep += "<body>", objects += "[";
  EXPECT_SAYS(urdf("<robot name=\"r\">" + deep), "nested deeper");
  if (have_mujoco()) EXPECT_SAYS(mjcf("<mujoco><worldbody>" + deep), "nested deeper");
  EXPECT_SAYS(scene(R"({"almond_scene": 1, "objects": )" + objects), "more than 200 brackets inside each other");
  write_file(path("bot/m.stl"), "solid");
  std::filesystem::resize_file(path("bot/m.stl"), std::uintmax_t{513} << 20U);  // of nothing: it takes no place
  EXPECT_SAYS(urdf(robot_with_mesh("m.stl")), "has 513 MB, expected at most 512 MB");
}

/// What is not looked through here is not given to MuJoCo, which would read what it names.
TEST_F(Untrusted, MjcfIsReadHereBeforeMujocoReadsIt) {
  if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  EXPECT_SAYS(
      mjcf(R"(<!DOCTYPE a [<!ENTITY b "c">]><mujoco><asset><mesh name="m" file="../secret.stl"/></asset></mujoco>)"),
      "a DOCTYPE with definitions, expected none");
}

/// A member of zeros packed as tightly as deflate can, whatever its size: the checksum is not looked at before the
/// size.
TEST_F(Untrusted, SmallArchiveDoesNotGrowLarge) {
  NpzArchive archive;
  archive.set("A", NpzArray({4 << 20}, std::vector<double>(4 << 20)));  // 32 MB in 33 kB
  const std::string one = make_zip({{"A.npy", read_zip(archive.to_bytes("x"), "x")[0].bytes}}, "x");
  ASSERT_LT(one.size(), 100'000U);
  // The same member forty times over: 1.3 GB from 35 kB.
  const std::size_t directory = one.rfind("PK\x01\x02"), end = one.rfind("PK\x05\x06");
  std::string bomb = one.substr(0, directory), last = one.substr(end);
  for (int i = 0; i < 40; ++i) bomb += one.substr(directory, end - directory);
  last[8] = last[10] = 40;
  bomb += last;
  const std::string error = error_of([&] { static_cast<void>(read_zip(bomb, "bomb")); });
  EXPECT_SAYS(error, "bytes when unpacked, from a file of");
  EXPECT_EQ(read_zip(one, "x")[0].bytes.size(), (32U << 20U) + 128U);
}

/// Small numbers and short texts are larger in memory than they are packed.
TEST_F(Untrusted, NpzFieldsTakeNoMoreThanTheyMay) {
  const auto member = [](const std::string& type, std::size_t count) {
    std::string header =
        "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + std::to_string(count) + ",), }";
    header.append(63 - (10 + header.size()) % 64, ' ');
    const std::string start("\x93NUMPY\x01\x00", 8);
    return start + static_cast<char>(header.size() + 1) + '\0' + header + '\n' + std::string(count, '\x01');
  };
  const auto error = [](const std::vector<ZipMember>& members) {
    return error_of([&] { static_cast<void>(NpzArchive::from_bytes(make_zip(members, "x"), "x.npz")); });
  };
  const std::string numbers = member("|i1", 70'000'000), texts = member("|S1", 33'000'000);
  EXPECT_SAYS(error({{"a.npy", numbers}, {"b.npy", numbers}}), "x.npz: field \"b\": up to here the fields take ");
  EXPECT_SAYS(error({{"a.npy", texts}}), "x.npz: field \"a\": up to here the fields take ");
  EXPECT_EQ(error({{"a.npy", member("|i1", 1000)}, {"b.npy", member("|S1", 1000)}}), "");
}

TEST_F(Untrusted, ClaimOfTooManyRows) {
  // A shape of 2^40 rows over eight bytes of data.
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string npy = "\x93NUMPY";
  npy += '\x01';
  npy += '\x00';
  npy += static_cast<char>(header.size());
  npy += '\x00';
  npy += header + std::string(8, '\0');
  EXPECT_SAYS(error_of([&] {
                static_cast<void>(NpzArchive::from_bytes(make_zip({{"b.npy", npy}}, "x"), "x"));
              }),
              "needs more than the 8 bytes");
  // Triangles that an STL file of 84 bytes does not have.
  std::string stl(80, ' ');
  stl += "\xff\xff\xff\xff";
  write_file(path("bot/m.stl"), stl);
  EXPECT_NE(urdf(robot_with_mesh("m.stl")), "");
}

#ifdef ALMOND_HAVE_HDF5

/// A global problem whose dataset `name` is replaced by what `make` puts there.
template <class Make>
std::string hdf5_error(const std::string& file, const std::string& name, const Make& make) {
  ContactProblem problem;
  problem.add_subsystem(Mat3::Identity(), Vec3(0, 0, -1));
  problem.add_contact(0.5, Vec3::Zero(), SideInput{0, Mat3::Identity(), -1, {}});
  save_problem(problem, file);
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  EXPECT_GE(H5Ldelete(id, name.c_str(), H5P_DEFAULT), 0);
  make(id);
  H5Fclose(id);
  return error_of([&] { static_cast<void>(load_problem(file)); });
}

TEST_F(Untrusted, Hdf5ReadsNoOtherFile) {
  const std::string name = "fclib_global/vectors/f";
  write_file(path("other"), std::string(24, '\x41'));
  EXPECT_SAYS(
      hdf5_error(path("a.hdf5"), name,
                 [&](hid_t id) {
                   const hsize_t count = 3;
                   const hid_t space = H5Screate_simple(1, &count, nullptr), plan = H5Pcreate(H5P_DATASET_CREATE);
                   H5Pset_external(plan, path("other").c_str(), 0, 24);
                   H5Dclose(H5Dcreate2(id, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, plan, H5P_DEFAULT));
                   H5Pclose(plan);
                   H5Sclose(space);
                 }),
      "not in the file");
  save_problem(
      [] {
        ContactProblem problem;
        problem.add_subsystem(Mat3::Identity(), Vec3(0, 0, -1));
        problem.add_contact(0.5, Vec3::Zero(), SideInput{0, Mat3::Identity(), -1, {}});
        return problem;
      }(),
      path("b.hdf5"));
  EXPECT_SAYS(hdf5_error(path("a.hdf5"), name,
                         [&](hid_t id) {
                           H5Lcreate_external(path("b.hdf5").c_str(), name.c_str(), id, name.c_str(), H5P_DEFAULT,
                                              H5P_DEFAULT);
                         }),
              "is missing");
}

TEST_F(Untrusted, Hdf5ClaimOfTooManyRows) {
  const std::string name = "fclib_global/vectors/f";
  for (const bool chunked : {false, true})
    EXPECT_SAYS(
        hdf5_error(path("a.hdf5"), name,
                   [&](hid_t id) {
                     const hsize_t count = hsize_t{1} << 40U, chunk = 1024;
                     const hid_t space = H5Screate_simple(1, &count, nullptr), plan = H5Pcreate(H5P_DATASET_CREATE);
                     if (chunked) H5Pset_chunk(plan, 1, &chunk);
                     H5Dclose(H5Dcreate2(id, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, plan, H5P_DEFAULT));
                     H5Pclose(plan);
                     H5Sclose(space);
                   }),
        "claims 1099511627776 values");
}

#endif  // ALMOND_HAVE_HDF5

}  // namespace
}  // namespace almond::testing
