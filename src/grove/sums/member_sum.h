#pragma once

#include <optional>
#include <vector>

#include "grove/sums/tree_sums.h"

namespace grove {

/// Sums each member's numbers over the members present, exactly, and tells every member the total
/// and who was counted. What members need to agree on before they begin: numbers of rows, means and
/// scales of columns, levels. A state machine that does no I/O: activations and fields of messages
/// in, fields of messages out.
class MemberSum {
 public:
  /// All members give equally many numbers.
  MemberSum(AgentId self, std::span<const AgentId> neighbours, std::vector<double> numbers,
            LinkStateOptions links = {}, std::optional<MaskOptions> masks = {});

  struct Result {
    std::vector<double> total;
    std::vector<AgentId> members;  ///< that were counted, sorted
  };
  /// Nothing before the total is there, and while members are missing or have changed.
  std::optional<Result> result() const;

  void activate();
  TreeFields fields_to(std::size_t slot) const { return sums_.fields_to(slot); }
  void receive(std::size_t slot, std::uint64_t sequence, const TreeFields& fields) {
    sums_.receive(slot, sequence, fields);
  }
  TreeSums& sums() { return sums_; }  ///< for neighbours that come and go

 private:
  std::vector<double> numbers_;
  TreeSums sums_;
};

/// Of columns over the rows of all members.
struct ColumnScales {
  double rows = 0;
  std::vector<double> means;
  std::vector<double> deviations;  ///< standard, with the number of rows as divisor
};

/// The numbers that a member gives: its rows, and of each column sum and sum of squares.
std::vector<double> column_sums(double rows, std::span<const double> sums,
                                std::span<const double> squares);
/// Of the total of those; nothing where it is not one, or of no rows.
std::optional<ColumnScales> column_scales(std::span<const double> total);

}  // namespace grove
