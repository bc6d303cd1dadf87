#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "grove/base/result.h"
#include "grove/base/types.h"

namespace grove {

/// Appends plain values to a byte string, in the machine's order (checkpoints stay on one machine).
class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T)); }
  void put(std::span<const double> values) {
    put(static_cast<std::uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  void put(std::span<const float> values) {
    put(static_cast<std::uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  void put(const Vector& values) {
    put(std::span<const double>(values.data(), static_cast<std::size_t>(values.size())));
  }
  /// Bytes with their length.
  void put_bytes(std::string_view bytes) {
    put(static_cast<std::uint64_t>(bytes.size()));
    bytes_.append(bytes);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads what ByteWriter wrote; any mismatch leaves ok() false and the destination untouched.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void get(T& value) {
    if (!take(sizeof(T))) return;
    std::memcpy(&value, taken_, sizeof(T));
  }
  /// Only 0 and 1 are truth values.
  void get(bool& value) {
    char byte = 0;
    get(byte);
    if (byte < 0 || byte > 1) fail();
    if (ok_) value = byte == 1;
  }
  /// The stored length must equal the destination's: dimensions never change under a state.
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void get(std::span<Number> values) {
    std::uint64_t size = 0;
    get(size);
    if (ok_ && size != values.size()) ok_ = false;
    if (!ok_ || !take(values.size_bytes()) || values.empty()) return;
    std::memcpy(values.data(), taken_, values.size_bytes());
  }
  void get(Vector& values) {
    get(std::span<double>(values.data(), static_cast<std::size_t>(values.size())));
  }
  /// What put_bytes wrote; valid while the bytes that are read are.
  std::string_view get_bytes() {
    std::uint64_t size = 0;
    get(size);
    if (!ok_ || !take(size)) return {};
    return {taken_, size};
  }
  void fail() { ok_ = false; }  ///< what was read makes no sense
  bool ok() const { return ok_; }
  bool finished() const { return ok_ && rest_.empty(); }

 private:
  bool take(std::size_t size) {
    ok_ = ok_ && rest_.size() >= size;
    if (!ok_) return false;
    taken_ = rest_.data();
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  const char* taken_ = nullptr;
  bool ok_ = true;
};

}  // namespace grove
