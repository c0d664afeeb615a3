#include "apps/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace almond::app {
namespace {

std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

void raise_flag(int) { flag = true; }

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | (handler == SIG_DFL ? 0 : SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  flag = false;
  handle(SIGINT, raise_flag);
  handle(SIGTERM, raise_flag);
}

InterruptGuard::~InterruptGuard() {
  handle(SIGINT, SIG_DFL);
  handle(SIGTERM, SIG_DFL);
}

bool InterruptGuard::raised() const { return flag; }

}  // namespace almond::app
