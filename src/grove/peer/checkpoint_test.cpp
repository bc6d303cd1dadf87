#include "grove/peer/checkpoint.h"

#include <fstream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/base/file.h"
#include "grove/peer/checkpoint_fuzz.h"
#include "grove/peer/test_folder.h"

namespace grove::peer {
namespace {

Checkpoint example() {
  return {.fingerprint = "loss=logistic",
          .sequence = (std::uint64_t{3} << 32) + 17,
          .holds_regularizer = true,
          .stopped = false,
          .neighbours = {"peer-1", "peer-2"},
          .last_received = {5, 6},
          .agent = std::string("\0\1\2state", 8)};
}

void expect_equal(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.fingerprint, b.fingerprint);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.holds_regularizer, b.holds_regularizer);
  EXPECT_EQ(a.stopped, b.stopped);
  EXPECT_EQ(a.neighbours, b.neighbours);
  EXPECT_EQ(a.last_received, b.last_received);
  EXPECT_EQ(a.agent, b.agent);
}

TEST(Checkpoint, ReadsBackAsItWasWritten) {
  const auto back = decode(encode(example()));
  ASSERT_TRUE(back);
  expect_equal(*back, example());
}

TEST(Checkpoint, WithAnyByteChangedOrMissingIsDetected) {
  const std::string bytes = encode(example());
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    std::string damaged = bytes;
    damaged[k] = static_cast<char>(damaged[k] ^ 0x10);
    EXPECT_FALSE(decode(damaged)) << "byte " << k;
    EXPECT_FALSE(decode(bytes.substr(0, k))) << "cut at " << k;
  }
  EXPECT_FALSE(decode(bytes + "x"));
}

// The body of the libFuzzer target, driven here with random bytes.
RC_GTEST_PROP(Checkpoint, OfAnyBytesIsReadOrRefusedButNeverBreaks, (const std::string& bytes)) {
  fuzz_checkpoint(bytes);
}

TEST(Checkpoint, ThatIsDamagedIsSetAsideAndNotLost) {
  const TestFolder folder;
  const auto path = folder.path() / "checkpoint.bin";
  ASSERT_TRUE(write_checkpoint(path, example()));
  ASSERT_TRUE(find_checkpoint(path, "loss=logistic").checkpoint);

  std::ofstream(path, std::ios::app) << "rust";
  const auto found = find_checkpoint(path, "loss=logistic");
  EXPECT_FALSE(found.checkpoint);
  EXPECT_NE(found.error.find("checksum"), std::string::npos) << found.error;
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(path.string() + ".bad-1"));
  EXPECT_TRUE(find_checkpoint(path, "loss=logistic").error.empty());
}

TEST(Checkpoint, OfAnotherVersionIsSetAside) {
  const TestFolder folder;
  const auto path = folder.path() / "checkpoint.bin";
  const std::string content = encode(example()).substr(checkpoint_format.size());
  ASSERT_TRUE(write_file_atomically(path, "grove-checkpoint/1" + content));
  const auto found = find_checkpoint(path, "loss=logistic");
  EXPECT_FALSE(found.checkpoint);
  EXPECT_NE(found.error.find("expected the format grove-checkpoint/7;"), std::string::npos)
      << found.error;
  EXPECT_TRUE(std::filesystem::exists(path.string() + ".bad-1"));
}

TEST(Checkpoint, OfAnotherProblemIsSetAside) {
  const TestFolder folder;
  const auto path = folder.path() / "checkpoint.bin";
  ASSERT_TRUE(write_checkpoint(path, example()));
  const auto found = find_checkpoint(path, "loss=squared");
  EXPECT_FALSE(found.checkpoint);
  EXPECT_NE(found.error.find("another problem"), std::string::npos) << found.error;
}

}  // namespace
}  // namespace grove::peer
