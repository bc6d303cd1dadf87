// The log as JSON, read back by the parser of another library object than wrote it.
#include "grove/peer/json_log.h"

#include <sstream>

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <nlohmann/json.hpp>

namespace grove::peer {
namespace {

using nlohmann::json;

/// The lines that a message makes.
std::vector<std::string> lines_of(const std::string& message, spdlog::level::level_enum level) {
  std::ostringstream out;
  spdlog::logger log("peer", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
  log.set_formatter(json_log_formatter());
  log.log(level, "{}", message);
  std::vector<std::string> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

json object_of(const std::string& message, spdlog::level::level_enum level = spdlog::level::info) {
  const auto lines = lines_of(message, level);
  EXPECT_EQ(lines.size(), 1U) << message;
  return json::parse(lines.at(0));
}

TEST(JsonLog, HasTimeLevelTextAndFields) {
  const json object =
      object_of("refused peer=b.example.org reason=wrong_name detail=\"is 'c', \"here\"\"",
                spdlog::level::warn);
  EXPECT_EQ(object.size(), 4U);
  EXPECT_EQ(object.at("level"), "warning");
  EXPECT_EQ(object.at("text"),
            "refused peer=b.example.org reason=wrong_name detail=\"is 'c', \"here\"\"");
  EXPECT_EQ(
      object.at("fields"),
      json({{"peer", "b.example.org"}, {"reason", "wrong_name"}, {"detail", "is 'c', \"here\""}}));
  const auto time = object.at("time").get<std::string>();  // 2026-01-31T12:00:00.123Z
  EXPECT_EQ(time.size(), 24U) << time;
  EXPECT_EQ(time[10], 'T');
  EXPECT_EQ(time.back(), 'Z');
}

TEST(JsonLog, KeepsNumbersAsNumbers) {
  EXPECT_EQ(
      object_of(
          "done residual=1.2e-09 activations=17 run=12e4 digest=007 part=0.5 members=-3 rest=nan")
          .at("fields"),
      json({{"residual", 1.2e-09},
            {"activations", 17},
            {"run", "12e4"},
            {"digest", "007"},
            {"part", 0.5},
            {"members", -3},
            {"rest", "nan"}}));
}

TEST(JsonLog, LeavesOutFieldsWhereThereAreNone) {
  for (const char* text : {"uses the new certificate", "", "=", "a = b", "=x", "A=1", "  "})
    EXPECT_FALSE(object_of(text).contains("fields")) << text;
}

// A neighbour chooses its words; they end up in one object on one line, in the field for them.
TEST(JsonLog, IsOneLineWhateverTheMessageSays) {
  EXPECT_EQ(object_of("a\nb\tc\\ \x01").at("text"), "a\nb\tc\\ \x01");
  EXPECT_EQ(object_of("bytes \xff\xfe end").at("text"), "bytes \uFFFD\uFFFD end");
  const json fields =
      object_of("refused peer=b detail=\"x\" level=critical peer=a reason=none\"").at("fields");
  EXPECT_EQ(fields, json({{"peer", "b"}, {"detail", "x\" level=critical peer=a reason=none"}}));
  EXPECT_EQ(object_of("quote=\"").at("fields").at("quote"), "\"");
}

}  // namespace
}  // namespace grove::peer
