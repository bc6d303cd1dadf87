#include "grove/base/printable.h"

#include <gtest/gtest.h>

namespace grove {
namespace {

TEST(Printable, LeavesTextOfAnyLanguageAsItIs) {
  for (const char* text : {"plain", "Größe", "température", "温度", "налог", "🌳 tree", ""})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, MakesControlCharactersHarmless) {
  EXPECT_EQ(printable("a\033[31mb"), "a?[31mb");
  EXPECT_EQ(printable("a\nb\tc\rd\x7f"), "a?b?c?d?");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "?31m");  // U+009B begins an escape sequence, too
  EXPECT_EQ(printable("\xE2\x80\xAE"
                      "txt"),
            "?txt");  // U+202E: right-to-left override
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "?x");
}

// The examples are those of the Unicode standard, table 3-7: overlong forms, surrogates, values
// above U+10FFFF and truncated sequences are not UTF-8.
TEST(Printable, MarksBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a?b");
  EXPECT_EQ(printable("\xC0\xAF"), "??");
  EXPECT_EQ(printable("\xE0\x80\x80"), "???");
  EXPECT_EQ(printable("\xED\xA0\x80"), "???");
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "????");
  EXPECT_EQ(printable("\xE2\x82"), "??");
}

TEST(Printable, CountsCharactersRatherThanBytes) {
  EXPECT_EQ(printable("Größe", 5), "Größe");
  EXPECT_EQ(printable("Größe", 3), "Grö...");
}

}  // namespace
}  // namespace grove
