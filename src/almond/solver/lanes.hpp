#pragma once
// Eight doubles at a time: the inner loops of SubADMM and of Anderson acceleration.
//
// Vectors are padded with zeros to a multiple of kLanes and matrices hold padded columns, so no loop has a remainder.
// Sums over rows keep one partial sum per lane and add the lanes in a fixed order: the same bits on every run, whatever
// the compiler does about vectors. Where the machine has narrower registers the compiler splits the type.

#include <cstddef>
#include <new>
#include <vector>

namespace almond {

inline constexpr int kLanes = 8;

using Lanes [[gnu::vector_size(64), gnu::aligned(8), gnu::may_alias]] = double;

[[nodiscard]] constexpr int pad_lanes(int n) { return (n + kLanes - 1) / kLanes * kLanes; }

/// Cache-line alignment, so that no load of eight doubles straddles two lines.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>& /*other*/) {}  // NOLINT: allocators convert
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* p, std::size_t /*n*/) { ::operator delete (p, std::align_val_t{64}); }
  friend bool operator==(const LineAllocator& /*a*/, const LineAllocator& /*b*/) { return true; }
};
using LineVector = std::vector<double, LineAllocator<double>>;

inline const Lanes* lanes_pointer(const double* p) { return reinterpret_cast<const Lanes*>(p); }
inline Lanes* lanes_pointer(double* p) { return reinterpret_cast<Lanes*>(p); }
// Macros, since Clang forgets the alignment of what a function returns by reference, and faults where it is less than
// the type's natural one.
#define lanes_at(p) (*lanes_pointer(p))

using HalfLanes [[gnu::vector_size(32), gnu::aligned(8), gnu::may_alias]] = double;

inline const HalfLanes* half_lanes_pointer(const double* p) { return reinterpret_cast<const HalfLanes*>(p); }
inline HalfLanes* half_lanes_pointer(double* p) { return reinterpret_cast<HalfLanes*>(p); }
#define half_lanes_at(p) (*half_lanes_pointer(p))

/// Σ of the eight lanes, pairwise.
inline double add_lanes(const Lanes& x) {
  const HalfLanes half = __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
  return (half[0] + half[1]) + (half[2] + half[3]);
}

/// The same for four vectors at once, with the same bits.
inline void add_lanes(const Lanes (&x)[4], double* out) {
  HalfLanes half[4];
  for (int c = 0; c < 4; ++c) {
    half[c] = __builtin_shufflevector(x[c], x[c], 0, 1, 2, 3) + __builtin_shufflevector(x[c], x[c], 4, 5, 6, 7);
  }
  const HalfLanes low =
      __builtin_shufflevector(half[0], half[1], 0, 4, 2, 6) + __builtin_shufflevector(half[0], half[1], 1, 5, 3, 7);
  const HalfLanes high =
      __builtin_shufflevector(half[2], half[3], 0, 4, 2, 6) + __builtin_shufflevector(half[2], half[3], 1, 5, 3, 7);
  half_lanes_at(out) = __builtin_shufflevector(low, high, 0, 1, 4, 5) + __builtin_shufflevector(low, high, 2, 3, 6, 7);
}

/// out[c] = x · column_c for kColumns columns of `rows` (a multiple of 8) numbers each.
template <int kColumns>
inline void dot_columns(const double* matrix, int rows, int stride, const double* x, double* out) {
  Lanes sum[kColumns];
  for (int c = 0; c < kColumns; ++c) sum[c] = Lanes{};
  for (int r = 0; r < rows; r += kLanes) {
    const Lanes& xr = lanes_at(x + r);
    for (int c = 0; c < kColumns; ++c) {
      sum[c] += lanes_at(matrix + static_cast<std::ptrdiff_t>(c) * stride + r) * xr;
    }
  }
  if constexpr (kColumns == 4) {
    add_lanes(sum, out);
  } else {
    for (int c = 0; c < kColumns; ++c) out[c] = add_lanes(sum[c]);
  }
}

/// out[0..columns) = Mᵀ x over `rows` rows, M column-major with columns `stride` apart.
inline void multiply_transposed(const double* matrix, int rows, int stride, int columns, const double* x, double* out) {
  int c = 0;
  for (; c + 4 <= columns; c += 4, matrix += 4 * static_cast<std::ptrdiff_t>(stride)) {
    dot_columns<4>(matrix, rows, stride, x, out + c);
  }
  switch (columns - c) {
    case 3:
      dot_columns<3>(matrix, rows, stride, x, out + c);
      break;
    case 2:
      dot_columns<2>(matrix, rows, stride, x, out + c);
      break;
    case 1:
      dot_columns<1>(matrix, rows, stride, x, out + c);
      break;
    default:
      break;
  }
}

/// y[0..8 kBlocks) = start + Σ_c x_c column_c, one block of rows held in registers.
template <int kBlocks>
inline void combine_block(const double* matrix, int stride, int columns, const double* x, const double* start,
                          double* y) {
  Lanes sum[kBlocks];
  for (int b = 0; b < kBlocks; ++b) sum[b] = lanes_at(start + kLanes * b);
  for (int c = 0; c < columns; ++c, matrix += stride) {
    for (int b = 0; b < kBlocks; ++b) sum[b] += x[c] * lanes_at(matrix + kLanes * b);
  }
  for (int b = 0; b < kBlocks; ++b) lanes_at(y + kLanes * b) = sum[b];
}

/// y = start + M x, M column-major with padded columns; y may be start.
inline void combine_columns(const double* matrix, int rows, int columns, const double* x, const double* start,
                            double* y) {
  int r = 0;
  for (; r + 4 * kLanes <= rows; r += 4 * kLanes) combine_block<4>(matrix + r, rows, columns, x, start + r, y + r);
  switch ((rows - r) / kLanes) {
    case 3:
      combine_block<3>(matrix + r, rows, columns, x, start + r, y + r);
      break;
    case 2:
      combine_block<2>(matrix + r, rows, columns, x, start + r, y + r);
      break;
    case 1:
      combine_block<1>(matrix + r, rows, columns, x, start + r, y + r);
      break;
    default:
      break;
  }
}

}  // namespace almond
