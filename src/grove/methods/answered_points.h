#pragma once

#include <cstdint>
#include <map>

#include "grove/base/bytes.h"
#include "grove/base/types.h"
#include "grove/sums/link_state.h"

namespace grove {

/// With masks, a member answers each point for one set of members only: the difference of two
/// totals at one point would be the part of those who came or went.
class AnsweredPoints {
 public:
  static std::uint64_t hash_of(const Vector& point);

  /// Whether the members of this plan may have the answer. Theirs it is from then on.
  bool may_answer(std::uint64_t point, const TreePlan& plan);
  bool was_answered_for_others(const Vector& point, const TreePlan& plan) const;

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  std::map<std::uint64_t, std::uint64_t> members_;  ///< hashes of points and of members
};

}  // namespace grove
