#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "grove/base/result.h"

namespace grove {

/// A setting that is written as text and understood once. It keeps the text as it was given, and
/// its meaning, or the reason it has none. `Meaning` has `static Result<Meaning> parse(text)`.
template <class Meaning>
class Spec {
 public:
  Spec(const char* text) : Spec(std::string(text)) {}
  Spec(std::string_view text) : Spec(std::string(text)) {}
  Spec(std::string text) : text_(std::move(text)), meaning_(Meaning::parse(text_)) {}
  /// For a meaning that was found otherwise, in the names of a user's registry say.
  Spec(std::string text, Result<Meaning> meaning)
      : text_(std::move(text)), meaning_(std::move(meaning)) {}

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  const Result<Meaning>& meaning() const { return meaning_; }
  Status status() const { return meaning_ ? success() : Status(meaning_.error()); }

  friend bool operator==(const Spec& a, const Spec& b) { return a.text_ == b.text_; }

 private:
  std::string text_;
  Result<Meaning> meaning_;
};

}  // namespace grove
