#include "arrays.hpp"

#include <cmath>
#include <cstring>

#include "almond/base/text.hpp"

namespace almond::python {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t k = 0; k < shape.size(); ++k)
    text += (k > 0 ? ", " : "") + (shape[k] < 0 ? std::string("any") : std::to_string(shape[k]));
  return text + (shape.size() == 1 ? ",)" : ")");
}

/// The memory of a vector or matrix moves into a capsule that NumPy frees.
template <class Holder>
nb::capsule hold(Holder* holder) {
  return nb::capsule(holder, [](void* p) noexcept { delete static_cast<Holder*>(p); });
}

/// NumPy's integers come through __index__; a float does not, even where it is whole. Invalid where there is none.
nb::object as_index(nb::handle value) {
  PyObject* index = PyNumber_Index(value.ptr());
  if (index == nullptr) PyErr_Clear();
  return nb::steal(index);
}

[[noreturn]] void refuse(nb::handle value, const std::string& name, const std::string& expected) {
  raise_value_error(name + ": is " + nb::cast<std::string>(nb::repr(value)) + ", expected " + expected);
}

template <class Result, class Given>
Result as(const Given& array) {
  return nb::borrow<Result>(nb::cast(array));
}

}  // namespace

void raise_value_error(const std::string& message) { throw Error(message); }

nb::object to_array(nb::handle value, const std::string& name) {
  try {
    return nb::module_::import_("numpy").attr("asarray")(value);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_TypeError)) throw;
    raise_value_error(name + ": cannot be made an array, expected numbers in rows of equal length (" +
                      nb::cast<std::string>(nb::str(error.value())) + ")");
  }
}

Array read_array(nb::handle value, const std::string& name, const std::vector<std::int64_t>& shape) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::object array = to_array(value, name);
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (kind != "f" && kind != "i" && kind != "u" && kind != "b")
    raise_value_error(name + ": has dtype " + nb::cast<std::string>(nb::str(nb::object(array.attr("dtype")))) +
                      ", expected real numbers");
  const auto given = nb::cast<std::vector<std::int64_t>>(nb::list(array.attr("shape")));
  bool fits = given.size() == shape.size();
  for (std::size_t k = 0; fits && k < shape.size(); ++k) fits = shape[k] < 0 || shape[k] == given[k];
  if (!fits) raise_value_error(name + ": has shape " + shape_text(given) + ", expected " + shape_text(shape));
  array = numpy.attr("ascontiguousarray")(array, numpy.attr("float64"));
  // A contiguous array of no dimensions becomes one of one; the caller reads the data only.
  auto result = nb::cast<Array>(array);
  for (std::size_t k = 0; k < result.size(); ++k)
    if (!std::isfinite(result.data()[k]))
      raise_value_error(name + ": entry " + std::to_string(k) + " is " + to_text(result.data()[k]) +
                        ", expected finite numbers");
  return result;
}

VecX read_vector(nb::handle value, const std::string& name, std::int64_t size) {
  const Array array = read_array(value, name, {size});
  return Eigen::Map<const VecX>(array.data(), static_cast<Eigen::Index>(array.size()));
}

Vec3 read_vec3(nb::handle value, const std::string& name) {
  const Array array = read_array(value, name, {3});
  return {array.data()[0], array.data()[1], array.data()[2]};
}

double read_number(nb::handle value, const std::string& name) {
  double number = 0.0;
  if (!nb::try_cast(value, number) || std::isnan(number))
    raise_value_error(name + ": is " + nb::cast<std::string>(nb::repr(value)) + ", expected a number");
  return number;
}

std::int64_t read_whole(nb::handle value, const std::string& name, std::int64_t low, std::int64_t high) {
  const nb::object number = as_index(value);
  std::int64_t whole = 0;
  if (!number.is_valid() || !nb::try_cast(number, whole) || whole < low || whole > high) {
    PyErr_Clear();
    const bool open = high == std::numeric_limits<std::int64_t>::max();
    refuse(value, name,
           "a whole number " + (open ? "of " + std::to_string(low) + " or more"
                                     : "from " + std::to_string(low) + " to " + std::to_string(high)));
  }
  return whole;
}

std::uint64_t read_seed(nb::handle value, const std::string& name) {
  const nb::object number = PyBool_Check(value.ptr()) ? nb::object() : as_index(value);
  std::uint64_t seed = 0;
  if (!number.is_valid() || !nb::try_cast(number, seed)) {
    PyErr_Clear();
    refuse(value, name, "a whole number from 0 to 2**64 - 1");
  }
  return seed;
}

bool read_flag(nb::handle value, const std::string& name) {
  bool flag = false;
  if (!nb::try_cast(value, flag, false)) refuse(value, name, "True or False");
  return flag;
}

std::string read_text(nb::handle value, const std::string& name) {
  std::string text;
  if (!nb::try_cast(value, text)) refuse(value, name, "a text");
  return text;
}

std::string read_name(nb::handle value, const std::string& place) {
  std::string name;
  if (!nb::try_cast(value, name))
    raise_value_error(place + ": has the key " + nb::cast<std::string>(nb::repr(value)) + ", expected names");
  return name;
}

Mat3 read_inertia(nb::handle value, const std::string& name) {
  const nb::object array = to_array(value, name);
  if (nb::cast<int>(array.attr("ndim")) == 1) return read_vec3(array, name).asDiagonal();
  const Array matrix = read_array(array, name, {3, 3});
  return MapConstMatr(matrix.data(), 3, 3);
}

Pose read_pose(nb::handle position, nb::handle quaternion) {
  Pose pose;
  if (!position.is_none()) pose.p = read_vec3(position, "position");
  if (!quaternion.is_none()) {
    const VecX q = read_vector(quaternion, "quaternion", 4);
    if (!(q.norm() > 1e-6)) raise_value_error("quaternion: has length " + to_text(q.norm()) + ", expected 1");
    pose.R = Eigen::Quaterniond(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix();
  }
  return pose;
}

FloatArray view(double* data, std::size_t size, nb::handle owner, bool writable) {
  if (writable) return as<FloatArray>(Vector(data, {size}, owner));
  return as<FloatArray>(nb::ndarray<nb::numpy, const double, nb::ndim<1>>(data, {size}, owner));
}

FloatArray view(double* data, std::size_t rows, std::size_t columns, nb::handle owner, bool writable) {
  if (writable) return as<FloatArray>(Matrix(data, {rows, columns}, owner));
  return as<FloatArray>(nb::ndarray<nb::numpy, const double, nb::ndim<2>>(data, {rows, columns}, owner));
}

FloatArray view(double* data, const std::vector<std::size_t>& shape, nb::handle owner) {
  return as<FloatArray>(nb::ndarray<nb::numpy, double, nb::c_contig>(data, shape.size(), shape.data(), owner));
}

BoolArray view(const bool* data, std::size_t size, nb::handle owner) {
  return as<BoolArray>(nb::ndarray<nb::numpy, const bool, nb::ndim<1>>(data, {size}, owner));
}

IntArray view(const int* data, std::size_t size, nb::handle owner) {
  return as<IntArray>(nb::ndarray<nb::numpy, const int, nb::ndim<1>>(data, {size}, owner));
}

FloatArray to_numpy(const Eigen::Ref<const VecX>& vector) {
  auto* holder = new VecX(vector);
  return as<FloatArray>(Vector(holder->data(), {static_cast<std::size_t>(holder->size())}, hold(holder)));
}

FloatArray matrix_to_numpy(MatXr matrix) {
  auto* holder = new MatXr(std::move(matrix));
  return as<FloatArray>(Matrix(holder->data(),
                               {static_cast<std::size_t>(holder->rows()), static_cast<std::size_t>(holder->cols())},
                               hold(holder)));
}

IntArray to_numpy(const std::vector<int>& numbers) {
  auto* holder = new std::vector<int>(numbers);
  return as<IntArray>(nb::ndarray<nb::numpy, int, nb::ndim<1>>(holder->data(), {holder->size()}, hold(holder)));
}

}  // namespace almond::python
