#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/encoding.h"
#include "grove/data/samples.h"

namespace grove {

/// A table in numbers, as the agreed encoding makes them.
struct Design {
  std::string site;
  Samples samples;  ///< without a column for the intercept; targets as the family has them
  Vector events;    ///< of survival times: 1 or 0; otherwise empty
  Vector offsets;   ///< empty: none
  Vector weights;   ///< empty: all 1
  std::vector<std::size_t> rows;               ///< of the table, that are used
  std::size_t dropped = 0;                     ///< for missing cells
  std::map<std::string, std::size_t> missing;  ///< cells, by column
  bool has_targets = true;

  double weight(Index row) const { return weights.size() > 0 ? weights[row] : 1; }
  double offset(Index row) const { return offsets.size() > 0 ? offsets[row] : 0; }
};

/// What becomes of a level that the encoding does not know: an error, or zeros in its columns.
enum class UnseenLevels { refuse, zero };

struct DesignOptions {
  bool needs_response = true;  ///< false: without it targets are NaN
  UnseenLevels unseen = UnseenLevels::refuse;
};

/// Classes are numbered in the order of the encoding; times and counts are as they are. Errors name
/// file, line and column.
Result<Design> make_design(const Table& table, const Encoding& encoding,
                           const DesignOptions& options = {});

/// The listed rows of a design, in that order.
Design take_rows(const Design& design, const std::vector<std::uint32_t>& rows);

/// Count, mean and sum of squared differences from it, of every column and of the response, each
/// row with its weight.
struct DesignMoments {
  Index rows = 0;
  double weight = 0;
  Vector mean, squares;
  double response_mean = 0;
  double exposure = 0;  ///< sum of weight * exp(offset)

  Vector deviations() const;  ///< standard deviations, divisor: the weight
};

DesignMoments moments_of(const Design& design);

/// Chan, Golub and LeVeque's rule: no cancellation, however far the mean is from zero.
void merge(const DesignMoments& other, DesignMoments& moments);

}  // namespace grove
