// URDF: a robot that can be built and stepped, or one line.

#include "almond/load/file_io.hpp"
#include "almond/load/urdf.hpp"
#include "almond/sim/step.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/robots.hpp"

namespace almond::fuzz {

void read_input(const std::string& input) {
  ModelBuilder builder;
  FileNotes notes;
  FileOptions options;
  options.base = input.size() % 2 == 0 ? Base::kFloating : Base::kFixed;
  options.meshes = input.size() % 3 == 0 ? MeshUse::kTriangles : MeshUse::kHull;
  add_urdf_text(builder, input, mesh_folder(), options, notes);
  step_once(builder.build());
}

std::vector<std::string> make_seeds() {
  return {
      repository_file("examples/robot/leg.urdf"),
      R"(<robot name="r"><link name="a"><inertial><origin xyz="0 0 1" rpy="0 0.1 0"/><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial><collision><geometry><mesh filename="box.stl" scale="1 1 2"/>
</geometry></collision><visual><geometry><mesh filename="box.obj"/></geometry><material name="m"><color rgba="1 0 0 1"/>
</material></visual></link><link name="b"><inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
</inertial><collision><geometry><capsule radius="0.1" length="0.3"/></geometry></collision></link>
<joint name="j" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="2"/>
<dynamics damping="0.1" friction="0.2"/></joint></robot>)",
      R"(<robot name="m"><link name="a"/><link name="b"><inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
</inertial><collision><geometry><cylinder radius="0.1" length="0.3"/></geometry></collision></link><link name="c"><inertial>
<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial><collision><geometry><sphere radius="0.1"/></geometry>
</collision><collision><geometry><box size="1 2 3"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/></joint>
<joint name="k" type="revolute"><parent link="b"/><child link="c"/><mimic joint="j" multiplier="2" offset="0.1"/>
<limit lower="-1" upper="1" effort="9" velocity="2"/></joint><gazebo reference="c"><mu1>0.3</mu1><selfCollide>true</selfCollide></gazebo>
<transmission name="t"/></robot>)",
      R"(<robot name="f"><link name="a"/><link name="b"><inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
</inertial></link><link name="c"><inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="floating"><parent link="a"/><child link="b"/></joint>
<joint name="k" type="planar"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/></joint></robot>)",
      R"(<robot name="%s%n"><material name="%p"><color rgba="1 0 0 1"/></material><link name="a%s"><inertial><mass value="%n"/><inertia ixx="%p" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
</inertial><visual><geometry><box size="1 1 %s"/></geometry><material name="%p"/></visual></link></robot>)",
      R"(<robot name="100%"><link name="a&#37;n"><visual><geometry><mesh filename="sub\box.stl"/></geometry><material name="%n"><color rgba="1 0 0 1"/></material></visual>
<collision><geometry><mesh filename="missing/../../secret.stl"/></geometry></collision></link><link name="b%%"/><joint name="%s" type="fixed"><parent link="a&#x25;n"/><child link="b%%"/></joint></robot>)",
      R"(<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"><link name="&b;"/></robot>)",
  };
}

}  // namespace almond::fuzz
