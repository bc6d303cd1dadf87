#include "grove/coupling/common_motion.h"

#include <algorithm>
#include <cmath>

namespace grove {
namespace {

constexpr std::uint32_t motion_window = 5;  ///< observations
constexpr double straight = 0.9;            ///< squared length of the drift over that of the path
constexpr double steady_length = 0.6;       ///< length of the last step over that of the first
constexpr double agreement = 1;             ///< squared residual over squared step, at most
constexpr double largest_factor = 8;

}  // namespace

void CommonMotion::add_step(const Vector& step, double squared_step) {
  const double length = std::sqrt(squared_step);
  if (drift_.size() == 0) drift_ = Vector::Zero(step.size());
  drift_ += step;
  path_ += length;
  squares_ += squared_step;
  if (steps_++ == 0) first_ = length;
  last_ = length;
}

std::optional<CommonMotion::Finding> CommonMotion::observe(double squared_residual,
                                                           double network_depth,
                                                           double squared_drift) {
  residual_ += squared_residual;
  if (++observed_ < motion_window + network_depth || steps_ < motion_window) return std::nullopt;
  std::optional<Finding> finding;
  if (findings_ < most_findings && last_ > 0 && squared_drift >= straight * path_ * path_ &&
      last_ >= steady_length * first_ && residual_ <= agreement * squares_) {
    // Steps that shrink by q would end 1 / (1 - q) steps ahead.
    const double q = std::pow(last_ / first_, 1.0 / (steps_ - 1));
    finding =
        Finding{drift_, std::clamp(q < 1 ? 1 / (1 - q) : largest_factor, 2.0, largest_factor)};
    ++findings_;
  }
  begin_window();
  return finding;
}

void CommonMotion::begin_window() {
  drift_.setZero();
  path_ = squares_ = first_ = last_ = residual_ = 0;
  steps_ = observed_ = 0;
}

void CommonMotion::save(ByteWriter& writer) const {
  writer.put(drift_.size() > 0);
  if (drift_.size() > 0) writer.put(drift_);
  for (const double number : {path_, squares_, first_, last_, residual_}) writer.put(number);
  for (const std::uint32_t count : {steps_, observed_, findings_}) writer.put(count);
}

void CommonMotion::load(ByteReader& reader, Index dimension) {
  bool known = false;
  reader.get(known);
  drift_.resize(known ? dimension : 0);
  if (known) reader.get(drift_);
  for (double* number : {&path_, &squares_, &first_, &last_, &residual_}) reader.get(*number);
  for (std::uint32_t* count : {&steps_, &observed_, &findings_}) reader.get(*count);
}

}  // namespace grove
