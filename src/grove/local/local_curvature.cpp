#include "grove/local/local_curvature.h"

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

void LocalCurvature::take(const Objective& objective, const Vector& at, Batch batch,
                          ObjectiveScratch& scratch) {
  objective.evaluate(at, batch, nullptr, &hessian_, scratch);
  system_fits_ = false;
  ++taken_;
}

Index LocalCurvature::take_sketch(const Objective& objective, const Vector& at,
                                  Index samples_to_take, ObjectiveScratch& scratch) {
  const Index taken = objective.sketch_hessian(at, samples_to_take, hessian_, scratch);
  system_fits_ = false;
  ++taken_;
  return taken;
}

/// Couplings change only when a curvature was told anew.
void LocalCurvature::update_system(const Coupling& stiffness) {
  if (system_fits_ && stiffness.scalar == stiffness_scalar_ &&
      stiffness.version == stiffness_version_)
    return;
  stiffness_scalar_ = stiffness.scalar;
  stiffness_version_ = stiffness.version;
  system_.set(hessian_, stiffness);
  system_fits_ = true;
}

const Vector& LocalCurvature::target(const CoupledModel& model, const Vector& v,
                                     const Vector& gradient, QuadraticScratch& scratch) {
  update_system(model.stiffness);
  const double smoothness = system_.matrix().diagonal().sum();
  const double residual = stationarity(v, gradient, model.regularizer, smoothness);
  return minimize({.center = v,
                   .gradient = gradient,
                   .curvature = system_,
                   .regularizer = model.regularizer,
                   .smoothness = smoothness,
                   .tolerance = local_accuracy * residual},
                  scratch);
}

double LocalCurvature::pull_of(const Vector& step, Vector& buffer) const {
  system_.times(step, buffer);
  return buffer.norm();
}

double LocalCurvature::held_along(const Vector& step, Vector& buffer) const {
  system_.times(step, buffer);
  return step.dot(buffer);
}

bool explains(double bent, double held, double stiffness) {
  return std::abs(bent - (held - stiffness)) <= tolerated_error * held;
}

void LocalCurvature::save(ByteWriter& writer) const {
  put(writer, hessian_);
  writer.put(stiffness_scalar_);
  writer.put(stiffness_version_);
  system_.save(writer);
  writer.put(system_fits_);
  writer.put(taken_);
}

void LocalCurvature::load(ByteReader& reader, Index dimension) {
  get(reader, dimension, hessian_);
  reader.get(stiffness_scalar_);
  reader.get(stiffness_version_);
  system_.load(reader, dimension);
  reader.get(system_fits_);
  reader.get(taken_);
}

}  // namespace grove
