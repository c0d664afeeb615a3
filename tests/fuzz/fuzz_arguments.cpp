// Command lines of the program: each is understood, or refused in one line. Arguments stand one per line; nothing is
// run, read or written.

#include "apps/commands.hpp"
#include "fuzz/fuzz.hpp"

namespace almond::fuzz {

void read_input(const std::string& input) {
  std::vector<std::string> arguments;
  std::string rest = input;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    arguments.push_back(rest.substr(0, rest.find('\0') < end ? rest.find('\0') : end));
    rest = rest.substr(std::min(end + 1, rest.size()));
  }
  const app::Understood line = app::understand(arguments);
  check(line.action != nullptr || !line.message.empty(), "a command line has an action or an answer");
  check(line.code == 0 || line.message.find('\n') == std::string::npos || arguments.empty(), "a refusal is one line");
}

std::vector<std::string> make_seeds() {
  return {
      "",
      "--help",
      "--version",
      "run\ntower\n--steps\n10\n--json\n-\n--set\ncount=3\n--solver\npgs\n--dt\n0.004\n--seed\n1",
      "run\nrobot.urdf\n--base\nfloating\n--floor\nbelow\n--hold\n--joint\nknee=0.1\n--search\nfolder\n--"
      "meshes\nhull\n--strict",
      "run\ntower\n--png\na.png\n--size\n480x300\n--camera\n1,2,3,0,0,0\n--show-contacts\n--replay\na.html\n--"
      "fps\n30\n--inside\n3",
      "run\ntower\n--object\n{\"shape\": \"box\", \"size\": [1, 1, 0.1]}\n--load-state\na\n--save-state\nb",
      "solve\na.npz\nb.json\n--solver\nauto,canal\n--tol\n1e-8\n--threads\n2\n--repeats\n3\n--budget-ms\n5\n--max-"
      "iters\n10",
      "bench\nfclib\nfolder\n--peers\nall\n--html\npage.html\n--quick",
      "view\ntower\n--host\n0.0.0.0\n--port\n8137\n--no-browser\n--no-wait",
      "compare\ntower\n--solver\nauto\nmujoco\n--replay\na.html",
      "inspect\nrobot.xml\n--json\n-",
      "scenes\ntower",
      "verify\n--json\n-",
      "demo\n--html\na.html\n--budget-ms\n10",
      "solve\n--sover\nx",
      "slove",
  };
}

}  // namespace almond::fuzz
