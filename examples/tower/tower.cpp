// Ten light cubes carry a 5 kg one for a second; the program fails if the top sinks by more than a micrometre.
#include <cstdio>

#include "almond/almond.hpp"

int main() {
  almond::ModelBuilder builder;
  builder.add_ground(almond::Plane{});
  for (int i = 0; i < 11; ++i)
    builder.add_solid("cube" + std::to_string(i), almond::Box{{0.05, 0.05, 0.05}}, i < 10 ? 0.1 : 5.0,
                      almond::make_translation(0.0, 0.0, 0.05 + 0.1 * i));
  almond::Simulation simulation(builder.build());
  almond::StepReport report;
  for (int i = 0; i < 240; ++i) report = simulation.step();
  const almond::Vec3 top = simulation.kinematics().X_WB[10].p;
  std::printf("%s: %d contacts, residual %.1e N s, top at %.9f m\n", almond::to_string(report.status), report.contacts,
              report.residual, top.z());
  return top.z() > 1.05 - 1e-6 ? 0 : 1;
}
