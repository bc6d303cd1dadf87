#include <cstddef>
#include <cstdint>

#include "grove/data/dataset_flaw.h"
#include "grove/data/readers.h"
#include "require.h"

/// Any text gives an error or a valid data set, and blocks of another size give the same answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto classes = grove::read_libsvm_text(text, "text", grove::TargetKind::two_classes);
  if (classes) grove::require_no_flaw(grove::dataset_flaw(*classes));
  const auto numbers = grove::read_libsvm_text(text, "text", grove::TargetKind::number);
  if (numbers) grove::require_no_flaw(grove::dataset_flaw(*numbers));
  const auto blocks =
      grove::read_libsvm_text(text, "text", grove::TargetKind::number, {}, {.block_bytes = 16});
  if (static_cast<bool>(blocks) != static_cast<bool>(numbers))
    grove::require_no_flaw("blocks change what is accepted");
  return 0;
}
