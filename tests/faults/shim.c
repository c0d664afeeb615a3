/* What goes wrong on a machine, at a chosen moment: preloaded by the tests of this folder.
 *   FAULT_WRITE=kill:N, full:N     the Nth write to a file named like FAULT_FILE ends the process, or finds the disk full
 *   FAULT_RENAME=kill, full        the same for the renaming of such a file
 *   FAULT_CLOCK=back, forward      each clock jumps by an hour at every 50th look at it, backwards or forwards;
 *                                  the monotonic one never goes back: it stands still instead
 *   FAULT_CLOCK=wall-back, wall-forward   only the clock on the wall does, as when somebody sets it */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int is_meant(int fd) {
  const char* wanted = getenv("FAULT_FILE");
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (wanted == NULL || size <= 0) return 0;
  path[size] = '\0';
  return strstr(path, wanted) != NULL;
}

/* 0: nothing happens; 1: the disk is full. */
static int strike(const char* rule, int count) {
  const char* colon = strchr(rule, ':');
  if (colon != NULL && atoi(colon + 1) != count) return 0;
  if (strncmp(rule, "kill", 4) == 0) kill(getpid(), SIGKILL);
  return 1;
}

static int write_fails(int fd) {
  static int count = 0, full = 0;
  const char* rule = getenv("FAULT_WRITE");
  if (rule == NULL || !is_meant(fd)) return 0;
  full = full || strike(rule, ++count);
  if (full) errno = ENOSPC;
  return full;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void* data, size_t size) { return write_fails(fd) ? -1 : REAL(write)(fd, data, size); }
ssize_t writev(int fd, const struct iovec* parts, int n) { return write_fails(fd) ? -1 : REAL(writev)(fd, parts, n); }
ssize_t pwrite(int fd, const void* d, size_t n, off_t at) { return write_fails(fd) ? -1 : REAL(pwrite)(fd, d, n, at); }
ssize_t pwrite64(int fd, const void* d, size_t n, off64_t at) {
  return write_fails(fd) ? -1 : REAL(pwrite64)(fd, d, n, at);
}

int rename(const char* from, const char* to) {
  const char *rule = getenv("FAULT_RENAME"), *wanted = getenv("FAULT_FILE");
  if (rule != NULL && wanted != NULL && strstr(to, wanted) != NULL && strike(rule, 1)) {
    errno = ENOSPC;
    return -1;
  }
  return REAL(rename)(from, to);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  static long looks = 0, jumps = 0;
  static struct timespec last[16];
  const char* rule = getenv("FAULT_CLOCK");
  const int rc = REAL(clock_gettime)(clock, now);
  if (rc != 0 || rule == NULL) return rc;
  const int wall = strncmp(rule, "wall-", 5) == 0;
  if (wall && clock != CLOCK_REALTIME) return rc;
  if (++looks % 50 == 0) ++jumps;
  now->tv_sec += (strcmp(rule + (wall ? 5 : 0), "back") == 0 ? -3600 : 3600) * jumps;
  if (clock != CLOCK_REALTIME && clock >= 0 && clock < 16) {
    if (now->tv_sec < last[clock].tv_sec || (now->tv_sec == last[clock].tv_sec && now->tv_nsec < last[clock].tv_nsec))
      *now = last[clock];
    last[clock] = *now;
  }
  return rc;
}
