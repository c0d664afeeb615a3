// What decides how a file is read: the first element of an XML text, against the one that was written; and one object
// of a command line, against the same object in a scene file.

#include <gtest/gtest.h>

#include "almond/load/scene_file.hpp"
#include "almond/load/xml_scan.hpp"
#include "common/helpers.hpp"

namespace almond::testing {
namespace {

TEST(RootElement, IsTheFirstThatIsNoRemark) {
  for (const char* name : {"robot", "mujoco", "a"}) {
    const std::string tag = name;
    for (const std::string& before :
         {std::string(), std::string("\n \t"), std::string("<?xml version=\"1.0\"?>\n"),
          std::string("<!-- <mujocoinclude> > -- -->"), std::string("<!DOCTYPE robot><!---->\xef\xbb\xbf<?a?>")})
      for (const char* after : {">", "/>", " name=\"x\">", "\nname=\"x\">", "\t/>", ""})
        EXPECT_EQ(root_element(before + "<" + tag + after), tag) << before << "|" << after;
  }
  for (const char* text : {"", "robot", "<!-- <robot>", "<?xml", "<!DOCTYPE", "<!-- <robot> --", "<"})
    EXPECT_EQ(root_element(text), "") << text;
}

TEST(SceneObjects, OneAloneIsThatOfAFile) {
  const std::string text = R"({"name": "cube", "shape": "box", "size": [0.1, 0.2, 0.3], "mass": 2.5,
                               "position": [1, 2, 3], "rpy": [0, 0, 1.5707963267948966], "friction": 0.7})";
  const SceneObject one = parse_object(text, "--object");
  const SceneFile scene = parse_scene(R"({"almond_scene": 1, "objects": [)" + text + "]}", "", "scene.json");
  ASSERT_EQ(scene.objects.size(), 1U);
  for (const SceneObject& object : {one, scene.objects[0]}) {
    EXPECT_EQ(object.name, "cube");
    EXPECT_EQ(std::get<Box>(object.shape).half, Vec3(0.05, 0.1, 0.15));
    EXPECT_EQ(object.X_WB.p, Vec3(1.0, 2.0, 3.0));
    EXPECT_NEAR((object.X_WB.R * Vec3::UnitX() - Vec3::UnitY()).norm(), 0.0, 1e-15);
    EXPECT_EQ(object.mass, 2.5);
    EXPECT_EQ(object.material.mu, 0.7);
  }
}

TEST(SceneObjects, MistakesAreToldWithTheirPlace) {
  const auto told = [](const char* text) {
    return error_of([&] { static_cast<void>(parse_object(text, "--object")); });
  };
  for (const char* text : {"{", "[]", "{}", R"({"shape": "cube"})", R"({"shape": "sphere", "radius": -1})"})
    EXPECT_EQ(told(text).rfind("--object", 0), 0U) << text << ": " << told(text);
}

}  // namespace
}  // namespace almond::testing
