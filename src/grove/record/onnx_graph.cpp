// Field numbers are those of onnx.proto3,
// https://github.com/onnx/onnx/blob/v1.12.0/onnx/onnx.proto3
#include "grove/record/onnx_graph.h"

#include <bit>

namespace grove {
namespace {

constexpr std::uint64_t ir_version = 7;  // of ONNX 1.8
constexpr std::uint64_t operators_version = 13;
constexpr std::uint64_t ml_operators_version = 2;
constexpr auto ml_domain = "ai.onnx.ml";

enum AttributeType : std::uint8_t {
  float_type = 1,
  int_type = 2,
  floats_type = 6,
  strings_type = 8
};

ProtobufWriter attribute(const std::string& name, AttributeType type) {
  ProtobufWriter result;
  result.bytes(1, name).integer(20, type);
  return result;
}

ProtobufWriter integer_attribute(const std::string& name, std::int64_t value) {
  auto result = attribute(name, int_type);
  result.integer(3, static_cast<std::uint64_t>(value));
  return result;
}

std::string little_endian(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(bits >> shift & 0xFF);
  return bytes;
}

ProtobufWriter value_info(const std::string& name, OnnxGraph::Type type, Index columns) {
  ProtobufWriter shape;
  shape.message(1, ProtobufWriter().bytes(2, "rows"));
  if (columns > 0)
    shape.message(1, ProtobufWriter().integer(1, static_cast<std::uint64_t>(columns)));
  ProtobufWriter tensor;
  tensor.integer(1, static_cast<std::uint64_t>(type)).message(2, shape);
  ProtobufWriter info;
  return info.bytes(1, name).message(2, ProtobufWriter().message(1, tensor));
}

ProtobufWriter operators(const std::string& domain, std::uint64_t version) {
  return ProtobufWriter().bytes(1, domain).integer(2, version);
}

}  // namespace

void ProtobufWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>((value & 0x7F) | 0x80);
  text_ += static_cast<char>(value);
}

ProtobufWriter& ProtobufWriter::integer(std::uint32_t field, std::uint64_t value) {
  varint(field << 3);
  varint(value);
  return *this;
}

ProtobufWriter& ProtobufWriter::bytes(std::uint32_t field, std::string_view value) {
  varint(field << 3 | 2);
  varint(value.size());
  text_ += value;
  return *this;
}

ProtobufWriter& ProtobufWriter::number(std::uint32_t field, float value) {
  varint(field << 3 | 5);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) text_ += static_cast<char>(bits >> shift & 0xFF);
  return *this;
}

std::string OnnxGraph::input(const std::string& name, Type type, Index columns) {
  inputs_.message(11, value_info(name, type, columns));
  return name;
}

void OnnxGraph::output(const std::string& value, const std::string& name, Type type,
                       Index columns) {
  ProtobufWriter node;
  node.bytes(1, value).bytes(2, name).bytes(4, "Identity");
  nodes_.message(1, node);
  outputs_.message(12, value_info(name, type, columns));
}

std::string OnnxGraph::constant(double value) { return constant(Matrix::Constant(1, 1, value)); }

std::string OnnxGraph::constant(const Matrix& values) {
  ProtobufWriter tensor;
  tensor.integer(1, static_cast<std::uint64_t>(values.rows()));
  tensor.integer(1, static_cast<std::uint64_t>(values.cols()));
  std::string data;
  for (Index row = 0; row < values.rows(); ++row)
    for (const double value : values.row(row)) data += little_endian(value);
  const std::string name = new_name();
  tensor.integer(2, static_cast<std::uint64_t>(Type::doubles)).bytes(8, name).bytes(9, data);
  constants_.message(5, tensor);
  return name;
}

std::string OnnxGraph::constant(const std::vector<std::string>& texts) {
  ProtobufWriter tensor;
  tensor.integer(1, texts.size()).integer(2, static_cast<std::uint64_t>(Type::texts));
  for (const std::string& text : texts) tensor.bytes(6, text);
  const std::string name = new_name();
  constants_.message(5, tensor.bytes(8, name));
  return name;
}

std::string OnnxGraph::add(const std::string& operation, const std::vector<std::string>& inputs,
                           const std::vector<ProtobufWriter>& attributes,
                           const std::string& domain) {
  const std::string result = new_name();
  ProtobufWriter node;
  for (const std::string& input : inputs) node.bytes(1, input);
  node.bytes(2, result).bytes(4, operation);
  for (const ProtobufWriter& one : attributes) node.message(5, one);
  if (!domain.empty()) node.bytes(7, domain);
  nodes_.message(1, node);
  return result;
}

std::string OnnxGraph::node(const std::string& operation, const std::vector<std::string>& inputs) {
  return add(operation, inputs, {});
}

std::string OnnxGraph::node(const std::string& operation, const std::vector<std::string>& inputs,
                            const std::string& name, std::int64_t value) {
  return add(operation, inputs, {integer_attribute(name, value)});
}

std::string OnnxGraph::arg_max(const std::string& values) {
  return add("ArgMax", {values}, {integer_attribute("axis", 1), integer_attribute("keepdims", 0)});
}

std::string OnnxGraph::equals(const std::string& texts, const std::string& text) {
  auto keys = attribute("keys_strings", strings_type);
  keys.bytes(9, text);
  auto values = attribute("values_floats", floats_type);
  values.number(7, 1);
  auto otherwise = attribute("default_float", float_type);
  otherwise.number(2, 0);
  return as_double(add("LabelEncoder", {texts}, {keys, values, otherwise}, ml_domain));
}

std::string OnnxGraph::as_double(const std::string& values) {
  return node("Cast", {values}, "to", static_cast<std::int64_t>(Type::doubles));
}

std::string OnnxGraph::model(const std::string& program_version) const {
  const std::string graph = nodes_.text() + ProtobufWriter().bytes(2, "grove").text() +
                            constants_.text() + inputs_.text() + outputs_.text();
  ProtobufWriter file;
  file.integer(1, ir_version).bytes(2, "Grove").bytes(3, program_version).bytes(7, graph);
  file.message(8, operators("", operators_version));
  return file.message(8, operators(ml_domain, ml_operators_version)).text();
}

}  // namespace grove
