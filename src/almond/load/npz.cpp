#include "almond/load/npz.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <limits>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/zip.hpp"

namespace almond {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are copied as little-endian bytes");

const std::string kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 1U << 16U;  // [bytes]

struct NpyHeader {
  char kind = 0;              // f, i, u, b, S, U
  std::size_t item_size = 0;  // bytes
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t count = 1;  // product of the shape
};

/// Value text of 'key' in the Python dictionary that heads a .npy member.
std::string find_value(const std::string& header, const std::string& key, const std::string& where) {
  const std::size_t at = header.find("'" + key + "'");
  const std::size_t colon = at == std::string::npos ? at : header.find(':', at);
  require(colon != std::string::npos, where + ": header has no '" + key + "', expected a NumPy array");
  const std::size_t start = header.find_first_not_of(' ', colon + 1);
  require(start != std::string::npos, where + ": header ends after '" + key + "'");
  return header.substr(start);
}

std::vector<std::int64_t> parse_shape(const std::string& text, const std::string& where) {
  const std::size_t close = text.find(')');
  require(!text.empty() && text[0] == '(' && close != std::string::npos,
          where + ": shape " + quote(text.substr(0, 24)) + ", expected a tuple of integers");
  std::vector<std::int64_t> shape;
  std::size_t at = 1;
  while (at < close) {
    if (text[at] == ' ' || text[at] == ',') {
      ++at;
      continue;
    }
    std::int64_t value = 0;
    const std::size_t start = at;
    while (at < close && std::isdigit(static_cast<unsigned char>(text[at]))) {
      require(value <= std::numeric_limits<std::int64_t>::max() / 16, where + ": shape is too large");
      value = 10 * value + (text[at++] - '0');
    }
    require(at > start && shape.size() < 16,
            where + ": shape " + quote(text.substr(0, close + 1)) + ", expected a tuple of integers");
    shape.push_back(value);
  }
  return shape;
}

/// What the values take in memory, where all are widened to 8 bytes and each text has an owner [bytes].
std::uint64_t bytes_in_memory(const NpyHeader& header) {
  const bool text = header.kind == 'S' || header.kind == 'U';
  return std::uint64_t{header.count} * (text ? sizeof(std::string) + header.item_size : sizeof(double));
}

/// Product of the shape, refused when the values could not lie in `bytes`.
std::size_t checked_count(const NpyHeader& header, std::size_t bytes, const std::string& where) {
  std::size_t count = 1;
  for (const std::int64_t extent : header.shape) {
    if (extent == 0) return 0;
  }
  for (const std::int64_t extent : header.shape) {
    const auto factor = static_cast<std::size_t>(extent);
    require(factor <= bytes / count, where + ": shape " + shape_text(header.shape) + " needs more than the " +
                                         std::to_string(bytes) + " bytes that are there");
    count *= factor;
  }
  return count;
}

/// Of a member of `size` bytes, from its first ones.
NpyHeader parse_header(const std::string& bytes, std::size_t size, std::size_t& data_start, const std::string& where) {
  require(bytes.size() >= 10 && bytes.compare(0, kMagic.size(), kMagic) == 0, where + ": is not a NumPy array");
  const int major = static_cast<unsigned char>(bytes[6]);
  require(major >= 1 && major <= 3, where + ": NumPy format " + std::to_string(major) + ", expected 1, 2 or 3");
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  require(bytes.size() >= 8 + length_bytes, where + ": is truncated");
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[8 + i]);
  data_start = 8 + length_bytes;
  require(length <= kMostHeader,
          where + ": header of " + std::to_string(length) + " bytes, expected at most " + std::to_string(kMostHeader));
  require(bytes.size() - data_start >= length, where + ": is truncated");
  const std::string text = bytes.substr(data_start, length);
  data_start += length;

  NpyHeader header;
  const std::string descr = find_value(text, "descr", where);
  const std::size_t close = descr.size() > 1 ? descr.find(descr[0], 1) : std::string::npos;
  require(close != std::string::npos && (descr[0] == '\'' || descr[0] == '"'),
          where + ": record or unknown dtype, expected float64, int64 or int32");
  const std::string dtype = descr.substr(1, close - 1);
  const std::string expected = where + ": dtype " + quote(dtype) + ", expected little-endian float64, int64 or int32";
  require(dtype.size() >= 3 && dtype.size() <= 12, expected);
  header.kind = dtype[1];
  for (std::size_t i = 2; i < dtype.size(); ++i) {
    require(std::isdigit(static_cast<unsigned char>(dtype[i])) != 0, expected);
    header.item_size = 10 * header.item_size + static_cast<std::size_t>(dtype[i] - '0');
  }
  if (header.kind == 'U') header.item_size *= 4;
  const bool big_endian = dtype[0] == '>' && header.item_size > 1;
  require(!big_endian && std::strchr("fiubSU", header.kind) != nullptr && header.kind != '\0', expected);
  header.fortran_order = find_value(text, "fortran_order", where).compare(0, 4, "True") == 0;
  header.shape = parse_shape(find_value(text, "shape", where), where);
  header.count = checked_count(header, size - data_start, where);
  require(header.item_size == 0 || header.count <= (size - data_start) / header.item_size,
          where + ": shape " + shape_text(header.shape) + " of " + quote(dtype) + " needs more than the " +
              std::to_string(size - data_start) + " bytes that are there");
  return header;
}

/// Values of type Raw widened to Value, in C order.
template <typename Raw, typename Value>
std::vector<Value> copy_values(const char* bytes, const NpyHeader& header) {
  std::vector<Value> values(header.count);
  const auto load = [bytes](std::size_t i) {
    Raw raw;
    std::memcpy(&raw, bytes + i * sizeof(Raw), sizeof(Raw));
    return static_cast<Value>(raw);
  };
  if (!header.fortran_order || header.shape.size() < 2 || header.count == 0) {
    for (std::size_t i = 0; i < header.count; ++i) values[i] = load(i);
    return values;
  }
  // Walk the C order with an odometer; the strides of Fortran order say where each value lies.
  std::vector<std::int64_t> index(header.shape.size(), 0);
  std::vector<std::size_t> stride(header.shape.size(), 1);
  for (std::size_t d = 1; d < stride.size(); ++d)
    stride[d] = stride[d - 1] * static_cast<std::size_t>(header.shape[d - 1]);
  std::size_t source = 0;
  for (std::size_t i = 0; i < header.count; ++i) {
    values[i] = load(source);
    for (std::size_t d = index.size(); d-- > 0;) {
      source += stride[d];
      if (++index[d] < header.shape[d]) break;
      source -= stride[d] * static_cast<std::size_t>(header.shape[d]);
      index[d] = 0;
    }
  }
  return values;
}

/// One item: byte text as it is; Unicode text (UTF-32) as UTF-8. Trailing zeros are padding.
std::string copy_text(const char* bytes, const NpyHeader& header) {
  std::string text;
  if (header.kind == 'S') {
    text.assign(bytes, header.item_size);
  } else {
    for (std::size_t i = 0; i < header.item_size / 4; ++i) {
      std::uint32_t c = 0;
      std::memcpy(&c, bytes + 4 * i, 4);
      if (c < 0x80) {
        text += static_cast<char>(c);
      } else if (c < 0x800) {
        text += static_cast<char>(0xc0 | c >> 6);
        text += static_cast<char>(0x80 | (c & 0x3f));
      } else if (c < 0x10000) {
        text += static_cast<char>(0xe0 | c >> 12);
        text += static_cast<char>(0x80 | (c >> 6 & 0x3f));
        text += static_cast<char>(0x80 | (c & 0x3f));
      } else {
        text += static_cast<char>(0xf0 | (c >> 18 & 0x7));
        text += static_cast<char>(0x80 | (c >> 12 & 0x3f));
        text += static_cast<char>(0x80 | (c >> 6 & 0x3f));
        text += static_cast<char>(0x80 | (c & 0x3f));
      }
    }
  }
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

std::vector<std::string> copy_texts(const char* bytes, const NpyHeader& header) {
  std::vector<std::string> texts;
  texts.reserve(header.count);
  for (std::size_t i = 0; i < header.count; ++i) texts.push_back(copy_text(bytes + i * header.item_size, header));
  return texts;
}

/// UTF-8 -> code points. A byte that belongs to no character becomes U+FFFD.
std::u32string decode_utf8(const std::string& text) {
  std::u32string points;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t more = lead < 0x80 ? 0 : lead >> 5 == 0x6 ? 1 : lead >> 4 == 0xe ? 2 : lead >> 3 == 0x1e ? 3 : 4;
    char32_t point = more == 0 ? lead : lead & (0x3fU >> more);
    std::size_t read = 1;
    for (; more < 4 && read <= more && i + read < text.size(); ++read) {
      const auto next = static_cast<unsigned char>(text[i + read]);
      if ((next & 0xc0) != 0x80) break;
      point = point << 6 | (next & 0x3f);
    }
    const bool whole = more < 4 && read == more + 1 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    points.push_back(whole ? point : U'\ufffd');
    i += whole ? read : 1;
  }
  return points;
}

/// Items of equal width in UTF-32, filled up with zeros; NumPy has no items without width.
std::string encode_texts(const std::vector<std::string>& texts, std::string& descr) {
  std::vector<std::u32string> items;
  std::size_t width = 1;
  for (const std::string& text : texts) {
    items.push_back(decode_utf8(text));
    width = std::max(width, items.back().size());
  }
  descr = "<U" + std::to_string(width);
  std::string data;
  for (std::u32string& item : items) {
    item.resize(width, U'\0');
    data.append(reinterpret_cast<const char*>(item.data()), width * sizeof(char32_t));
  }
  return data;
}

NpzArray parse_npy(const std::string& bytes, const std::string& where) {
  std::size_t start = 0;
  const NpyHeader header = parse_header(bytes, bytes.size(), start, where);
  const char* data = bytes.data() + start;
  const auto floats = [&](auto raw) { return NpzArray::Data(copy_values<decltype(raw), double>(data, header)); };
  const auto integers = [&](auto raw) {
    return NpzArray::Data(copy_values<decltype(raw), std::int64_t>(data, header));
  };
  NpzArray array;
  array.shape = header.shape;
  const std::string type = header.kind + std::to_string(header.item_size);
  if (type == "f8")
    array.data = floats(double{});
  else if (type == "f4")
    array.data = floats(float{});
  else if (type == "i4")
    array.data = NpzArray::Data(copy_values<std::int32_t, std::int32_t>(data, header));
  else if (type == "i8")
    array.data = integers(std::int64_t{});
  else if (type == "i2")
    array.data = integers(std::int16_t{});
  else if (type == "i1")
    array.data = integers(std::int8_t{});
  else if (type == "u1" || type == "b1")
    array.data = integers(std::uint8_t{});
  else if (type == "u2")
    array.data = integers(std::uint16_t{});
  else if (type == "u4")
    array.data = integers(std::uint32_t{});
  else if ((header.kind == 'S' || header.kind == 'U') && header.count == 1) {
    array.data = copy_text(data, header);
    array.shape.clear();
  } else if ((header.kind == 'S' || header.kind == 'U') && header.shape.size() == 1) {
    array.data = copy_texts(data, header);
  } else {
    throw Error(where + ": dtype " + quote(type) + ", expected float64, int64 or int32");
  }
  return array;
}

std::string field_name(const ZipEntry& entry) {
  const std::string ending = ".npy", &name = entry.name;
  return name.size() > ending.size() && name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

/// By the headers alone, before anything is unpacked: small numbers and short texts are larger in memory than packed.
void check_memory(const std::string& bytes, const std::vector<ZipEntry>& entries, const std::string& label) {
  std::uint64_t total = 0;
  for (const ZipEntry& entry : entries) {
    const std::string where = label + ": field " + quote(field_name(entry));
    std::size_t start = 0;
    total +=
        bytes_in_memory(parse_header(unpack_start(bytes, entry, kMostHeader + 16, label), entry.size, start, where));
    require(total <= most_unpacked(bytes.size()), where + ": up to here the fields take " + std::to_string(total) +
                                                      " bytes of memory, expected at most " +
                                                      std::to_string(most_unpacked(bytes.size())));
  }
}

std::string make_npy(const NpzArray& array) {
  std::string descr, data;
  const auto append = [&data](const auto& values) {
    data.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  if (const auto* doubles = std::get_if<std::vector<double>>(&array.data)) {
    descr = "<f8";
    append(*doubles);
  } else if (const auto* longs = std::get_if<std::vector<std::int64_t>>(&array.data)) {
    descr = "<i8";
    append(*longs);
  } else if (const auto* ints = std::get_if<std::vector<std::int32_t>>(&array.data)) {
    descr = "<i4";
    append(*ints);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&array.data)) {
    data = encode_texts(*texts, descr);
  } else {
    data = std::get<std::string>(array.data);
    if (data.empty()) data.assign(1, '\0');
    descr = "|S" + std::to_string(data.size());
  }
  std::string shape = "(";
  for (const std::int64_t extent : array.shape) shape += std::to_string(extent) + ",";
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "), }";
  // Magic, version and length take 10 bytes; NumPy wants the data aligned to 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes = kMagic;
  bytes += '\x01';
  bytes += '\x00';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8 & 0xff);
  return bytes + header + data;
}

}  // namespace

NpzArray::NpzArray(const VecX& vector)
    : shape{vector.size()}, data(std::vector<double>(vector.data(), vector.data() + vector.size())) {}

std::int64_t NpzArray::size() const {
  if (const auto* doubles = std::get_if<std::vector<double>>(&data)) return static_cast<std::int64_t>(doubles->size());
  if (const auto* longs = std::get_if<std::vector<std::int64_t>>(&data))
    return static_cast<std::int64_t>(longs->size());
  if (const auto* ints = std::get_if<std::vector<std::int32_t>>(&data)) return static_cast<std::int64_t>(ints->size());
  if (const auto* texts = std::get_if<std::vector<std::string>>(&data)) return static_cast<std::int64_t>(texts->size());
  return 1;
}

NpzArchive NpzArchive::read(const std::string& path) { return from_bytes(read_file(path), path); }

NpzArchive NpzArchive::from_bytes(const std::string& bytes, const std::string& label) {
  NpzArchive archive;
  archive.label_ = label;
  const std::vector<ZipEntry> entries = list_zip(bytes, label);
  check_memory(bytes, entries, label);
  for (const ZipEntry& entry : entries) {
    const std::string name = field_name(entry);
    require(!archive.has(name), label + ": field " + quote(name) + " occurs twice");
    archive.set(name, parse_npy(unpack(bytes, entry, label), label + ": field " + quote(name)));
  }
  return archive;
}

const NpzArray& NpzArchive::at(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found != arrays_.end()) return found->second;
  const std::string nearest = nearest_name(name, names());
  throw Error(label_ + ": field " + quote(name) + " is missing" +
              (nearest.empty() ? "" : " (the nearest there is " + quote(nearest) + ")"));
}

std::vector<std::string> NpzArchive::names() const {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays_) names.push_back(name);
  return names;
}

std::string NpzArchive::to_bytes(const std::string& label) const {
  std::vector<ZipMember> members;
  for (const auto& [name, array] : arrays_) members.push_back({name + ".npy", make_npy(array)});
  return make_zip(members, label);
}

void NpzArchive::write(const std::string& path) const { write_file(path, to_bytes(path)); }

}  // namespace almond
