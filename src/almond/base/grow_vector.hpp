#pragma once
// A dense vector that keeps its memory when it changes size. Eigen's own reallocates at every change, which a loop over
// problems of varying size cannot afford.

#include <new>

#include "almond/base/types.hpp"

namespace almond {

class GrowVector : public Eigen::Map<VecX> {
 public:
  using Map = Eigen::Map<VecX>;

  GrowVector() : Map(nullptr, 0) {}
  GrowVector(const GrowVector& other) : Map(nullptr, 0) { *this = other; }
  GrowVector(GrowVector&& other) noexcept : Map(nullptr, 0) { swap(other); }
  template <class Derived>
  GrowVector(const Eigen::MatrixBase<Derived>& other) : Map(nullptr, 0) {  // NOLINT: implicit like Eigen's
    *this = other;
  }
  ~GrowVector() = default;

  GrowVector& operator=(const GrowVector& other) {
    if (this != &other) {
      resize(other.size());
      Map::operator=(other);
    }
    return *this;
  }
  GrowVector& operator=(GrowVector&& other) noexcept {
    swap(other);
    return *this;
  }
  template <class Derived>
  GrowVector& operator=(const Eigen::MatrixBase<Derived>& other) {
    if (other.size() > size()) {  // the expression may read this vector: evaluate it before the memory moves
      const VecX value = other;
      resize(value.size());
      Map::operator=(value);
    } else {
      rebind(other.size());
      Map::operator=(other);
    }
    return *this;
  }

  /// Entries are unspecified after growth.
  void resize(Eigen::Index count) {
    if (count > static_cast<Eigen::Index>(store_.size())) store_.resize(static_cast<std::size_t>(count));
    rebind(count);
  }
  using Map::setZero;
  void setZero(Eigen::Index count) {
    resize(count);
    Map::setZero();
  }
  void swap(GrowVector& other) noexcept {
    store_.swap(other.store_);
    const Eigen::Index mine = size(), theirs = other.size();
    rebind(theirs);
    other.rebind(mine);
  }

 private:
  void rebind(Eigen::Index count) { new (static_cast<Map*>(this)) Map(store_.data(), count); }
  AlignedVector store_;
};

}  // namespace almond
