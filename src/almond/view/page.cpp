#include "almond/view/page.hpp"

#include <string_view>

#include "almond/base/check.hpp"
#include "almond/view/blob.hpp"

#ifdef ALMOND_PAGE
// The bundled page as bytes of the program.
asm(".section .rodata\n"
    ".global almond_page_begin\n.global almond_page_end\n"
    "almond_page_begin:\n.incbin \"" ALMOND_PAGE
    "\"\n"
    "almond_page_end:\n.byte 0\n"
    ".text\n");
extern "C" const char almond_page_begin[], almond_page_end[];
#endif

namespace almond {
namespace {

constexpr std::string_view kPlace = "<!--ALMOND-DATA-->";
constexpr std::string_view kOpen = "<script type=\"application/x-almond-replay\">", kClose = "</script>";

std::string_view bundled() {
#ifdef ALMOND_PAGE
  return {almond_page_begin, static_cast<std::size_t>(almond_page_end - almond_page_begin)};
#else
  return {};
#endif
}

}  // namespace

bool have_page() { return !bundled().empty(); }

std::string page_alone() {
  require(have_page(), "this program was built without its web page: install nodejs and npm, then build again");
  return std::string(bundled());
}

std::string make_page(const std::vector<std::string>& replays) {
  const std::string page = page_alone();
  const std::size_t place = page.find(kPlace);
  require(place != std::string::npos, "the built-in web page has no place for replays");
  std::string html = page.substr(0, place);
  for (const std::string& replay : replays) {
    html += kOpen;
    html += to_base64(replay);
    html += kClose;
  }
  return html + page.substr(place + kPlace.size());
}

std::vector<std::string> replays_of_page(const std::string& html, const std::string& label) {
  std::vector<std::string> replays;
  for (std::size_t at = html.find(kOpen); at != std::string::npos; at = html.find(kOpen, at)) {
    at += kOpen.size();
    const std::size_t end = html.find(kClose, at);
    require(end != std::string::npos, label + ": cut off inside a replay");
    replays.push_back(from_base64(html.substr(at, end - at), label));
    require(replays.back().compare(0, 2, "\x1f\x8b") == 0, label + ": damaged, expected a gzip stream");
  }
  require(!replays.empty(), label + ": no replay inside, expected a page written by almond run --replay");
  // The last thing that is written: without it the file was cut off.
  require(html.find("</html>") != std::string::npos, label + ": no whole page, expected one that ends with </html>");
  return replays;
}

}  // namespace almond
