#include "experiments/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/file.h"

namespace grove::experiments {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

/// An SVG as the address of an image: nothing to fetch, and no names shared with other pictures.
std::string data_address(std::string_view svg) {
  std::string result = "data:image/svg+xml,";
  for (const char c : svg) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) ||
                       std::string_view(" -_.,;:/=()+*!'").find(c) != std::string_view::npos;
    if (plain)
      result += c;
    else
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

constexpr const char* style =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff}table{border-collapse:collapse;margin:1rem 0}td,th{border:1px "
    "solid "
    "#bbb;padding:.3rem .6rem;text-align:left;vertical-align:top}th{background:#f0f0f0}"
    "figure{margin:1.5rem 0}img{max-width:100%}figcaption{color:#555}";

}  // namespace

void Document::heading(std::string text) {
  blocks_.push_back({Kind::heading, std::move(text), {}, {}});
}

void Document::paragraph(std::string text) {
  blocks_.push_back({Kind::paragraph, std::move(text), {}, {}});
}

void Document::table(std::vector<std::string> header, std::vector<std::vector<std::string>> rows) {
  rows.insert(rows.begin(), std::move(header));
  blocks_.push_back({Kind::table, {}, {}, std::move(rows)});
}

void Document::picture(std::string stem, std::string caption) {
  blocks_.push_back({Kind::picture, std::move(caption), std::move(stem), {}});
}

std::string Document::markdown() const {
  std::string result = "# " + title_ + "\n";
  for (const Block& block : blocks_) {
    result += "\n";
    if (block.kind == Kind::heading) result += "## " + block.text + "\n";
    if (block.kind == Kind::paragraph) result += block.text + "\n";
    if (block.kind == Kind::picture)
      result += fmt::format("![{0}]({1}.svg)\n\n*{0}*\n", block.text, block.stem);
    for (std::size_t k = 0; k < block.rows.size(); ++k) {
      result += fmt::format("| {} |\n", fmt::join(block.rows[k], " | "));
      if (k > 0) continue;
      for (std::size_t column = 0; column < block.rows[k].size(); ++column) result += "|---";
      result += "|\n";
    }
  }
  return result;
}

Result<std::string> Document::html(const std::filesystem::path& folder) const {
  std::string result = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>"
      "<style>{1}</style></head><body>\n<h1>{0}</h1>\n",
      escaped(title_), style);
  for (const Block& block : blocks_) {
    if (block.kind == Kind::heading) result += fmt::format("<h2>{}</h2>\n", escaped(block.text));
    if (block.kind == Kind::paragraph) result += fmt::format("<p>{}</p>\n", escaped(block.text));
    if (block.kind == Kind::picture) {
      const auto svg = read_file(folder / (block.stem + ".svg"));
      if (!svg) return svg.error();
      result += fmt::format(
          "<figure><img alt=\"{0}\" src=\"{1}\"><figcaption>{0}</figcaption></figure>\n",
          escaped(block.text), data_address(*svg));
    }
    if (block.kind != Kind::table) continue;
    result += "<table>\n";
    for (std::size_t k = 0; k < block.rows.size(); ++k) {
      result += "<tr>";
      for (const std::string& entry : block.rows[k])
        result += fmt::format("<{0}>{1}</{0}>", k == 0 ? "th" : "td", escaped(entry));
      result += "</tr>\n";
    }
    result += "</table>\n";
  }
  return result + "</body></html>\n";
}

}  // namespace grove::experiments
