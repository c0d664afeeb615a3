// Replays: a page with replays inside, and the bytes of one replay behind their packing.

#include "almond/model/builder.hpp"
#include "almond/view/blob.hpp"
#include "almond/view/page.hpp"
#include "almond/view/replay.hpp"
#include "fuzz/fuzz.hpp"

namespace almond::fuzz {
namespace {

constexpr const char* kOpen = "<script type=\"application/x-almond-replay\">";
constexpr std::size_t kMost = 1U << 26;

std::string make_replay() {
  ModelBuilder builder;
  builder.add_ground(Plane{});
  builder.add_solid("ball", Sphere{0.1}, 1.0, make_translation(0.0, 0.0, 0.1));
  Simulation simulation(builder.build());
  const std::vector<Look> looks = make_looks(simulation.model(), {});
  return make_still(simulation, looks, "seed", {{"fact", "1"}});
}

}  // namespace

/// 'p' before a page, 'z' before a packed replay, anything else before one that is not packed yet.
void read_input(const std::string& input) {
  if (input.empty()) return;
  const std::string rest = input.substr(1);
  if (input[0] == 'p') {
    for (const std::string& replay : replays_of_page(rest, "input")) static_cast<void>(replay_length(replay, "input"));
  } else {
    static_cast<void>(replay_length(input[0] == 'z' ? rest : gzip(rest), "input"));
  }
}

std::vector<std::string> make_seeds() {
  const std::string replay = make_replay(), page = kOpen + to_base64(replay) + "</script>";
  return {"p<html>" + page + page, "z" + replay, "r" + gunzip(replay, kMost, "seed")};
}

}  // namespace almond::fuzz
