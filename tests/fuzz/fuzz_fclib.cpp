// FCLIB problems in HDF5, global and local: a valid problem that is solved, or one line.

#include "almond/load/file_io.hpp"
#include "almond/load/problem_file.hpp"
#include "fuzz/problems.hpp"

namespace almond::fuzz {
namespace {

constexpr const char* kMagic = "\x89HDF\r\n\x1a\n";

}  // namespace

void read_input(const std::string& input) {
  if (input.compare(0, 8, kMagic) != 0) return;  // the other formats have targets of their own
  try_problem(parse_problem("input.hdf5", input));
}

std::vector<std::string> make_seeds() {
  ContactProblem problem;
  for (int s = 0; s < 2; ++s) problem.add_subsystem(Mat3::Identity() * (s + 1.0), Vec3(0.1, 0.0, -1.0));
  const auto side = [](int subsystem, double sign) { return SideInput{subsystem, sign * Mat3::Identity(), -1, {}}; };
  problem.add_contact(0.5, Vec3::Zero(), side(0, 1.0), side(1, -1.0));
  problem.add_contact(0.3, Vec3(0.0, 0.0, 0.1), side(1, 1.0));
  std::vector<std::string> seeds;
  for (const FclibForm form : {FclibForm::kGlobal, FclibForm::kLocal}) {
    const std::string path = own_folder() + "/seed.hdf5";
    save_problem(problem, path, form);
    seeds.push_back(read_file(path));
  }
  return seeds;
}

}  // namespace almond::fuzz
