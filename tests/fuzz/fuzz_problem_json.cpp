// Problems as JSON: a valid one that is solved, or one line.

#include "almond/load/problem_fields.hpp"
#include "fuzz/problems.hpp"

namespace almond::fuzz {

void read_input(const std::string& input) {
  LoadReport report;
  const NpzArchive archive = NpzArchive::from_json(input, "input");
  try_problem(problem_from_fields(archive, report));
  check(!archive.to_json("input").empty(), "what was read can be written");
}

std::vector<std::string> make_seeds() {
  return {fields_from_problem(make_small_problem()).to_json("seed"), make_plain_fields().to_json("seed")};
}

}  // namespace almond::fuzz
