#pragma once

#include "grove/base/bytes.h"
#include "grove/base/types.h"
#include "grove/problem/regularizer.h"

namespace grove {

/// The regularizer's copy theta of the model and its multiplier lambda, at the one agent q that
/// holds r. The network minimizes sum f_i + n r, hence prox_{n r / mu_theta} (math: section 1).
class RegularizerCopy {
 public:
  RegularizerCopy(const Regularizer& regularizer, double penalty, std::size_t network_size,
                  const Vector& start);

  double penalty() const { return penalty_; }
  const Vector& value() const { return theta_; }

  void set_network_size(std::size_t network_size) {
    prox_step_ = static_cast<double>(network_size) / penalty_;
  }

  void add_gradient(const Vector& x,
                    Vector& gradient) const;     ///< gradient += lambda + mu_theta (x - theta)
  void update(const Vector& x, Vector& buffer);  ///< eq. (9b), (9d)

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  Regularizer regularizer_;
  double penalty_;    ///< mu_theta
  double prox_step_;  ///< n / mu_theta
  Vector theta_;
  Vector lambda_;
};

}  // namespace grove
