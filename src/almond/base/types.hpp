#pragma once
// The few types every folder shares: small fixed-size matrices, dynamic ones, and views into pools.

#include <Eigen/Core>
#include <cstdint>
#include <limits>
#include <vector>

namespace almond {

using Vec2 = Eigen::Vector2d;
using Vec3 = Eigen::Vector3d;
using Vec6 = Eigen::Matrix<double, 6, 1>;
using Mat3 = Eigen::Matrix3d;
using Mat6 = Eigen::Matrix<double, 6, 6>;
using VecX = Eigen::VectorXd;
using MatX = Eigen::MatrixXd;

/// Jacobian blocks are stored row by row: one constraint row is contiguous.
using MatXr = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A pool that Eigen works on. Its kernels group sums by the alignment of the data, so only aligned pools give the same
/// bits in every run.
using AlignedVector = std::vector<double, Eigen::aligned_allocator<double>>;

using MapVec = Eigen::Map<VecX>;
using MapConstVec = Eigen::Map<const VecX>;
using MapMat = Eigen::Map<MatX>;
using MapConstMat = Eigen::Map<const MatX>;
using MapMatr = Eigen::Map<MatXr>;
using MapConstMatr = Eigen::Map<const MatXr>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

}  // namespace almond
