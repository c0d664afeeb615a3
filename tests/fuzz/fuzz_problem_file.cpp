// libFuzzer target for the .npz and JSON readers: a valid problem or almond::Error, nothing else.
//
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -Isrc -I/usr/include/eigen3
//   tests/fuzz/fuzz_problem_file.cpp
//       src/almond/load/{npz,json_archive,zip,text,file_io,fields,problem_fields,problem_parts,write_fields}.cpp
//       src/almond/solver/problem.cpp src/almond/base/tree.cpp -lz -o fuzz_problem_file        (one line)
//   ./fuzz_problem_file CORPUS        CORPUS: a folder with some problem files to start from

#include <cstddef>
#include <cstdint>
#include <string>

#include "almond/base/check.hpp"
#include "almond/load/npz.hpp"
#include "almond/load/problem_fields.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const bool json = size > 0 && data[0] == '{';
  try {
    almond::LoadReport report;
    const almond::NpzArchive archive =
        json ? almond::NpzArchive::from_json(bytes, "input") : almond::NpzArchive::from_bytes(bytes, "input");
    almond::problem_from_fields(archive, report).validate();
  } catch (const almond::Error&) {
    return 0;
  }
  return 0;
}
