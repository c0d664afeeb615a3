#pragma once
// Arrays between Python and C++. Everything that comes in is checked here, so that a wrong shape, dtype or value is a
// ValueError that names the argument; what goes out is a view that keeps its owner alive.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <string>
#include <vector>

#include "almond/base/check.hpp"
#include "almond/base/pose.hpp"
#include "almond/base/types.hpp"

namespace nb = nanobind;

namespace almond::python {

/// numpy.asarray, or a ValueError with the argument's name.
[[nodiscard]] nb::object to_array(nb::handle value, const std::string& name);

/// Numbers of any dtype and layout as contiguous float64. `name` is the argument's; a negative extent accepts any.
/// Throws ValueError for anything but finite real numbers of that shape.
using Array = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
[[nodiscard]] Array read_array(nb::handle value, const std::string& name, const std::vector<std::int64_t>& shape);

[[nodiscard]] VecX read_vector(nb::handle value, const std::string& name, std::int64_t size = -1);
[[nodiscard]] Vec3 read_vec3(nb::handle value, const std::string& name);
[[nodiscard]] double read_number(nb::handle value, const std::string& name);
/// A whole number in [low, high].
[[nodiscard]] std::int64_t read_whole(nb::handle value, const std::string& name, std::int64_t low,
                                      std::int64_t high = std::numeric_limits<std::int64_t>::max());
[[nodiscard]] bool read_flag(nb::handle value, const std::string& name);
[[nodiscard]] std::string read_text(nb::handle value, const std::string& name);
/// A whole number from 0 to 2⁶⁴ - 1.
[[nodiscard]] std::uint64_t read_seed(nb::handle value, const std::string& name = "seed");
/// A key of the dict `place`.
[[nodiscard]] std::string read_name(nb::handle value, const std::string& place);
/// 3 x 3, or the diagonal of one.
[[nodiscard]] Mat3 read_inertia(nb::handle value, const std::string& name);
/// From a position and a quaternion (w, x, y, z), each may be None.
[[nodiscard]] Pose read_pose(nb::handle position, nb::handle quaternion);

/// What stubs and documentation call an array of numbers.
class FloatArray : public nb::object {
  NB_OBJECT_DEFAULT(FloatArray, nb::object, "numpy.typing.NDArray[numpy.float64]", PyObject_CheckBuffer)
};
class BoolArray : public nb::object {
  NB_OBJECT_DEFAULT(BoolArray, nb::object, "numpy.typing.NDArray[numpy.bool_]", PyObject_CheckBuffer)
};
class IntArray : public nb::object {
  NB_OBJECT_DEFAULT(IntArray, nb::object, "numpy.typing.NDArray[numpy.int32]", PyObject_CheckBuffer)
};

/// Views of memory that `owner` holds.
using Vector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using Matrix = nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::c_contig>;
[[nodiscard]] FloatArray view(double* data, std::size_t size, nb::handle owner, bool writable);
[[nodiscard]] FloatArray view(double* data, std::size_t rows, std::size_t columns, nb::handle owner, bool writable);

[[nodiscard]] FloatArray view(double* data, const std::vector<std::size_t>& shape, nb::handle owner);  // writable
[[nodiscard]] BoolArray view(const bool* data, std::size_t size, nb::handle owner);
[[nodiscard]] IntArray view(const int* data, std::size_t size, nb::handle owner);

/// Arrays of their own.
[[nodiscard]] FloatArray to_numpy(const Eigen::Ref<const VecX>& vector);
[[nodiscard]] FloatArray matrix_to_numpy(MatXr matrix);
[[nodiscard]] IntArray to_numpy(const std::vector<int>& numbers);

/// Throws what Python raised as ValueError.
[[noreturn]] void raise_value_error(const std::string& message);

}  // namespace almond::python
