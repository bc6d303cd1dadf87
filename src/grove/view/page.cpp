#include "grove/view/page.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "grove/data/digest.h"

namespace grove {
namespace web {
extern const std::string_view style, body, script;  // web_page.cpp, made by cmake/web_page.cmake
}
namespace {

/// The bytes that a text of hexadecimal digits stands for, in base 64.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < hex.size(); at += 6) {
    std::string group(hex.substr(at, 6));
    const std::size_t bytes = group.size() / 2;
    group.append(6 - group.size(), '0');
    std::uint32_t bits = 0;
    std::from_chars(group.data(), group.data() + group.size(), bits, 16);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= bytes ? letters[(bits >> (18 - 6 * k)) & 63] : '=';
  }
  return text;
}

std::string source_hash(std::string_view text) {
  Sha256 digest;
  digest.update(text);
  return "'sha256-" + base64_of_hex(digest.finish()) + "'";
}

/// JSON inside a page: no `<`, so that no text of a record can end the element it is in.
std::string embedded_json(const nlohmann::json& json) {
  std::string text;
  for (const char letter : json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    if (letter == '<')
      text += "\\u003c";
    else
      text += letter;
  }
  return text;
}

}  // namespace

std::string view_policy() {
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data:; connect-src 'self'; "
      "base-uri 'none'; form-action 'none'",
      source_hash(web::script), source_hash(web::style));
}

std::string view_page(const nlohmann::json* runs) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>Grove</title>\n<style>",
      view_policy());
  page += web::style;
  page += "</style>\n</head>\n<body>\n";
  page += web::body;
  if (runs != nullptr)
    page += "<script type=\"application/json\" id=\"data\">" + embedded_json(*runs) + "</script>\n";
  page += "<script>";
  page += web::script;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace grove
