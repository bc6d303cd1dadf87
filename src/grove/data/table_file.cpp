#include <filesystem>
#include <memory>

#include "grove/data/table.h"
#include "grove/data/table_statistics_packages.h"
#include "grove/data/text_blocks.h"

namespace grove {
namespace {

Result<std::string> whole_text(const std::string& path) {
  const auto blocks = open_blocks(path);
  if (!blocks) return blocks.error();
  std::string text;
  for (;;) {
    const auto block = (*blocks)->next();
    if (!block) return block.error();
    if (block->text.empty()) return text;
    text += block->text;
  }
}

}  // namespace

Result<Table> read_table(const std::string& path, const TableOptions& options) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".dta" || ending == ".sav") return read_statistics_package(path);
  const bool standard_input = path == "-";
  const auto text = whole_text(standard_input ? "/dev/stdin" : path);
  if (!text) return text.error();
  return parse_table(*text, standard_input ? "standard input" : path, options);
}

}  // namespace grove
