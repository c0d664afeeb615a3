// Names for a terminal: what could move its cursor, colour it or begin a line is spelled out, by the ranges of
// Unicode's own tables; all else stays as it is.

#include <gtest/gtest.h>

#include <cstdint>

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
  for (const std::string turn :
       {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"})
    EXPECT_EQ(printable("a" + turn + "b").size(), 2U + 4 * turn.size());
  for (const std::string near : {"\u061b", "\u061d", "\u200d", "\u2010", "\u2027", "\u202f", "\u2065", "\u206a"})
    EXPECT_EQ(printable(near), near);
}

TEST(Printable, SpellsOutWhatIsNoUtf8) {
  EXPECT_EQ(printable("a\xe9z"), "a\\xe9z");             // Latin-1
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");        // cut off
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");        // longer than need be
  EXPECT_EQ(printable("\xf5\x80\x80\x80").size(), 16U);  // beyond Unicode
}

/// All of Unicode in as many bytes as it may have, as Unicode's table of well-formed sequences has them (Table 3-7).
TEST(Printable, KnowsWellFormedUtf8) {
  const auto encode = [](std::uint32_t c, int count) {
    std::string text(static_cast<std::size_t>(count), '\0');
    for (int k = count - 1; k > 0; --k, c >>= 6)
      text[static_cast<std::size_t>(k)] = static_cast<char>(0x80 | (c & 0x3f));
    const std::uint32_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    text[0] = static_cast<char>(marks[count] | c);
    return text;
  };
  const auto spelled_out = [&](std::uint32_t c, int count) {
    return printable(encode(c, count)).size() == 4 * static_cast<std::size_t>(count);
  };
  // Longer than need be: ESC, CSI and letters in disguise.
  for (const std::uint32_t c : {0x00U, 0x1bU, 0x41U, 0x7fU})
    for (const int count : {2, 3, 4}) EXPECT_TRUE(spelled_out(c, count)) << c;
  for (const std::uint32_t c : {0x80U, 0x9bU, 0xe9U, 0x7ffU})
    for (const int count : {3, 4}) EXPECT_TRUE(spelled_out(c, count)) << c;
  for (const std::uint32_t c : {0x800U, 0x202eU, 0xffffU}) EXPECT_TRUE(spelled_out(c, 4)) << c;
  EXPECT_EQ(printable("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");
  EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
  // Halves of pairs, and what lies beyond.
  for (const std::uint32_t c : {0xd800U, 0xdbffU, 0xdc00U, 0xdfffU}) EXPECT_TRUE(spelled_out(c, 3)) << c;
  for (const std::uint32_t c : {0x110000U, 0x13ffffU, 0x1fffffU}) EXPECT_TRUE(spelled_out(c, 4)) << c;
  // And what is as it should be, at the edges of all that.
  for (const std::uint32_t c : {0xa0U, 0x7ffU}) EXPECT_EQ(printable(encode(c, 2)), encode(c, 2));
  for (const std::uint32_t c : {0x800U, 0xd7ffU, 0xe000U, 0xffffU}) EXPECT_EQ(printable(encode(c, 3)), encode(c, 3));
  for (const std::uint32_t c : {0x10000U, 0x10ffffU}) EXPECT_EQ(printable(encode(c, 4)), encode(c, 4));
}

}  // namespace
}  // namespace almond
