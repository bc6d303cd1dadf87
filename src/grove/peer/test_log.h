#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

namespace grove::peer {

/// Stores the log. Other threads may log while it is read.
class TestLog final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool has(const std::string& part) { return text().find(part) != std::string::npos; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    text_.append(message.payload.data(), message.payload.size()).append("\n");
  }
  void flush_() override {}

  std::string text_;
};

inline std::shared_ptr<spdlog::logger> logger_to(std::shared_ptr<TestLog> log) {
  return std::make_shared<spdlog::logger>("test", std::move(log));
}

}  // namespace grove::peer
