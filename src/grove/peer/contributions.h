#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "grove/base/result.h"
#include "grove/base/types.h"
#include "grove/peer/influence.h"
#include "grove/peer/peer.pb.h"
#include "grove/peer/signer.h"
#include "grove/problem/regularizer.h"

namespace grove::peer {

/// The gradients of the members at the answer, each signed by its member. With their sum, which
/// must vanish, members find out afterwards who contributed what. `contributions = true` publishes
/// them to all members.
class Contributions {
 public:
  /// The signer must outlive the contributions.
  Contributions(Signer& signer, std::string self, Index dimension)
      : signer_(signer), self_(std::move(self)), dimension_(dimension) {}

  /// Signs the gradient of this peer at the answer of the run.
  void set_own(const std::string& run, const Vector& gradient);
  /// Takes those of the run that their members signed.
  void merge(const v1::Heartbeat& heartbeat, const std::string& run);
  void add_to(v1::Heartbeat& heartbeat) const;
  bool complete(const std::vector<std::string>& members, const std::string& run) const;
  std::vector<v1::SignedMember> entries() const;  ///< with certificates

 private:
  struct Entry {
    std::string run;
    v1::SignedMember entry;
  };

  Signer& signer_;
  std::string self_;
  Index dimension_;
  std::map<std::string, Entry> entries_;  ///< by name
};

struct MemberContribution {
  std::string name;
  double length = 0;          ///< of its gradient
  bool beyond_bound = false;  ///< longer than the agreed bound allows
};

/// What the contributions say.
struct ContributionReport {
  std::vector<MemberContribution> members;
  std::vector<std::string> missing;  ///< members of the run that signed nothing
  double longest = 0;                ///< gradient
  double residual = 0;  ///< length of the sum, less the closest subgradient of n r at the answer

  bool sum_vanishes() const;
  bool any_beyond_bound() const;
};
nlohmann::json to_json(const ContributionReport& report);

/// Checks the signatures and the sum. An error if an entry is not what its member signed.
Result<ContributionReport> check_contributions(const v1::AnswerAudit& audit,
                                               const std::string& authority);

Result<v1::AnswerAudit> read_audit(const std::filesystem::path& path);
v1::AnswerAudit make_audit(const std::string& network, const std::string& run, const Vector& answer,
                           const Regularizer& regularizer, double bound);

}  // namespace grove::peer
