#include "grove/peer/checkpoint.h"

#include <fstream>

#include <sys/stat.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/base/file.h"
#include "grove/peer/checkpoint_fuzz.h"
#include "grove/peer/test_folder.h"

namespace grove::peer {
namespace {

CheckpointOwner owner() {
  return {.network = "oak",
          .peer = "peer-0",
          .schema = {{"loss", "logistic"}, {"l2", "0.001"}},
          .data = "digest"};
}

Checkpoint example() {
  return {.owner = owner(),
          .phase = SavedPhase::ready,
          .run = "0123456789abcdef",
          .members = {"peer-0", "peer-1", "peer-2"},
          .residual = 1e-9,
          .sequence = (std::uint64_t{3} << 32) + 17,
          .holds_regularizer = true,
          .neighbours = {"peer-1", "peer-2"},
          .last_received = {5, 6},
          .proofs = {"signed", ""},
          .agent = std::string("\0\1\2state", 8)};
}

void expect_equal(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.owner.network, b.owner.network);
  EXPECT_EQ(a.owner.peer, b.owner.peer);
  EXPECT_EQ(a.owner.schema, b.owner.schema);
  EXPECT_EQ(a.owner.data, b.owner.data);
  EXPECT_EQ(a.phase, b.phase);
  EXPECT_EQ(a.run, b.run);
  EXPECT_EQ(a.members, b.members);
  EXPECT_EQ(a.residual, b.residual);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.holds_regularizer, b.holds_regularizer);
  EXPECT_EQ(a.proofs, b.proofs);
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
  ASSERT_TRUE(find_checkpoint(path, owner()).checkpoint);

  std::ofstream(path, std::ios::app) << "rust";
  const auto found = find_checkpoint(path, owner());
  EXPECT_FALSE(found.checkpoint);
  EXPECT_NE(found.error.find("checksum"), std::string::npos) << found.error;
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(path.string() + ".bad-1"));
  EXPECT_TRUE(find_checkpoint(path, owner()).error.empty());
}

TEST(Checkpoint, OfAnotherVersionIsSetAside) {
  const TestFolder folder;
  const auto path = folder.path() / "checkpoint.bin";
  const std::string content = encode(example()).substr(checkpoint_format.size());
  ASSERT_TRUE(write_file_atomically(path, "grove-checkpoint/1" + content));
  const auto found = find_checkpoint(path, owner());
  EXPECT_FALSE(found.checkpoint);
  EXPECT_NE(found.error.find("expected the format grove-checkpoint/7;"), std::string::npos)
      << found.error;
  EXPECT_TRUE(std::filesystem::exists(path.string() + ".bad-1"));
}

// Nothing is mistaken for something else: another network, peer, problem or data.
TEST(Checkpoint, OfAnotherOwnerIsSetAsideAndTheDifferenceIsNamed) {
  const TestFolder folder;
  const auto path = folder.path() / "checkpoint.bin";
  const auto error_of = [&](const CheckpointOwner& other) {
    EXPECT_TRUE(write_checkpoint(path, example()));
    const auto found = find_checkpoint(path, other);
    EXPECT_FALSE(found.checkpoint);
    EXPECT_FALSE(std::filesystem::exists(path));
    return found.error;
  };
  const auto expect_named = [&](const std::string& text, const CheckpointOwner& other) {
    const std::string error = error_of(other);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  CheckpointOwner other = owner();
  other.network = "elm";
  expect_named("belongs to the network 'oak', not 'elm'", other);
  other = owner();
  other.peer = "peer-1";
  expect_named("belongs to the peer 'peer-0', not 'peer-1'", other);
  other = owner();
  other.schema[0].value = "squared";
  expect_named("loss is 'logistic' there and 'squared' here", other);
  other = owner();
  other.data = "another";
  expect_named("was written with other data", other);
}

// Opening a pipe would wait for ever.
TEST(Checkpoint, ThatIsAPipeIsSetAside) {
  const TestFolder folder;
  const auto path = folder.path() / "checkpoint.bin";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto found = find_checkpoint(path, owner());
  EXPECT_FALSE(found.checkpoint);
  EXPECT_NE(found.error.find("is not a file; set aside"), std::string::npos) << found.error;
}

}  // namespace
}  // namespace grove::peer
