#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace grove {

/// Something the user can mend. `where` names the flag, file:line or field; `what` says what is
/// wrong there and what was expected. Printed as "where: what" on one line.
struct Error {
  std::string where;
  std::string what;

  std::string text() const { return where.empty() ? what : where + ": " + what; }
};

/// A value, or the reason there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  T& value() {
    assert(*this);
    return std::get<0>(state_);
  }
  const T& value() const {
    assert(*this);
    return std::get<0>(state_);
  }
  const Error& error() const {
    assert(!*this);
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// Success, or the reason of the failure.
using Status = Result<std::monostate>;
inline Status success() { return std::monostate{}; }

}  // namespace grove
