// Signed distances for programs in other languages. Reads points from standard input, three doubles each, and writes
// distance and gradient to standard output, four doubles each. The argument names the shape:
//
//   bolt    the M48 bolt
//   rod     its threaded rod, which goes on below where the head would be
//   neural  the neural M48 bolt

#include <cstdio>
#include <exception>
#include <string>

#include "almond/base/check.hpp"
#include "almond/model/neural_sdf.hpp"

namespace almond {
namespace {

SdfPtr make_shape(const std::string& name) {
  if (name == "bolt") return make_taught_bolt();
  if (name == "rod") return make_taught_bolt({.length = 1.0, .thread_length = 0.096, .head = false});
  if (name == "neural") return make_neural_bolt();
  throw Error("shape '" + name + "', expected bolt, rod or neural");
}

void answer(const Sdf& sdf) {
  SdfBlock block;
  double in[SdfBlock::kSize][3], out[SdfBlock::kSize][4];
  while ((block.count = static_cast<int>(std::fread(in, sizeof in[0], SdfBlock::kSize, stdin))) > 0) {
    for (int i = 0; i < block.count; ++i) block.set(i, Vec3(in[i][0], in[i][1], in[i][2]));
    sdf.sample(block);
    for (int i = 0; i < block.count; ++i) {
      out[i][0] = block.d[i];
      out[i][1] = block.gx[i];
      out[i][2] = block.gy[i];
      out[i][3] = block.gz[i];
    }
    require(std::fwrite(out, sizeof out[0], block.count, stdout) == static_cast<std::size_t>(block.count),
            "standard output cannot be written");
  }
}

}  // namespace
}  // namespace almond

int main(int argc, char** argv) {
  try {
    almond::require(argc == 2, "one argument expected: bolt, rod or neural");
    almond::answer(*almond::make_shape(argv[1]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sdf_probe: %s\n", error.what());
    return 1;
  }
}
