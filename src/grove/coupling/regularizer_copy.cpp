#include "grove/coupling/regularizer_copy.h"

namespace grove {

RegularizerCopy::RegularizerCopy(const Regularizer& regularizer, double penalty,
                                 std::size_t network_size, const Vector& start)
    : regularizer_(regularizer),
      penalty_(penalty),
      prox_step_(static_cast<double>(network_size) / penalty),
      theta_(start),
      lambda_(Vector::Zero(start.size())) {}

void RegularizerCopy::add_gradient(const Vector& x, Vector& gradient) const {
  gradient += lambda_ + penalty_ * (x - theta_);
}

void RegularizerCopy::update(const Vector& x, Vector& buffer) {
  buffer = x + lambda_ / penalty_;
  regularizer_.prox(prox_step_, buffer, theta_);
  lambda_ += penalty_ * (x - theta_);
}

void RegularizerCopy::save(ByteWriter& writer) const {
  writer.put(theta_);
  writer.put(lambda_);
}

void RegularizerCopy::load(ByteReader& reader) {
  reader.get(theta_);
  reader.get(lambda_);
}

}  // namespace grove
