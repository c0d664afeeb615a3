#include "tests/common/allocation.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define ALMOND_COUNTS_ALLOCATIONS 0
#else
#define ALMOND_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<std::int64_t> allocations{0};
}

#if ALMOND_COUNTS_ALLOCATIONS
// glibc lets a program define malloc and its family; operator new ends up here as well.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}
#endif

namespace almond::testing {

bool can_count_allocations() { return ALMOND_COUNTS_ALLOCATIONS != 0; }

AllocationCounter::AllocationCounter() : start_(allocations.load()) {}

std::int64_t AllocationCounter::count() const { return allocations.load() - start_; }

}  // namespace almond::testing
