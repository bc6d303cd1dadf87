#pragma once

namespace grove::testing_support {

/// Allocations of this program so far, whichever way they were made: by the global operator new,
/// which is replaced, or by malloc and its relatives, which Eigen calls directly and which the
/// linker reroutes (-Wl,--wrap) in everything that is linked statically.
long allocations();

}  // namespace grove::testing_support
