#include "grove/local/kept_hessian.h"

#include <cmath>

#include "grove/problem/reference.h"

namespace grove {
namespace {

/// How exactly a local model is solved, relative to how far from its minimizer the step begins.
constexpr double local_accuracy = 1e-2;
/// A Hessian that is off by this share of the whole system costs a step about as much of its gain.
constexpr double tolerated_error = 0.2;

void put(ByteWriter& writer, const Matrix& matrix) {
  writer.put(matrix.size() > 0);
  if (matrix.size() > 0) writer.put(std::span<const double>(matrix.data(), matrix.size()));
}

void get(ByteReader& reader, Index dimension, Matrix& matrix) {
  bool present = false;
  reader.get(present);
  matrix.resize(present ? dimension : 0, present ? dimension : 0);
  if (present) reader.get(std::span<double>(matrix.data(), matrix.size()));
}

}  // namespace

void KeptHessian::compute(const Objective& objective, const Vector& at, Batch batch,
                          ObjectiveScratch& scratch) {
  objective.evaluate(at, batch, nullptr, &hessian_, scratch);
  system_valid_ = false;
  ++taken_;
}

Index KeptHessian::compute_sketch(const Objective& objective, const Vector& at,
                                  Index samples_to_take, ObjectiveScratch& scratch) {
  const Index computed = objective.sketch_hessian(at, samples_to_take, hessian_, scratch);
  system_valid_ = false;
  ++taken_;
  return computed;
}

/// The penalty sum changes only when a weight is published anew.
void KeptHessian::update_system(const QuadraticTerm& penalty) {
  if (system_valid_ && penalty.scalar == penalty_scalar_ && penalty.version == penalty_version_)
    return;
  penalty_scalar_ = penalty.scalar;
  penalty_version_ = penalty.version;
  system_.set(hessian_, penalty);
  system_valid_ = true;
}

const Vector& KeptHessian::target(const LocalModel& model, const Vector& v, const Vector& gradient,
                                  QuadraticScratch& scratch) {
  update_system(model.penalty_sum);
  const double smoothness = system_.matrix().diagonal().sum();
  const double residual = stationarity(v, gradient, model.regularizer, smoothness);
  return minimize({.center = v,
                   .gradient = gradient,
                   .hessian = system_,
                   .regularizer = model.regularizer,
                   .smoothness = smoothness,
                   .tolerance = local_accuracy * residual},
                  scratch);
}

double KeptHessian::product_norm(const Vector& step, Vector& buffer) const {
  system_.times(step, buffer);
  return buffer.norm();
}

double KeptHessian::step_curvature(const Vector& step, Vector& buffer) const {
  system_.times(step, buffer);
  return step.dot(buffer);
}

bool secant_test(double gradient_change, double step_curvature, double penalty) {
  return std::abs(gradient_change - (step_curvature - penalty)) <= tolerated_error * step_curvature;
}

void KeptHessian::save(ByteWriter& writer) const {
  put(writer, hessian_);
  writer.put(penalty_scalar_);
  writer.put(penalty_version_);
  system_.save(writer);
  writer.put(system_valid_);
  writer.put(taken_);
}

void KeptHessian::load(ByteReader& reader, Index dimension) {
  get(reader, dimension, hessian_);
  reader.get(penalty_scalar_);
  reader.get(penalty_version_);
  system_.load(reader, dimension);
  reader.get(system_valid_);
  reader.get(taken_);
}

}  // namespace grove
