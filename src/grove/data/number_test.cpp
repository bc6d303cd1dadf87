#include "grove/data/number.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace grove {
namespace {

/// The bits of what is read from the whole of `text`.
std::uint64_t bits_read(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  EXPECT_EQ(read_number(text.data(), end, value), end) << text;
  return std::bit_cast<std::uint64_t>(value);
}

std::uint64_t bits_by_the_c_library(const std::string& text) {
  return std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr));
}

// The limits of the exact short cut: 2^53, ten to the 22nd, nineteen digits, and half-way cases.
TEST(Numbers, RoundAsTheCLibraryDoesAtTheLimits) {
  for (const std::string text : {"0",
                                 "-0",
                                 "-0.0",
                                 "+7",
                                 ".5",
                                 "5.",
                                 "-.25",
                                 "1e0",
                                 "1e22",
                                 "1e23",
                                 "1e-22",
                                 "1e-23",
                                 "9007199254740992",
                                 "9007199254740993",
                                 "9007199254740993e1",
                                 "9007199254740992e22",
                                 "0.1",
                                 "0.3",
                                 "123456.789",
                                 "1234567890123456789",
                                 "12345678901234567890",
                                 "0.00000000000000000001",
                                 "0000000000000000000000001.5",
                                 "17976931348623157e292",
                                 "2.2250738585072011e-308",
                                 "4.9e-324",
                                 "1e-400",
                                 "-1e-400",
                                 "8.5e+3",
                                 "1E5",
                                 "1e+05",
                                 "1e-05",
                                 "0e999",
                                 "9.5367431640625e-7",
                                 "1.00000000000000011102230246251565404236316680908203125"})
    EXPECT_EQ(bits_read(text), bits_by_the_c_library(text)) << text;
}

std::string digits(int least, int most) {
  const auto count = *rc::gen::inRange(least, most);
  return *rc::gen::container<std::string>(static_cast<std::size_t>(count),
                                          rc::gen::inRange('0', ':'));
}

RC_GTEST_PROP(Numbers, RoundAsTheCLibraryDoes, ()) {
  std::string text = *rc::gen::element<std::string>("", "-", "+");
  text += digits(1, *rc::gen::element(2, 8, 20, 25));
  if (*rc::gen::arbitrary<bool>()) text += "." + digits(0, *rc::gen::element(4, 10, 20, 25));
  if (*rc::gen::inRange(0, 3) == 0)
    text += *rc::gen::element<std::string>("e", "E-", "e+") + digits(1, 3);
  RC_ASSERT(bits_read(text) == bits_by_the_c_library(text));
}

// What is not a number, or only begins like one, is for the standard library to judge.
RC_GTEST_PROP(Numbers, EndWhereTheStandardLibrarySaysTheyEnd, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789..+-eE :infa")));
  const char* const end = text.data() + text.size();
  double fast = 0, slow = 0;
  RC_ASSERT(read_number(text.data(), end, fast) == read_any_number(text.data(), end, slow));
  RC_ASSERT(std::memcmp(&fast, &slow, sizeof fast) == 0);
}

}  // namespace
}  // namespace grove
