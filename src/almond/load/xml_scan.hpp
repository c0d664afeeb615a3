#pragma once
// The elements of an XML text with the lines they stand on: where errors are, and what a reader passes over.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace almond {

struct XmlElement {
  std::string name;
  int parent = -1;  // index, -1: the outermost
  int line = 0;
  std::size_t open_name = 0, close_name = 0;  // where the name starts in the text; close_name 0: <name/>
  std::size_t text_begin = 0, text_end = 0;   // what stands in it before any other element
  std::vector<std::pair<std::string, std::string>> attributes;

  [[nodiscard]] const std::string* attribute(const std::string& key) const;
};

/// In the order of the text. Throws Error with "place:line" for what is not well-formed, nested deeper than 200 or
/// holds more than 4 million elements.
[[nodiscard]] std::vector<XmlElement> scan_xml(const std::string& text, const std::string& place);

/// How long the reference to `c` is that stands at `at` (&#37; or &#x25; for %); 0: there is none.
[[nodiscard]] std::size_t character_reference(const std::string& text, std::size_t at, char c);

/// Name of the first element of an XML text; empty: there is none.
[[nodiscard]] std::string root_element(const std::string& text);

}  // namespace almond
