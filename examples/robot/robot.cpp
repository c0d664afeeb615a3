// Loads a robot file (URDF, MJCF or a scene in JSON), says what was made of it, and lets it move for a second.
//
//   robot [FILE]
#include <cstdio>

#include "almond/almond.hpp"
#include "almond/load/urdf.hpp"
#include "almond/scenes/file_scene.hpp"

int main(int argc, char** argv) {
  try {
    const char* file = argc > 1 ? argv[1] : ROBOT_FILE;
    almond::scenes::LoadedScene loaded = almond::scenes::load_scene(almond::scenes::describe_file(file));
    for (const std::string& note : loaded.notes.said) std::printf("note: %s\n", note.c_str());
    for (const auto& [kind, count] : loaded.notes.ignored)
      std::printf("without effect: %d x %s\n", count, kind.c_str());
    almond::Simulation simulation(std::move(loaded.scene.model), loaded.scene.options);
    const double step = simulation.options().dt;
    almond::StepReport report;
    for (int i = 0; i * step < 1.0; ++i) report = simulation.step();
    std::printf("%s: %d bodies, %d dofs; %s after a second, residual %.1e N s\n", file, simulation.model().num_bodies(),
                simulation.model().num_v, almond::to_string(report.status), report.residual);

    // Or a part of a world of one's own: two of them beside each other.
    almond::ModelBuilder builder;
    almond::FileNotes notes;
    almond::FileOptions options;
    options.base = almond::Base::kFloating;
    for (const double x : {-1.0, 1.0}) {
      options.name = x < 0.0 ? "left" : "right";
      options.X_WF = almond::make_translation(x, 0.0, 1.0);
      add_urdf(builder, ROBOT_FILE, options, notes);
    }
    builder.add_ground(almond::Plane{});
    const almond::Model two = builder.build();
    std::printf("two of %s: %d bodies, %d dofs\n", ROBOT_FILE, two.num_bodies(), two.num_v);
    return report.status == almond::Status::kSolved && two.num_v == 2 * (6 + 2) ? 0 : 1;
  } catch (const almond::Error& error) {
    std::fprintf(stderr, "robot: %s\n", error.what());
    return 2;
  }
}
