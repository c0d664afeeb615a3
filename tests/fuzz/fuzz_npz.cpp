// Problems as .npz, read as they come and once more with their checksums put right, so that damage gets past them.

#include <zlib.h>

#include "almond/load/npz.hpp"
#include "almond/load/problem_fields.hpp"
#include "almond/load/zip.hpp"
#include "fuzz/problems.hpp"

namespace almond::fuzz {
namespace {

template <class T>
T number_at(const std::string& bytes, std::size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Stored members only: the packed ones have a sum that zlib knows to check.
std::string repair_sums(std::string bytes) {
  const std::size_t end = bytes.rfind("PK\x05\x06");
  if (end == std::string::npos) return bytes;
  std::size_t at = number_at<std::uint32_t>(bytes, end + 16);
  while (at + 46 <= bytes.size() && bytes.compare(at, 4, "PK\x01\x02") == 0) {
    const std::size_t size = number_at<std::uint32_t>(bytes, at + 20), local = number_at<std::uint32_t>(bytes, at + 42);
    const std::size_t start =
        local + 30 + number_at<std::uint16_t>(bytes, local + 26) + number_at<std::uint16_t>(bytes, local + 28);
    if (start <= bytes.size() && size <= bytes.size() - start) {
      const auto sum = static_cast<std::uint32_t>(
          crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data() + start), static_cast<z_size_t>(size)));
      std::memcpy(bytes.data() + at + 16, &sum, sizeof sum);
    }
    at += 46U + number_at<std::uint16_t>(bytes, at + 28) + number_at<std::uint16_t>(bytes, at + 30) +
          number_at<std::uint16_t>(bytes, at + 32);
  }
  return bytes;
}

/// As NumPy's savez writes it: nothing packed, so that mutations reach the arrays.
std::string make_stored_zip(const std::vector<ZipMember>& members) {
  std::string out, directory;
  const auto put = [](std::string& to, auto value) { to.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (const ZipMember& member : members) {
    const auto size = static_cast<std::uint32_t>(member.bytes.size()), at = static_cast<std::uint32_t>(out.size());
    const auto put_head = [&](std::string& to) {
      for (const std::uint16_t word : std::initializer_list<std::uint16_t>{20, 0, 0, 0, 33}) put(to, word);
      for (const std::uint32_t word : {std::uint32_t{0}, size, size}) put(to, word);
      put(to, static_cast<std::uint16_t>(member.name.size()));
      put(to, std::uint16_t{0});
    };
    out += "PK\x03\x04";
    put_head(out);
    out += member.name + member.bytes;
    directory += "PK\x01\x02";
    put(directory, std::uint16_t{20});
    put_head(directory);
    directory.append(10, '\0');
    put(directory, at);
    directory += member.name;
  }
  const auto count = static_cast<std::uint16_t>(members.size());
  const auto start = static_cast<std::uint32_t>(out.size()), length = static_cast<std::uint32_t>(directory.size());
  out += directory + "PK\x05\x06" + std::string(4, '\0');
  put(out, count);
  put(out, count);
  put(out, length);
  put(out, start);
  put(out, std::uint16_t{0});
  return repair_sums(out);
}

void read_problem(const std::string& bytes) {
  LoadReport report;
  try_problem(problem_from_fields(NpzArchive::from_bytes(bytes, "input"), report));
}

}  // namespace

void read_input(const std::string& input) {
  try {
    read_problem(input);
  } catch (const Error&) {
    read_problem(repair_sums(input));
  }
}

std::vector<std::string> make_seeds() {
  std::vector<std::string> seeds;
  for (const NpzArchive& archive : {fields_from_problem(make_small_problem()), make_plain_fields()}) {
    const std::string packed = archive.to_bytes("seed");
    seeds.push_back(packed);
    seeds.push_back(make_stored_zip(read_zip(packed, "seed")));
  }
  return seeds;
}

}  // namespace almond::fuzz
