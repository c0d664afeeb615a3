// NpzArchive as a JSON object: numbers as nested rectangular lists, written with enough digits to come back bit for
// bit.

#include <cmath>
#include <nlohmann/json.hpp>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/json_fields.hpp"
#include "almond/load/npz.hpp"

namespace almond {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 8;

/// Collects the numbers of a nested list; every sublist must have the extent that the first one had.
class ListReader {
 public:
  explicit ListReader(std::string where) : where_(std::move(where)) {}

  NpzArray read(const json& value) {
    const json* inner = &value;
    while (inner->is_array()) {
      require(shape_.size() < kMaxDepth, where_ + ": lists are nested deeper than " + std::to_string(kMaxDepth));
      shape_.push_back(static_cast<std::int64_t>(inner->size()));
      if (inner->empty()) break;
      inner = &inner->front();
    }
    collect(value, 0);
    if (!all_integers_ || numbers_.empty()) return NpzArray(shape_, std::move(numbers_));
    return NpzArray(shape_, std::move(integers_));
  }

 private:
  void collect(const json& value, std::size_t depth) {
    if (depth < shape_.size()) {
      require(value.is_array() && static_cast<std::int64_t>(value.size()) == shape_[depth],
              where_ + ": lists differ in length, expected a rectangular array " + shape_text(shape_));
      for (const json& item : value) collect(item, depth + 1);
      return;
    }
    require(value.is_number() || value.is_boolean(),
            where_ + ": " + value.type_name() + " at value " + std::to_string(numbers_.size()) + ", expected a number");
    const bool fits = value.is_boolean() || (value.is_number_integer() &&
                                             !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX));
    all_integers_ = all_integers_ && fits;
    if (all_integers_) integers_.push_back(value.is_boolean() ? value.get<bool>() : value.get<std::int64_t>());
    numbers_.push_back(value.is_boolean() ? static_cast<double>(value.get<bool>()) : value.get<double>());
  }

  std::string where_;
  std::vector<std::int64_t> shape_;
  std::vector<double> numbers_;
  std::vector<std::int64_t> integers_;
  bool all_integers_ = true;
};

template <typename Value>
json nest(const std::vector<Value>& values, const std::vector<std::int64_t>& shape, std::size_t depth,
          std::size_t& at) {
  if (depth == shape.size()) return values[at++];
  json list = json::array();
  for (std::int64_t i = 0; i < shape[depth]; ++i) list.push_back(nest(values, shape, depth + 1, at));
  return list;
}

json to_value(const NpzArray& array, const std::string& where) {
  if (array.is_one_text()) return std::get<std::string>(array.data);
  if (array.is_text()) return std::get<std::vector<std::string>>(array.data);
  if (const auto* doubles = std::get_if<std::vector<double>>(&array.data)) {
    for (const double value : *doubles) {
      require(std::isfinite(value),
              where + ": " + to_text(value) + " cannot be written as JSON, expected finite numbers");
    }
  }
  std::size_t at = 0;
  if (const auto* doubles = std::get_if<std::vector<double>>(&array.data)) return nest(*doubles, array.shape, 0, at);
  if (const auto* longs = std::get_if<std::vector<std::int64_t>>(&array.data)) return nest(*longs, array.shape, 0, at);
  return nest(std::get<std::vector<std::int32_t>>(array.data), array.shape, 0, at);
}

}  // namespace

NpzArchive NpzArchive::from_json(const std::string& text, const std::string& label) {
  check_json_text(text, label);
  json document;
  try {
    document = json::parse(text);
  } catch (const json::exception& error) {
    const std::string what = error.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::size_t start = what.find("] ");
    const std::string reason = start == std::string::npos ? what : what.substr(start + 2);
    std::string line;
    for (const char c : reason.substr(0, 160)) line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    throw Error(label + ": is not valid JSON: " + line);
  }
  require(document.is_object(), label + ": JSON " + document.type_name() + " at the top, expected an object of fields");
  NpzArchive archive;
  archive.label_ = label;
  for (const auto& [name, value] : document.items()) {
    if (value.is_string()) {
      archive.set(name, NpzArray(value.get<std::string>()));
    } else {
      archive.set(name, ListReader(label + ": field " + quote(name)).read(value));
    }
  }
  return archive;
}

std::string NpzArchive::to_json(const std::string& label) const {
  std::string text = "{";
  for (const auto& [name, array] : arrays_) {
    text += text.size() > 1 ? ",\n " : "\n ";
    text += json(name).dump() + ": ";
    text += to_value(array, label + ": field " + quote(name)).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  return text + "\n}\n";
}

}  // namespace almond
