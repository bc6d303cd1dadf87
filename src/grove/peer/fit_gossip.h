#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grove/base/types.h"
#include "grove/peer/peer.pb.h"
#include "grove/peer/signer.h"
#include "grove/sums/masks.h"

namespace grove::peer {

/// With fewer members one of them knows the other's part anyway.
inline constexpr std::size_t fewest_masked_members = 3;

struct FitGossipOptions {
  std::string network, self;
  std::size_t expected = 1;  ///< members
  std::uint64_t process = 0;
  std::string settings;  ///< what all members have in common, as text
  std::string data;      ///< keyed digest of this member's table
  MaskKey secret{};
  Signer* signer = nullptr;  ///< null without TLS; must outlive the gossip
};

/// What members of a fit exchange beside training. Each signs its part: the summary of its table,
/// and its numbers in a series of sums. Every member forwards the newest part of each, and adds the
/// numbers up by itself: in fixed point, so that all have the same total to the last bit. With
/// three members or more the numbers of each are under masks that cancel in the total only.
///
/// The context of a sum contains all that its numbers follow from: members, their tables, and the
/// sums before. A member that starts late or again, with other masks, is given what it lacks, and
/// the totals stay what they were unless a table has changed.
class FitGossip {
 public:
  explicit FitGossip(FitGossipOptions options);
  FitGossip(const FitGossip&) = delete;
  FitGossip& operator=(const FitGossip&) = delete;

  /// The text that this member says of its table; once.
  void set_summary(std::string summary);
  /// Takes what is newer, and adds what this member owes.
  void merge(const v1::Heartbeat& heartbeat);
  void add_to(v1::Heartbeat& heartbeat) const;
  /// Secrets included: for the next process of this member on the same table, so that it needs
  /// nobody who has ended.
  std::string save() const;
  std::uint64_t held() const { return held_; }  ///< digest of all parts; never 0

  std::size_t members() const { return parts_.size(); }
  /// Names and summaries; none while a member has not been heard of.
  std::optional<std::map<std::string, std::string>> summaries() const;

  /// The next sum of the series, with this member's numbers.
  std::size_t begin_sum(Vector own);
  /// NaN where a member's numbers did not fit.
  std::optional<Vector> total(std::size_t sum) const;

  /// The sum at the answer, of these members alone. `about` is what the numbers follow from.
  void begin_last_sum(const std::string& about, const std::vector<std::string>& members,
                      Vector own);
  std::optional<Vector> last_total() const;

  /// A member has come or has another table, so that the series must begin anew.
  bool changed() const { return changed_; }
  void restart();

 private:
  struct Part {
    v1::FitPart part;
    v1::SignedMember entry;
  };
  struct Sum {
    Vector own;
    std::optional<Vector> total;
  };
  struct LastSum {
    std::string about;
    std::vector<std::string> members;
    Sum sum;
  };

  friend std::shared_ptr<FitGossip> resume_gossip(FitGossipOptions options,
                                                  const std::string& saved);
  void advance();
  std::string first_context(const std::vector<std::string>& members) const;
  v1::FitNumbers masked(const std::string& context, const std::vector<std::string>& members,
                        const Vector& own) const;
  std::optional<Vector> add_up(const std::string& context, const std::vector<std::string>& members,
                               const v1::FitNumbers& own, Index size) const;
  void publish(const std::vector<v1::FitNumbers>& owed);
  std::vector<std::string> names() const;
  const v1::FitNumbers* numbers_of(const std::string& member, const std::string& context) const;
  void sign();

  FitGossipOptions options_;
  Masks masks_;
  std::map<std::string, Part> parts_;
  std::uint64_t held_ = 1;
  std::vector<Sum> series_;
  std::optional<LastSum> last_;
  std::map<std::string, std::string> agreed_summaries_;
  bool changed_ = false;
};

/// The gossip of the process before, if it was of the same settings and table; otherwise a new one.
std::shared_ptr<FitGossip> resume_gossip(FitGossipOptions options, const std::string& saved);

/// The part, if it has the form of one.
std::optional<v1::FitPart> parse_fit_part(const v1::SignedMember& entry);

}  // namespace grove::peer
