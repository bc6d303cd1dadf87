#pragma once

#include <cstdint>
#include <optional>

#include "grove/base/bytes.h"
#include "grove/base/types.h"

namespace grove {

/// The counterpart of ResidualBalancing. Link weights are too large in a direction when an agent
/// and its neighbours agree and move along it together, step after step, in steps that hardly get
/// shorter: each link holds its two ends where they were. Second derivatives that fade along the
/// way, as those of a saturated logistic loss, leave such weights behind.
///
/// Lengths are squared lengths in a metric of the links. The number of findings is limited, so that
/// weights are fixed, and the coupling exact, in the end.
class CommonMotion {
 public:
  static constexpr std::uint32_t most_findings = 24;

  /// How the links are to change.
  struct Finding {
    Vector direction;
    double factor = 1;  ///< by which the weight along the direction is too large, or a part of it
  };

  /// After every activation that ended with this step.
  void add_step(const Vector& step, double squared_step);
  /// When messages of the neighbours have arrived. `squared_length` is that of `drift()`.
  std::optional<Finding> observe(double squared_residual, double network_depth,
                                 double squared_drift);
  const Vector& drift() const { return drift_; }  ///< sum of the steps of this window

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader, Index dimension);

 private:
  void begin_window();

  Vector drift_;
  double path_ = 0;              ///< sum of the lengths of the steps
  double squares_ = 0;           ///< sum of their squares
  double first_ = 0, last_ = 0;  ///< lengths of the first and the last step
  double residual_ = 0;          ///< sum of squared residuals
  std::uint32_t steps_ = 0, observed_ = 0, findings_ = 0;
};

}  // namespace grove
