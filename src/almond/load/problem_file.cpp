#include "almond/load/problem_file.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/fclib.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/npz.hpp"
#include "almond/load/problem_fields.hpp"

namespace almond {
namespace {

enum class Format { kUnknown, kNpz, kJson, kHdf5 };

Format format_of_name(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  if (extension == ".npz") return Format::kNpz;
  if (extension == ".json") return Format::kJson;
  if (extension == ".hdf5" || extension == ".h5") return Format::kHdf5;
  return Format::kUnknown;
}

Format format_of_content(const std::string& bytes) {
  const auto starts = [&bytes](const std::string& magic) { return bytes.compare(0, magic.size(), magic) == 0; };
  if (starts("PK\x03\x04") || starts("PK\x05\x06")) return Format::kNpz;
  if (starts("\x89HDF\r\n\x1a\n")) return Format::kHdf5;
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && bytes[first] == '{') return Format::kJson;
  return Format::kUnknown;
}

}  // namespace

ContactProblem load_problem(const std::string& path, LoadReport* report) {
  return parse_problem(path, read_file(path), report);
}

ContactProblem parse_problem(const std::string& path, std::string bytes, LoadReport* report) {
  LoadReport unused;
  LoadReport& notes = report != nullptr ? *report : unused;
  require(!bytes.empty(), path + ": is empty, expected a contact problem");
  Format format = format_of_content(bytes);
  if (format == Format::kUnknown) format = format_of_name(path);
  ContactProblem problem;
  switch (format) {
    case Format::kNpz:
      problem = problem_from_fields(NpzArchive::from_bytes(bytes, path), notes);
      break;
    case Format::kJson:
      problem = problem_from_fields(NpzArchive::from_json(bytes, path), notes);
      break;
    case Format::kHdf5:
      problem = read_fclib(path, std::move(bytes), notes);
      break;
    case Format::kUnknown:
      throw Error(path + ": unknown kind of file, expected FCLIB HDF5, .npz or JSON");
  }
  if (problem.name.empty()) problem.name = std::filesystem::path(path).stem().string();
  try {
    problem.validate();
  } catch (const Error& error) {
    throw Error(path + ": " + error.what());
  }
  return problem;
}

void save_problem(const ContactProblem& problem, const std::string& path, FclibForm form) {
  switch (format_of_name(path)) {
    case Format::kNpz:
      write_file(path, fields_from_problem(problem).to_bytes(path));
      return;
    case Format::kJson:
      write_file(path, fields_from_problem(problem).to_json(path));
      return;
    case Format::kHdf5:
      write_fclib(problem, path, form);
      return;
    case Format::kUnknown:
      break;
  }
  throw Error(path + ": unknown extension " + quote(std::filesystem::path(path).extension().string()) +
              ", expected .npz, .json, .hdf5 or .h5");
}

void save_solution(const std::string& path, const VecX& v, const VecX& lambda) {
  NpzArchive archive;
  archive.set("v", NpzArray(v));
  archive.set("lambda", NpzArray(lambda));
  archive.write(path);
}

}  // namespace almond
