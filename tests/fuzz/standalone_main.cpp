// The driver of a fuzz target where there is no libFuzzer: the seeds, the files that are named, and mutations of both,
// the same ones in every run. The input that breaks it is written to finding-NAME in the present folder.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "almond/load/file_io.hpp"
#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace {

std::string g_name;
const std::string* g_input = nullptr;

void keep_input() {
  if (g_input == nullptr) return;
  std::ofstream(g_name, std::ios::binary) << *g_input;
  std::fprintf(stderr, "the input is in %s\n", g_name.c_str());
  g_input = nullptr;
}

void keep_input_and_die(int number) {
  keep_input();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

/// Of words.dict, in libFuzzer's format: each in quotes on a line of its own.
std::vector<std::string> read_words() {
  std::istringstream lines(almond::fuzz::repository_file("tests/fuzz/words.dict"));
  std::vector<std::string> words;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] != '"') continue;
    std::string word;
    for (std::size_t i = 1; i + 1 < line.size(); ++i) {
      const bool escaped = line[i] == '\\', coded = escaped && line[i + 1] == 'x';
      if (coded) word += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16));
      if (!coded) word += line[escaped ? i + 1 : i];
      i += coded ? 3 : escaped ? 1 : 0;
    }
    words.push_back(word);
  }
  return words;
}

/// Cuts, flips bits, writes extreme bytes, copies parts over others, inserts, removes, and changes numbers and words.
std::string mutate(const std::vector<std::string>& words, const std::string& original, const std::string& other,
                   std::mt19937_64& random) {
  std::string bytes = original;
  const auto any = [&](std::size_t limit) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(limit, 1));
  };
  for (std::size_t change = 1 + any(4); change > 0 && bytes.size() > 1; --change) {
    const std::size_t at = any(bytes.size()), length = std::min(bytes.size() - at, 1 + any(12));
    switch (any(10)) {
      case 0:
        if (any(3) == 0) bytes.resize(at);
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(at, bytes.substr(any(bytes.size()), 1 + any(64)));
        break;
      case 3:
        if (!other.empty()) bytes.replace(at, length, other.substr(any(other.size()), 1 + any(64)));
        break;
      case 4:
        bytes[at] = "\x00\x7f\xff\x80"[any(4)];
        break;
      case 5:
        for (std::size_t i = at; i < at + length; ++i) bytes[i] = static_cast<char>(random());
        break;
      case 6: {
        const std::size_t begin = bytes.find_first_of("0123456789", at);
        if (begin == std::string::npos) break;
        const std::size_t end = std::min(bytes.find_first_not_of("0123456789.eE+-", begin), bytes.size());
        bytes.replace(begin, end - begin, words[any(words.size())]);
        break;
      }
      case 7: {  // at the beginning of a word, or instead of it
        const std::size_t begin = std::min(bytes.find_first_of("\"/", at), bytes.size() - 1) + 1;
        const std::size_t end = std::min(bytes.find_first_of("\"/", begin), bytes.size());
        bytes.replace(begin, any(2) == 0 ? 0 : end - begin, words[any(words.size())]);
        break;
      }
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << any(8));
    }
  }
  return bytes;
}

double run(const std::string& input) {
  const auto begin = std::chrono::steady_clock::now();
  g_input = &input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  g_input = nullptr;
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  LLVMFuzzerInitialize(&argc, &argv);
  g_name = "finding-" + fs::path(argv[0]).filename().string();
  for (const int number : {SIGABRT, SIGSEGV, SIGFPE}) std::signal(number, keep_input_and_die);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(keep_input);
#endif
  std::vector<std::string> inputs = almond::fuzz::make_seeds();
  std::size_t mutations = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--mutations" && i + 1 < argc) {
      mutations = std::strtoul(argv[++i], nullptr, 10);
    } else if (fs::is_directory(argument)) {
      std::vector<std::string> files;
      for (const auto& entry : fs::directory_iterator(argument)) files.push_back(entry.path().string());
      std::sort(files.begin(), files.end());
      for (const std::string& file : files) inputs.push_back(almond::read_file(file));
    } else if (fs::exists(argument)) {
      inputs.push_back(almond::read_file(argument));
    }
  }
  double slowest = 0.0;
  for (const std::string& input : inputs) slowest = std::max(slowest, run(input));
  std::mt19937_64 random(7);
  const std::vector<std::string> words = read_words();
  for (std::size_t i = 0; i < mutations; ++i)
    slowest =
        std::max(slowest, run(mutate(words, inputs[i % inputs.size()], inputs[random() % inputs.size()], random)));
  std::printf("%zu inputs and %zu mutations, %zu refused, the slowest took %.0f ms\n", inputs.size(), mutations,
              almond::fuzz::refused(), slowest);
  return 0;
}
