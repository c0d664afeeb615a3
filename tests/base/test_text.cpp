// Names for a terminal: what could move its cursor, colour it or begin a line is spelled out, by the ranges of
// Unicode's own tables; all else stays as it is.

#include <gtest/gtest.h>

#include "almond/base/text.hpp"

namespace almond {
namespace {

TEST(Printable, KeepsLettersOfAnyLanguage) {
  for (const std::string text : {"", "left_foot 2", "Gelenk für Öl", "関節", "сустав", "🤖", "\xc2\xa0"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, SpellsOutEveryControlCharacter) {
  for (int c = 0; c < 256; ++c) {
    const std::string one(1, static_cast<char>(c));
    const bool stays = c >= 0x20 && c < 0x7f;  // alone, bytes from 0x80 on are no UTF-8
    EXPECT_EQ(printable(one) == one, stays) << c;
    EXPECT_EQ(printable(one).substr(0, 2) == "\\x", !stays) << c;
  }
  for (int c = 0x80; c < 0xa0; ++c)
    EXPECT_EQ(printable(std::string("\xc2") + static_cast<char>(c)).substr(0, 7),
              "\\xc2\\x" + std::string(c < 0x90 ? "8" : "9"));
}

TEST(Printable, SpellsOutWhatTurnsTheDirectionOfReading) {
  for (const std::string turn : {"\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"})
    EXPECT_EQ(printable("a" + turn + "b").size(), 2U + 12U);
  for (const std::string near : {"\u2027", "\u202f", "\u2065", "\u206a"}) EXPECT_EQ(printable(near), near);
}

TEST(Printable, SpellsOutWhatIsNoUtf8) {
  EXPECT_EQ(printable("a\xe9z"), "a\\xe9z");             // Latin-1
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");        // cut off
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");        // longer than need be
  EXPECT_EQ(printable("\xf5\x80\x80\x80").size(), 16U);  // beyond Unicode
}

}  // namespace
}  // namespace almond
