#include "grove/peer/audit.h"

#include <csignal>
#include <fstream>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include "grove/base/file.h"
#include "grove/peer/test_folder.h"

namespace grove::peer {
namespace {

class Audit : public testing::Test {
 protected:
  void record(int messages) {
    auto log = AuditLog::open(path);
    ASSERT_TRUE(log) << log.error().text();
    for (int k = 0; k < messages; ++k)
      ASSERT_TRUE((*log)->record({"iterate", "peer-1", std::string(10, static_cast<char>(k))}));
  }
  std::string error() const {
    const auto found = verify_audit(path);
    return found ? std::string() : found.error().text();
  }
  void replace(const std::string& text) { ASSERT_TRUE(write_file_atomically(path, text)); }

  TestFolder folder;
  std::filesystem::path path = folder.path() / "audit.jsonl";
};

TEST_F(Audit, ContinuesItsChainInTheNextProcess) {
  record(3);
  record(2);
  const auto summary = verify_audit(path);
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->lines, 5u);
  EXPECT_EQ(summary->bytes, 50u);
}

// A file that may not grow, as on a full disk: the write fails after a part of the line.
TEST_F(Audit, RecordsNothingMoreAfterAWriteFailed) {
  auto log = AuditLog::open(path);
  ASSERT_TRUE(log) << log.error().text();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limited = before;
  limited.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  std::uint64_t recorded = 0;
  while (recorded < 100 && (*log)->record({"iterate", "peer-1", "message"})) ++recorded;
  ::setrlimit(RLIMIT_FSIZE, &before);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_GT(recorded, 0u);
  EXPECT_LT(recorded, 10u);
  EXPECT_TRUE((*log)->has_failed());
  EXPECT_FALSE((*log)->record({"iterate", "peer-1", "message"}));  // although there is room again
  const auto summary = verify_audit(path);
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->lines, recorded);
}

TEST_F(Audit, NoticesALineThatWasChangedRemovedOrInserted) {
  record(4);
  const std::string text = *read_file(path);
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line + "\n");
  std::string changed = lines[1];
  changed.replace(changed.find("peer-1"), 6, "peer-2");
  replace(lines[0] + changed + lines[2] + lines[3]);
  EXPECT_EQ(
      error(),
      path.string() + ":3: the chain is broken: the line before was changed, removed or inserted");
  replace(lines[0] + lines[2] + lines[3]);
  EXPECT_TRUE(error().starts_with(path.string() + ":2: the chain is broken"));
  replace(lines[0] + lines[1] + lines[1] + lines[2] + lines[3]);
  EXPECT_TRUE(error().starts_with(path.string() + ":3: the chain is broken"));
  replace(text.substr(0, text.size() - 1));
  EXPECT_EQ(error(), path.string() + ":4: the line is not complete");
  EXPECT_FALSE(AuditLog::open(path));  // is not continued either
}

TEST_F(Audit, IsWrittenByOneProcess) {
  const auto first = AuditLog::open(path);
  ASSERT_TRUE(first);
  const auto second = AuditLog::open(path);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text().find("in use"), std::string::npos);
}

TEST_F(Audit, IsARegularFile) {
  const auto device = AuditLog::open("/dev/full");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().what, "/dev/full is not a regular file");
}

}  // namespace
}  // namespace grove::peer
