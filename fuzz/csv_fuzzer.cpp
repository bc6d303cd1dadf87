#include <cstddef>
#include <cstdint>

#include "grove/data/dataset_flaw.h"
#include "grove/data/readers.h"
#include "require.h"

/// Any text gives an error or a valid data set.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  for (const auto kind : {grove::TargetKind::two_classes, grove::TargetKind::number}) {
    const auto dataset = grove::read_csv_text(text, "text", kind);
    if (dataset) grove::require_no_flaw(grove::dataset_flaw(*dataset));
  }
  return 0;
}
