#include "grove/record/xml_writer.h"

namespace grove {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += letter;
    }
  return result;
}

}  // namespace

void XmlWriter::begin(const std::string& name, const XmlAttributes& attributes) {
  text_ += std::string(depth_ * 2, ' ') + "<" + name;
  for (const auto& [key, value] : attributes) text_ += " " + key + "=\"" + escaped(value) + "\"";
}

const std::string& XmlWriter::element(const std::string& name, const XmlAttributes& attributes,
                                      const std::function<void()>& inside) {
  begin(name, attributes);
  const std::size_t start = text_.size();
  text_ += ">\n";
  const std::size_t empty = text_.size();
  ++depth_;
  inside();
  --depth_;
  if (text_.size() == empty) {
    text_.resize(start);
    text_ += "/>\n";
  } else {
    text_ += std::string(depth_ * 2, ' ') + "</" + name + ">\n";
  }
  return text_;
}

void XmlWriter::leaf(const std::string& name, const XmlAttributes& attributes) {
  begin(name, attributes);
  text_ += "/>\n";
}

void XmlWriter::text_leaf(const std::string& name, const XmlAttributes& attributes,
                          std::string_view text) {
  begin(name, attributes);
  text_ += ">" + escaped(text) + "</" + name + ">\n";
}

}  // namespace grove
