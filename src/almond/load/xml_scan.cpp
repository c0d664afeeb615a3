#include "almond/load/xml_scan.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"

namespace almond {
namespace {

constexpr std::size_t kMaxDepth = 200, kMaxElements = 4'000'000, kMaxAttributes = 1000;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_name(char c) { return !is_space(c) && std::strchr("<>/='\"", c) == nullptr; }

struct Reference {
  std::size_t size = 0;  // 0: there is none
  unsigned long code = 0;
};

/// Of "&#65;" or "&#x41;" at `at`. The parsers behind this one count in 32 bits: what overflows those has code 0 here.
Reference reference_at(const std::string& text, std::size_t at) {
  if (text.compare(at, 2, "&#") != 0) return {};
  const bool hex = text.compare(at + 2, 1, "x") == 0;
  const std::size_t begin = at + (hex ? 3 : 2), end = text.find(';', begin);
  const char* const digits = hex ? "0123456789abcdefABCDEF" : "0123456789";
  if (end == std::string::npos || end == begin || text.find_first_not_of(digits, begin) != end) return {};
  constexpr unsigned long kLast = 0x10ffff;  // of Unicode
  constexpr std::size_t kMostDigits = 8;
  const std::size_t size = end + 1 - at;
  if (end - begin > kMostDigits) return {size, 0};
  const unsigned long code = std::strtoul(text.c_str() + begin, nullptr, hex ? 16 : 10);
  return {size, code <= kLast ? code : 0};
}

/// &lt; and the like, &#65; and &#x41; below 128; other characters stay as they are written. False where a reference
/// is to no character.
bool decode_entities(std::string& text) {
  static const std::pair<const char*, char> kEntities[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto* const entity = std::find_if(std::begin(kEntities), std::end(kEntities), [&](const auto& known) {
      return text.compare(i, std::strlen(known.first), known.first) == 0;
    });
    const Reference reference = reference_at(text, i);
    if (reference.size > 0 && reference.code == 0) return false;
    if (entity != std::end(kEntities)) {
      out += entity->second;
      i += std::strlen(entity->first);
    } else if (reference.size > 0 && reference.code < 128) {
      out += static_cast<char>(reference.code);
      i += reference.size;
    } else {
      out += text[i++];
    }
  }
  text = std::move(out);
  return true;
}

class Scanner {
 public:
  Scanner(const std::string& text, const std::string& place) : text_(text), place_(place) {}

  std::vector<XmlElement> scan() {
    const std::size_t zero = text_.find('\0');
    if (zero != std::string::npos) fail(zero, "a zero byte, expected text");
    while (at_ < text_.size()) {
      const std::size_t begin = text_.find('<', at_);
      if (begin == std::string::npos) break;
      at_ = begin;
      if (starts("<!--")) {
        skip("<!--", "-->", "a comment");
      } else if (starts("<![CDATA[")) {
        skip("<![CDATA[", "]]>", "a CDATA section");
      } else if (starts("<?")) {
        skip_declaration();
      } else if (starts("<!")) {
        skip_doctype();
      } else if (starts("</")) {
        close();
      } else {
        open();
      }
    }
    if (!stack_.empty()) {
      const XmlElement& last = elements_[stack_.back()];
      throw Error(place_ + ":" + std::to_string(last.line) + ": <" + shown(last.name) + "> is never closed");
    }
    if (elements_.empty()) throw Error(place_ + ": no XML element, expected one");
    return std::move(elements_);
  }

 private:
  [[nodiscard]] bool starts(const char* what) const { return text_.compare(at_, std::strlen(what), what) == 0; }

  static std::string shown(const std::string& name) {
    const std::string quoted = quote(name);
    return quoted.substr(1, quoted.size() - 2);
  }

  int line_at(std::size_t position) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
    counted_ = position;
    return line_;
  }

  [[noreturn]] void fail(std::size_t position, const std::string& message) {
    throw Error(place_ + ":" + std::to_string(line_at(std::max(position, counted_))) + ": " + message);
  }

  void skip(const char* begin, const char* end, const char* what) {
    const std::size_t found = text_.find(end, at_ + std::strlen(begin));
    if (found == std::string::npos) fail(at_, std::string(what) + " is never closed, expected " + end);
    at_ = found + std::strlen(end);
  }

  /// To some parsers it ends at the first >, and what comes then is read.
  void skip_declaration() {
    const std::size_t begin = at_;
    skip("<?", "?>", "a declaration");
    const std::size_t inner = text_.find('<', begin + 1);
    if (inner < at_) fail(begin, "a declaration with < in it, expected one without");
  }

  void skip_doctype() {
    const std::size_t end = text_.find_first_of("[>", at_);
    if (end == std::string::npos || text_[end] == '[') fail(at_, "a DOCTYPE with definitions, expected none");
    at_ = end + 1;
  }

  std::string read_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    if (at_ == begin) fail(begin, "expected a name after <, got " + quote(text_.substr(begin, 8)));
    return text_.substr(begin, at_ - begin);
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  void close() {
    const std::size_t begin = at_;
    at_ += 2;
    const std::size_t name_begin = at_;
    const std::string name = read_name();
    skip_space();
    if (at_ >= text_.size() || text_[at_] != '>') fail(begin, "</" + shown(name) + " is not closed, expected >");
    ++at_;
    if (stack_.empty()) fail(begin, "</" + shown(name) + "> closes nothing");
    XmlElement& element = elements_[stack_.back()];
    if (element.name != name)
      fail(begin,
           "</" + shown(name) + "> closes <" + shown(element.name) + "> of line " + std::to_string(element.line));
    element.close_name = name_begin;
    stack_.pop_back();
  }

  void open() {
    XmlElement element;
    const std::size_t begin = at_++;
    element.open_name = at_;
    element.name = read_name();
    element.line = line_at(begin);
    element.parent = stack_.empty() ? -1 : stack_.back();
    if (element.parent < 0 && !elements_.empty()) fail(begin, "a second outermost element, expected one");
    bool closed = false;
    while (true) {
      skip_space();
      if (at_ >= text_.size()) fail(begin, "<" + shown(element.name) + " is not closed, expected >");
      if (text_[at_] == '>' || starts("/>")) {
        closed = text_[at_] == '/';
        at_ += closed ? 2 : 1;
        break;
      }
      element.attributes.push_back(read_attribute(element.name));
      if (element.attributes.size() > kMaxAttributes)
        fail(begin, "<" + shown(element.name) + "> has more than " + std::to_string(kMaxAttributes) +
                        " attributes, expected fewer");
    }
    if (!closed) {
      element.text_begin = at_;
      element.text_end = std::min(text_.find('<', at_), text_.size());
    }
    elements_.push_back(std::move(element));
    if (elements_.size() > kMaxElements) fail(begin, "more than 4 million elements, expected fewer");
    if (!closed) stack_.push_back(static_cast<int>(elements_.size()) - 1);
    if (stack_.size() > kMaxDepth) fail(begin, "elements nested deeper than " + std::to_string(kMaxDepth));
  }

  std::pair<std::string, std::string> read_attribute(const std::string& owner) {
    const std::size_t begin = at_;
    const auto wrong = [&] {
      fail(begin, "<" + shown(owner) + ": " + quote(text_.substr(begin, 16)) + ", expected name=\"value\"");
    };
    if (!is_name(text_[at_])) wrong();
    std::string name = read_name();
    skip_space();
    if (at_ >= text_.size() || text_[at_] != '=') wrong();
    ++at_;
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) wrong();
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string::npos) wrong();
    std::string value = text_.substr(at_ + 1, end - at_ - 1);
    if (!decode_entities(value))
      fail(begin, "<" + shown(owner) + ": " + name + " has a reference to no character, expected &#1; to &#x10ffff;");
    at_ = end + 1;
    return {std::move(name), std::move(value)};
  }

  const std::string& text_;
  const std::string& place_;
  std::vector<XmlElement> elements_;
  std::vector<int> stack_;
  std::size_t at_ = 0, counted_ = 0;
  int line_ = 1;
};

}  // namespace

const std::string* XmlElement::attribute(const std::string& key) const {
  for (const auto& [known, value] : attributes)
    if (known == key) return &value;
  return nullptr;
}

std::vector<XmlElement> scan_xml(const std::string& text, const std::string& place) {
  return Scanner(text, place).scan();
}

std::size_t character_reference(const std::string& text, std::size_t at, char c) {
  const Reference found = reference_at(text, at);
  return found.size > 0 && found.code == static_cast<unsigned char>(c) ? found.size : 0;
}

std::string root_element(const std::string& text) {
  std::size_t at = 0;
  while ((at = text.find('<', at)) != std::string::npos) {
    const bool comment = text.compare(at, 4, "<!--") == 0;
    if (comment || text[at + 1] == '?' || text[at + 1] == '!') {
      at = text.find(comment ? "-->" : ">", at + 1);
      continue;
    }
    return text.substr(at + 1, text.find_first_of(" \t\r\n/>", at + 1) - at - 1);
  }
  return "";
}

}  // namespace almond
