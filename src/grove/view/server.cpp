#include "grove/view/server.h"

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>
#include <httplib.h>

#include "grove/view/page.h"

namespace grove {
namespace {

std::string random_token() {
  std::random_device device;  // the operating system's generator
  std::string token;
  for (int k = 0; k < 4; ++k) token += fmt::format("{:08x}", device());
  return token;
}

class HttpViewServer final : public ViewServer {
 public:
  explicit HttpViewServer(std::shared_ptr<LiveRuns> runs)
      : page_(view_page(nullptr)),
        runs_(std::move(runs)),
        policy_(view_policy()),
        token_(random_token()) {}
  HttpViewServer(const HttpViewServer&) = delete;
  HttpViewServer& operator=(const HttpViewServer&) = delete;
  ~HttpViewServer() override {
    runs_->stop_reading();
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status listen(const std::string& host, int port) {
    host_ = host;
    port_ = port == 0                          ? server_.bind_to_any_port(host)
            : server_.bind_to_port(host, port) ? port
                                               : -1;
    if (port_ < 0) return Error{"--listen", fmt::format("cannot listen on {}:{}", host, port)};
    server_.set_payload_max_length(1024);
    server_.set_read_timeout(5);
    server_.set_write_timeout(2);
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          answer(request, response);
          return httplib::Server::HandlerResponse::Handled;
        });
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    return success();
  }

  std::string address() const override {
    return fmt::format("http://{}:{}/{}/", is_any_host() ? machine_name() : host_, port_, token_);
  }

 private:
  static constexpr int most_followers = 4;

  bool is_any_host() const { return host_ == "0.0.0.0" || host_ == "::"; }

  static std::string machine_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
  }

  /// A page of another site that resolves its name to this machine has another Host or Origin.
  /// A server on all addresses has many names: there the token keeps others out, and the Origin.
  bool is_own(const httplib::Request& request) const {
    const std::string host = request.get_header_value("Host");
    const bool loopback = host_ == "127.0.0.1" && host == fmt::format("localhost:{}", port_);
    if (host != fmt::format("{}:{}", host_, port_) && !loopback && !is_any_host()) return false;
    if (request.has_header("Origin") && request.get_header_value("Origin") != "http://" + host)
      return false;
    const std::string site = request.get_header_value("Sec-Fetch-Site");
    return site.empty() || site == "same-origin" || site == "none";
  }

  /// Sends what comes, at most ten times a second, until the page goes away or all is over.
  void follow(httplib::Response& response) {
    if (followers_.fetch_add(1) >= most_followers) {
      --followers_;
      response.status = 503;
      return;
    }
    response.status = 200;
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, place = LiveRuns::Place{}](std::size_t, httplib::DataSink& sink) mutable {
          const auto event = runs_->next(place, std::chrono::milliseconds(1000));
          // A comment finds out whether the page is still there.
          const std::string text =
              event ? fmt::format("event: {}\ndata: {}\n\n", event->name, event->data) : ":\n\n";
          if (!sink.write(text.data(), text.size())) return false;
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          return true;
        },
        [this](bool) { --followers_; });
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    const std::array<std::pair<const char*, std::string>, 5> headers{
        {{"Content-Security-Policy", policy_},
         {"Cache-Control", "no-store"},
         {"X-Content-Type-Options", "nosniff"},
         {"Referrer-Policy", "no-referrer"},
         {"Cross-Origin-Resource-Policy", "same-origin"}}};
    for (const auto& [name, value] : headers) response.set_header(name, value);
    if (!is_own(request)) {
      response.status = 403;
    } else if (request.method != "GET") {
      response.status = 405;
    } else if (request.path == "/" + token_ + "/") {
      response.status = 200;
      response.set_content(page_, "text/html; charset=utf-8");
    } else if (request.path == "/" + token_ + "/runs.json") {
      response.status = 200;
      response.set_content(runs_->all(), "application/json");
    } else if (request.path == "/" + token_ + "/events") {
      follow(response);
    } else {
      response.status = 404;
    }
  }

  const std::string page_;
  const std::shared_ptr<LiveRuns> runs_;
  const std::string policy_, token_;
  std::atomic<int> followers_ = 0;
  httplib::Server server_;
  std::thread thread_;
  std::string host_;
  int port_ = -1;
};

}  // namespace

Result<std::unique_ptr<ViewServer>> ViewServer::start(const std::string& listen,
                                                      std::shared_ptr<LiveRuns> runs) {
  const std::size_t colon = listen.rfind(':');
  const std::string digits = colon == std::string::npos ? "" : listen.substr(colon + 1);
  const bool numeric = !digits.empty() && digits.size() <= 5 &&
                       digits.find_first_not_of("0123456789") == std::string::npos;
  if (!numeric || colon == 0 || std::stoi(digits) > 65535)
    return Error{"--listen",
                 fmt::format("expected HOST:PORT, as in 127.0.0.1:8080, found {}", listen)};
  auto server = std::make_unique<HttpViewServer>(std::move(runs));
  if (Status status = server->listen(listen.substr(0, colon), std::stoi(digits)); !status)
    return status.error();
  return std::unique_ptr<ViewServer>(std::move(server));
}

}  // namespace grove
