#pragma once

// What every data set that a reader accepts must satisfy. Shared by the property tests and the
// fuzzers.

#include <cmath>
#include <string>

#include "grove/data/dataset.h"

namespace grove {

/// The first thing wrong with the set, by looking at its storage; empty if nothing is.
inline std::string dataset_flaw(const Dataset& dataset) {
  const Samples& samples = dataset.samples;
  if (samples.count() < 1 || samples.dimension() < 1) return "no samples or no features";
  if (!samples.targets.allFinite()) return "a target is not finite";
  if (dataset.labels) {
    if (!(dataset.labels->negative < dataset.labels->positive)) return "labels out of order";
    for (const double target : samples.targets)
      if (target != 0 && target != 1) return "a class is neither 0 nor 1";
  }
  if (const auto* dense = std::get_if<DenseRows>(&samples.features)) {
    if (dense->rows() != samples.count()) return "rows and targets differ in number";
    return dense->allFinite() ? "" : "a value is not finite";
  }
  const auto& sparse = std::get<SparseRows>(samples.features);
  if (sparse.rows() != samples.count()) return "rows and targets differ in number";
  for (Index row = 0; row < sparse.rows(); ++row) {
    Index previous = -1;
    for (SparseRows::InnerIterator entry(sparse, row); entry; ++entry) {
      if (entry.col() <= previous || entry.col() >= sparse.cols()) return "columns out of order";
      if (!std::isfinite(entry.value()) || entry.value() == 0)
        return "a value is zero or not finite";
      previous = entry.col();
    }
  }
  return "";
}

}  // namespace grove
