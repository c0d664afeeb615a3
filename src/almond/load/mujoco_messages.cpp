#include "almond/load/mujoco_messages.hpp"

#ifdef ALMOND_HAVE_MUJOCO
#include "almond/load/mujoco_api.hpp"
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace almond {

#ifdef ALMOND_HAVE_MUJOCO

namespace {

std::mutex& owner() {
  static std::mutex mutex;
  return mutex;
}

// MuJoCo compiles meshes in threads of its own, so warnings may come from any of them.
std::mutex lines_mutex;
std::vector<std::string>* lines = nullptr;

void take_warning(const char* text) {
  const std::lock_guard lock(lines_mutex);
  if (lines != nullptr) add_mujoco_line(text, *lines);
}

[[noreturn]] void end_process(const char* text) {
  std::fprintf(stderr, "MuJoCo: %s\n", text);
  std::fflush(nullptr);
  std::_Exit(EXIT_FAILURE);  // no destructors: the library is in the middle of something
}

}  // namespace

MujocoMessages::MujocoMessages(std::vector<std::string>& warnings) {
  const MujocoApi& mj = mujoco_api("MuJoCo's messages");
  owner().lock();
  previous_error_ = *mj.user_error;
  previous_warning_ = *mj.user_warning;
  lines = &warnings;
  *mj.user_error = end_process;
  *mj.user_warning = take_warning;
}

MujocoMessages::~MujocoMessages() {
  const MujocoApi& mj = mujoco_api("MuJoCo's messages");
  *mj.user_error = previous_error_;
  *mj.user_warning = previous_warning_;
  {
    const std::lock_guard lock(lines_mutex);
    lines = nullptr;
  }
  owner().unlock();
}

#else

MujocoMessages::MujocoMessages(std::vector<std::string>& /*warnings*/)
    : previous_error_(nullptr), previous_warning_(nullptr) {}
MujocoMessages::~MujocoMessages() = default;

#endif

void add_mujoco_line(const std::string& text, std::vector<std::string>& to) {
  std::string line = "MuJoCo: " + text;
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  while (line.back() == ' ') line.pop_back();
  if (std::find(to.begin(), to.end(), line) == to.end()) to.push_back(line);
}

}  // namespace almond
