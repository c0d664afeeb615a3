#pragma once
// What a loaded model gives to think about, on standard error.

#include <string>
#include <vector>

#include "almond/load/robot_file.hpp"

namespace almond::app {

/// Remarks on the model. Those that differ in names and numbers only are told once.
void print_remarks(const std::vector<std::string>& remarks);

/// What was done to a robot file, and what in it has no effect. Hulls of meshes are told in one line.
void print_notes(const FileNotes& notes);

}  // namespace almond::app
