#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/types.h"

namespace grove {

/// A message of protocol buffers, field by field.
class ProtobufWriter {
 public:
  ProtobufWriter& integer(std::uint32_t field, std::uint64_t value);
  ProtobufWriter& bytes(std::uint32_t field, std::string_view value);
  ProtobufWriter& number(std::uint32_t field, float value);
  ProtobufWriter& message(std::uint32_t field, const ProtobufWriter& value) {
    return bytes(field, value.text());
  }
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value);

  std::string text_;
};

/// The graph of an ONNX model. Numbers are doubles. Functions return the name of their result.
class OnnxGraph {
 public:
  enum class Type : std::uint8_t { integers = 7, texts = 8, doubles = 11 };

  /// Of unknown length, and this many columns; 0: no columns.
  std::string input(const std::string& name, Type type, Index columns);
  void output(const std::string& value, const std::string& name, Type type, Index columns);

  std::string constant(double value);
  std::string constant(const Matrix& values);
  std::string constant(const std::vector<std::string>& texts);

  std::string node(const std::string& operation, const std::vector<std::string>& inputs);
  /// With an attribute that is an integer.
  std::string node(const std::string& operation, const std::vector<std::string>& inputs,
                   const std::string& attribute, std::int64_t value);
  /// The largest column of every row.
  std::string arg_max(const std::string& values);
  /// 1 where the text is this one, otherwise 0.
  std::string equals(const std::string& texts, const std::string& text);
  /// A truth value as 1 or 0.
  std::string as_double(const std::string& values);

  /// The file.
  std::string model(const std::string& program_version) const;

 private:
  std::string add(const std::string& operation, const std::vector<std::string>& inputs,
                  const std::vector<ProtobufWriter>& attributes, const std::string& domain = "");
  std::string new_name() { return "grove_" + std::to_string(++names_); }

  ProtobufWriter inputs_, outputs_, nodes_, constants_;
  std::uint64_t names_ = 0;
};

}  // namespace grove
