#pragma once

#include <filesystem>

#include "grove/base/result.h"
#include "grove/setup/privacy_spec.h"

namespace grove::peer {

/// What a site has spent of its promise, in privacy.json of the state folder. It counts before an
/// answer leaves the site and on the disk: a peer that is killed, rolled back or trains again
/// continues the account. Squares of mu of Gaussian differential privacy add up (sums/privacy.h),
/// so that it also covers runs with other steps and bounds. One process at a time has the folder.
class PrivacyLedger {
 public:
  /// A damaged file is an error: what it has counted is not forgotten. `continues`: there is a
  /// checkpoint, and therefore a ledger, unless somebody has removed it.
  static Result<PrivacyLedger> open(const std::filesystem::path& folder,
                                    const PrivacyChoice& promise, bool continues);

  /// False where the promise does not allow it, or the disk does not keep the account.
  bool spend(double mu_squared);
  bool allows(double mu_squared) const;
  double spent_epsilon() const;  ///< of all answers so far, at the delta of the promise

 private:
  PrivacyLedger(std::filesystem::path file, const PrivacyChoice& promise);
  Status keep() const;

  std::filesystem::path file_;
  PrivacyChoice promise_;
  double agreed_ = 0, spent_ = 0;  ///< squares of mu
  std::uint64_t answers_ = 0;
};

}  // namespace grove::peer
