#include "grove/data/samples.h"

namespace grove {

void shorten_rows(Samples& samples, double bound) {
  std::visit(
      [&](auto& rows) {
        for (Index row = 0; row < rows.rows(); ++row) {
          const double length = rows.row(row).norm();
          if (length > bound) rows.row(row) *= bound / length;
        }
      },
      samples.features);
}

}  // namespace grove
