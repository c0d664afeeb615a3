#pragma once
// What pickle keeps of an object. One function `remember` both writes and reads it; bytes from anywhere are refused, or
// make an object that can be used.

#include "almond/sim/step.hpp"
#include "arrays.hpp"
#include "scenes/memory.hpp"

namespace almond::python {

void remember(scenes::Memory& memory, StepReport& report);
void remember(scenes::Memory& memory, Certificate& certificate);
void remember(scenes::Memory& memory, Solution& solution);

/// Entry k of a state of `size` entries. Throws ValueError for any other: NB_TUPLE_GET_ITEM looks at no length.
template <class T>
[[nodiscard]] T read_entry(const nb::tuple& state, std::size_t size, std::size_t k) {
  if (state.size() != size)
    raise_value_error("pickle: the state has " + std::to_string(state.size()) + " entries, expected " +
                      std::to_string(size));
  T value;
  const nb::object entry = state[k];
  if (!nb::try_cast(entry, value))
    raise_value_error("pickle: entry " + std::to_string(k) + " of the state is a " +
                      nb::cast<std::string>(nb::type_name(entry.type())) + ", expected " +
                      (std::is_same_v<T, nb::bytes> ? "bytes" : "a text"));
  return value;
}

template <class T>
[[nodiscard]] nb::tuple to_pickle(const T& value) {
  T copy = value;
  scenes::Memory memory;
  remember(memory, copy);
  return nb::make_tuple(nb::bytes(memory.bytes().data(), memory.bytes().size()));
}

template <class T>
void from_pickle(T& self, const nb::tuple& state) {
  const auto bytes = read_entry<nb::bytes>(state, 1, 0);
  T value;
  try {
    scenes::Memory memory(std::string(bytes.c_str(), bytes.size()));
    remember(memory, value);
    require(memory.done(), "has bytes behind its end");
  } catch (const Error&) {
    raise_value_error("pickle: is damaged, or of another version of almond");
  }
  new (&self) T(std::move(value));
}

}  // namespace almond::python
