#include "grove/peer/privacy_ledger.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "grove/peer/test_folder.h"

namespace grove::peer {
namespace {

/// mu = 1 at delta = 1e-5 costs epsilon = 4.3771781 (mpmath).
constexpr PrivacyChoice promise{.epsilon = 4.3771781, .delta = 1e-5};

PrivacyLedger opened(const TestFolder& folder, const PrivacyChoice& choice = promise,
                     bool continues = false) {
  auto ledger = PrivacyLedger::open(folder.path(), choice, continues);
  EXPECT_TRUE(ledger) << ledger.error().text();
  return *ledger;
}

TEST(PrivacyLedger, AllowsNoMoreThanWasPromisedWhateverStartsAgain) {
  const TestFolder folder;
  for (int process = 0; process < 10; ++process) {
    auto ledger = opened(folder, promise, process > 0);
    EXPECT_TRUE(ledger.spend(0.1)) << process;
  }
  auto ledger = opened(folder);
  EXPECT_NEAR(ledger.spent_epsilon(), 4.3771781, 1e-6);
  EXPECT_FALSE(ledger.allows(1e-6));
  EXPECT_FALSE(ledger.spend(1e-6));
}

// With (epsilon, delta) of mu = 2 there are 4 - 1 left after mu = 1 was spent.
TEST(PrivacyLedger, CountsWhatWasSpentUnderAnotherPromise) {
  const TestFolder folder;
  EXPECT_TRUE(opened(folder).spend(0.99));
  EXPECT_FALSE(opened(folder).spend(0.1));
  auto later = opened(folder, {.epsilon = 10.0, .delta = 1e-5});
  EXPECT_TRUE(later.spend(0.1));
  EXPECT_FALSE(opened(folder, {.epsilon = 1, .delta = 1e-5}).allows(1e-9));
}

TEST(PrivacyLedger, IsNotForgotten) {
  const TestFolder folder;
  EXPECT_FALSE(PrivacyLedger::open(folder.path(), promise, true)) << "it was removed";
  EXPECT_TRUE(opened(folder).spend(0.5));
  for (const char* text : {"", "{}", "{\"format\":\"grove-privacy/1\"}",
                           "{\"format\":\"grove-privacy/1\",\"spent_mu_squared\":-1,\"answers\":1}",
                           "{\"format\":\"grove-privacy/1\",\"spent_mu_squared\":1}"}) {
    std::ofstream(folder.path() / "privacy.json") << text;
    const auto ledger = PrivacyLedger::open(folder.path(), promise, true);
    ASSERT_FALSE(ledger) << text;
    EXPECT_NE(ledger.error().text().find("damaged"), std::string::npos);
  }
}

// What the disk does not keep is not answered.
TEST(PrivacyLedger, SpendsNothingThatCannotBeWritten) {
  const TestFolder folder;
  const std::filesystem::path gone = folder.path() / "gone";
  EXPECT_FALSE(PrivacyLedger::open(gone, promise, false));
  std::filesystem::create_directory(gone);
  auto ledger = *PrivacyLedger::open(gone, promise, false);
  std::filesystem::remove_all(gone);
  EXPECT_FALSE(ledger.spend(0.1));
}

TEST(PrivacyLedger, CountsNoGains) {
  const TestFolder folder;
  auto ledger = opened(folder);
  EXPECT_FALSE(ledger.spend(-0.5));
  EXPECT_FALSE(ledger.spend(0));
  EXPECT_FALSE(ledger.spend(std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace
}  // namespace grove::peer
