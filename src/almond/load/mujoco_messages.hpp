#pragma once
// What MuJoCo has to say while it compiles a file. Left alone it would write MUJOCO_LOG.TXT into the current folder.

#include <string>
#include <vector>

namespace almond {

/// Takes MuJoCo's handlers over while it lives, one at a time in the process, and gives them back, so that a program
/// that uses MuJoCo itself finds its own ones untouched.
///
/// Warnings are kept, each once and on one line. An error outside the compiler's own guard (no memory left while it
/// parses) must not return to MuJoCo, and nothing may be thrown through its C code: it ends the process as MuJoCo
/// would, with the message on standard error and without the log file.
class MujocoMessages {
 public:
  explicit MujocoMessages(std::vector<std::string>& warnings);
  ~MujocoMessages();
  MujocoMessages(const MujocoMessages&) = delete;
  MujocoMessages& operator=(const MujocoMessages&) = delete;

 private:
  void (*previous_error_)(const char*);
  void (*previous_warning_)(const char*);
};

/// "MuJoCo: ..." without line breaks, unless it is among `lines`.
void add_mujoco_line(const std::string& text, std::vector<std::string>& lines);

}  // namespace almond
