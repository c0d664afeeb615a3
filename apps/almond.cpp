// The program `almond`. `python -m almond` is the same, inside an interpreter.

#include <algorithm>

#include "apps/commands.hpp"

int main(int argc, char** argv) { return almond::app::run_program({argv + std::min(argc, 1), argv + argc}); }
