// MJCF, compiled by MuJoCo's library: a world that can be built and stepped, or one line.

#include "almond/load/mjcf.hpp"
#include "fuzz/robots.hpp"

namespace almond::fuzz {

void read_input(const std::string& input) {
  if (!have_mujoco()) return;
  ModelBuilder builder;
  FileNotes notes;
  const MjcfFile file = add_mjcf_text(builder, input, mesh_folder(), {}, notes);
  for (const Keyframe& keyframe : file.keyframes) start_at_keyframe(builder, file, keyframe.name);
  step_once(builder.build());
}

std::vector<std::string> make_seeds() {
  return {
      repository_file("examples/robot/leg.xml"),
      R"(<mujoco><option timestep="0.004"/><default><geom friction="0.6"/></default><asset><mesh name="m" file="box.stl"/>
<hfield name="h" nrow="3" ncol="4" size="1 1 1 0.1" elevation="0 1 2 3 4 5 6 7 8 9 1 2"/></asset><worldbody>
<geom type="plane" size="1 1 1"/><geom type="hfield" hfield="h" pos="9 0 0"/><body name="a" pos="0 0 1"><freejoint/><geom type="mesh" mesh="m"/>
<body name="b" pos="0 0 1"><joint name="j" type="hinge" range="-1 1" limited="true" damping="0.1"/>
<joint name="k" type="slide" axis="1 0 0"/><geom type="capsule" size="0.1 0.2"/></body></body></worldbody>
<actuator><motor joint="j" gear="2" ctrlrange="-1 1" ctrllimited="true"/><position joint="k" kp="10"/></actuator>
<keyframe><key name="up" qpos="0 0 1 1 0 0 0 0.1 0.2"/></keyframe></mujoco>)",
      R"(<mujoco><worldbody><body name="a"><joint name="x" type="ball"/><geom name="g" type="ellipsoid" size="0.1 0.2 0.3"/>
<site name="s" pos="0 0 1"/></body><body name="b" pos="2 0 0"><joint name="y" axis="0 1 0"/><geom type="cylinder" size="0.1 0.2" condim="1"/>
<site name="t"/></body></worldbody><tendon><spatial name="l"><site site="s"/><site site="t"/></spatial><fixed name="f"><joint joint="y" coef="2"/>
</fixed></tendon><equality><connect body1="a" body2="b" anchor="0 0 1"/><joint joint1="y" polycoef="0 1 0 0 0"/></equality>
<contact><exclude body1="a" body2="b"/></contact></mujoco>)",
      R"(<mujoco><compiler meshdir="." angle="radian"/><include file="other.xml"/><worldbody><replicate count="3" offset="0.3 0 0"><body>
<freejoint/><geom size="0.1"/></body></replicate><frame pos="1 0 0"><geom type="box" size="1 1 1"/></frame></worldbody></mujoco>)",
      R"(<mujoco><compiler><lengthrange inttotal="5" timestep="0.01"/></compiler><default><general nsample="2"/><camera resolution="4 3"/></default>
<asset><mesh name="m" builtin="supersphere" params="10 1 1"/><mesh name="w" builtin="wedge" params="3 3 60 60 0"/></asset><worldbody>
<camera name="c"/><body><joint name="j"/><geom type="mesh" mesh="m"/><geom type="mesh" mesh="w"/></body></worldbody><actuator>
<general joint="j" dyntype="user" actdim="2" delay="0.01"/></actuator><sensor><user dim="3"/><contact num="2"/><rangefinder camera="c"/></sensor></mujoco>)",
      R"(<mujoco><compiler meshdir="sub" texturedir="missing\.." strippath="false"/><include file="sub\other.xml"/><asset><mesh name="m" file="..\box.stl"/>
<mesh name="n" file="missing/../../sub/box.stl"/><mesh name="o" file=".//box.stl"/></asset><worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>)",
      R"(<mujoco><asset><model name="p" file="sub\other.xml"/><hfield name="h" file="pipe.stl" size="1 1 1 1"/><texture name="t" type="cube" fileright="..\secret.stl"/>
<skin name="s" file="missing/../../secret.stl"/></asset><worldbody><body name="b"><flexcomp name="f" type="mesh" file="out.stl"/></body></worldbody></mujoco>)",
      R"(<mujoco><size nuser_geom="2" nuser_body="3" nkey="2"/><worldbody><body user="1 2"><joint name="j"/><geom size="1"/></body></worldbody>
<keyframe><key qpos="0.1"/></keyframe></mujoco>)",
  };
}

}  // namespace almond::fuzz
