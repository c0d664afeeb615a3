#pragma once
// The frames of a replay as the arrays that are stored. Not part of the public interface.

#include <cstdint>
#include <vector>

#include "almond/sim/frame.hpp"

namespace almond {

inline constexpr double kFrameLength = 1e-5;         // [m] steps of stored positions
inline constexpr double kFrameUnit = 1.0 / 32767.0;  // of components of unit vectors and quaternions

/// Contacts of frames one after the other.
struct ContactArrays {
  std::vector<float> position, force, residual, mu;
  std::vector<std::int16_t> normal;
  std::vector<std::uint8_t> mode;
  std::vector<std::uint32_t> geoms;

  /// Puts others before the contact numbered `at`.
  void insert(std::ptrdiff_t at, const ContactArrays& other);
};

struct FrameArrays {
  std::vector<double> time;                        // [s]
  std::vector<std::uint32_t> step;                 // steps done before each
  std::vector<std::int32_t> position;              // (frames x bodies x 3), in kFrameLength
  std::vector<std::int16_t> quaternion;            // (frames x bodies x 4), in kFrameUnit
  std::vector<std::uint32_t> contact_start = {0};  // (frames + 1)
  ContactArrays contacts;

  /// Frames stand in the order of their steps; one that is there stays.
  void add(const Frame& frame);

 private:
  void add_poses(const Frame& frame, std::ptrdiff_t place);
  void add_contacts(const Frame& frame, std::ptrdiff_t place);
};

}  // namespace almond
