// Robot files for tests in other languages: each line of standard input is a request, each line of output its answer,
// as bench/robot_answers.hpp describes them.

#include <iostream>
#include <string>

#include "bench/robot_answers.hpp"

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << almond::bench::answer_robot_request(line) << std::endl;
  return 0;
}
