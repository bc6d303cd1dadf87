#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grove/base/result.h"

namespace grove::experiments {

/// A report that can be read as Markdown beside its pictures, or as one HTML file with them inside.
class Document {
 public:
  explicit Document(std::string title) : title_(std::move(title)) {}

  void heading(std::string text);
  void paragraph(std::string text);
  void table(std::vector<std::string> header, std::vector<std::vector<std::string>> rows);
  /// `stem` names stem.svg and stem.png in the report's folder.
  void picture(std::string stem, std::string caption);

  std::string markdown() const;
  /// Reads the SVG files from `folder`.
  Result<std::string> html(const std::filesystem::path& folder) const;

 private:
  enum class Kind { heading, paragraph, table, picture };
  struct Block {
    Kind kind;
    std::string text;
    std::string stem;                            ///< of a picture
    std::vector<std::vector<std::string>> rows;  ///< of a table, header first
  };

  std::string title_;
  std::vector<Block> blocks_;
};

}  // namespace grove::experiments
