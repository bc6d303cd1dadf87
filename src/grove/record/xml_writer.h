#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace grove {

using XmlAttributes = std::vector<std::pair<std::string, std::string>>;

/// Writes indented XML 1.0 in UTF-8. Texts must be UTF-8 without control characters.
class XmlWriter {
 public:
  /// An element with what `inside` writes. Returns the text so far.
  const std::string& element(const std::string& name, const XmlAttributes& attributes,
                             const std::function<void()>& inside);
  void leaf(const std::string& name, const XmlAttributes& attributes);
  void text_leaf(const std::string& name, const XmlAttributes& attributes, std::string_view text);

 private:
  void begin(const std::string& name, const XmlAttributes& attributes);

  std::string text_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  std::size_t depth_ = 0;
};

}  // namespace grove
