#pragma once

#include <memory>
#include <new>

#include "grove/base/types.h"

namespace grove {

/// Memory for numbers that begins at a cache line, so that no pack of them crosses one.
class AlignedNumbers {
 public:
  /// Room for at least `count` numbers; what was there before is lost when it grows.
  double* fit(Index count) {
    if (count > count_) {
      numbers_.reset(static_cast<double*>(::operator new(count * sizeof(double), line)));
      count_ = count;
    }
    return numbers_.get();
  }

  const double* data() const { return numbers_.get(); }

 private:
  static constexpr std::align_val_t line{64};
  struct Release {
    void operator()(double* numbers) const { ::operator delete(numbers, line); }
  };

  std::unique_ptr<double, Release> numbers_;
  Index count_ = 0;
};

}  // namespace grove
