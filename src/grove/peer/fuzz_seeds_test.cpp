// Runs the seeds of the fuzzers without libFuzzer. Every seed must be accepted, so that the fuzzers
// start behind the first check. Inputs that once broke a fuzzer are among the seeds.
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/base/file.h"
#include "grove/peer/exchange_fuzz.h"
#include "grove/peer/gossip_fuzz.h"
#include "grove/peer/process_settings.h"
#include "grove/peer/restore_fuzz.h"
#include "grove/peer/wire_fuzz.h"

namespace grove::peer {
namespace {

void expect_all_accepted(const std::string& folder,
                         const std::function<bool(std::string_view)>& accepts) {
  int seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GROVE_FUZZ_SEEDS "/" + folder)) {
    const auto bytes = read_file(entry.path());
    ASSERT_TRUE(bytes);
    EXPECT_TRUE(accepts(*bytes)) << entry.path();
    ++seeds;
  }
  EXPECT_GT(seeds, 0);
}

TEST(FuzzSeeds, AreMessagesThatSomebodyAccepts) { expect_all_accepted("wire", fuzz_wire); }

TEST(FuzzSeeds, AreCheckpointsThatCanBeRead) { expect_all_accepted("checkpoint", fuzz_checkpoint); }

TEST(FuzzSeeds, AreUsableStates) { expect_all_accepted("restore", fuzz_restore); }

TEST(FuzzSeeds, AreExchangesInWhichSomethingIsReceived) {
  expect_all_accepted("exchange", fuzz_exchange);
}

// The bodies of the libFuzzer targets, with random edits.
RC_GTEST_PROP(Exchange, LeavesAPeerUsableWhateverItsNeighbourSends, (const std::string& bytes)) {
  silence_protobuf();
  fuzz_exchange(bytes);
}

RC_GTEST_PROP(Gossip, LeavesAPeerUsableWhateverAMemberSays, (const std::string& bytes)) {
  silence_protobuf();
  fuzz_gossip(bytes);
}

TEST(FuzzSeeds, AreGossipThatSomebodyAccepts) { expect_all_accepted("gossip", fuzz_gossip); }

}  // namespace
}  // namespace grove::peer
