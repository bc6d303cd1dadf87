#include "grove/peer/metrics.h"

#include <fmt/format.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>

namespace grove::peer {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Sample {
  std::vector<ClientMetric::Label> labels;
  double value = 0;
};

MetricFamily family(std::string name, std::string help, MetricType type,
                    const std::vector<Sample>& samples) {
  MetricFamily result;
  result.name = std::move(name);
  result.help = std::move(help);
  result.type = type;
  for (const Sample& sample : samples) {
    ClientMetric metric;
    metric.label = sample.labels;
    if (type == MetricType::Counter)
      metric.counter.value = sample.value;
    else
      metric.gauge.value = sample.value;
    result.metric.push_back(std::move(metric));
  }
  return result;
}

ClientMetric::Label label(std::string name, std::string value) {
  return {std::move(name), std::move(value)};
}

class StatusCollector final : public prometheus::Collectable {
 public:
  explicit StatusCollector(std::function<PeerStatus()> status) : status_(std::move(status)) {}

  std::vector<MetricFamily> Collect() const override {
    const PeerStatus status = status_();
    const auto one = [&](std::string name, std::string help, MetricType type, double value) {
      return family(std::move(name), std::move(help), type,
                    {{{label("peer", status.name)}, value}});
    };
    return {
        one("grove_activations_total", "Activations of the agent", MetricType::Counter,
            static_cast<double>(status.activations)),
        one("grove_residual", "Local residual, relative", MetricType::Gauge, status.residual),
        one("grove_network_residual", "Largest residual known", MetricType::Gauge,
            status.network_residual),
        one("grove_members", "Members of the network", MetricType::Gauge,
            static_cast<double>(status.members)),
        one("grove_checkpoint_age_seconds", "Since the last checkpoint; -1: none",
            MetricType::Gauge, status.checkpoint_age),
        one("grove_certificate_expiry_seconds", "Until the certificate expires; -1: no TLS",
            MetricType::Gauge, status.certificate_seconds),
        one("grove_waiting", "Whether the peer waits for other members", MetricType::Gauge,
            status.waiting_for.empty() ? 0 : 1),
        family("grove_phase", "1 for the phase that the peer is in", MetricType::Gauge,
               {{{label("peer", status.name), label("phase", status.phase)}, 1}}),
        links("grove_link_connected", "Whether the link is up", MetricType::Gauge, status,
              [](const LinkStatus& link) { return link.connected ? 1.0 : 0.0; }),
        links("grove_link_round_trip_seconds", "As last measured; 0: not yet", MetricType::Gauge,
              status, [](const LinkStatus& link) { return link.round_trip_seconds; }),
        links("grove_link_bytes_total", "Bytes sent and received", MetricType::Counter, status,
              [](const LinkStatus& link) {
                return static_cast<double>(link.counts.bytes_sent + link.counts.bytes_received);
              }),
        links("grove_link_iterates_received_total", "Iterates accepted", MetricType::Counter,
              status,
              [](const LinkStatus& link) {
                return static_cast<double>(link.counts.iterates_received);
              }),
        rejections(status)};
  }

 private:
  template <class Value>
  static MetricFamily links(std::string name, std::string help, MetricType type,
                            const PeerStatus& status, const Value& value) {
    std::vector<Sample> samples;
    samples.reserve(status.links.size());
    for (const LinkStatus& link : status.links)
      samples.push_back({{label("peer", status.name), label("neighbour", link.name)}, value(link)});
    return family(std::move(name), std::move(help), type, samples);
  }

  static MetricFamily rejections(const PeerStatus& status) {
    std::vector<Sample> samples;
    const auto add = [&](const std::string& from, const auto& rejected) {
      for (std::size_t kind = 0; kind < reject_reason_count; ++kind)
        samples.push_back({{label("peer", status.name), label("from", from),
                            label("reason", std::string(name_of(static_cast<RejectReason>(kind))))},
                           static_cast<double>(rejected[kind])});
    };
    for (const LinkStatus& link : status.links) add(link.name, link.counts.rejected);
    add("strangers", status.strangers_rejected);
    return family("grove_refused_total", "Messages refused", MetricType::Counter, samples);
  }

  std::function<PeerStatus()> status_;
};

}  // namespace

struct Metrics::Parts {
  Parts(const std::string& address, std::function<PeerStatus()> status)
      : collector(std::make_shared<StatusCollector>(std::move(status))),
        exposer({"listening_ports", address, "num_threads", "4", "request_timeout_ms", "2000"}) {}
  std::shared_ptr<StatusCollector> collector;
  prometheus::Exposer exposer;
};

Metrics::Metrics(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Metrics::~Metrics() = default;

Result<std::unique_ptr<Metrics>> Metrics::serve(const std::string& address,
                                                std::function<PeerStatus()> status) {
  try {  // the exposer reports an unusable address by exception
    auto parts = std::make_unique<Parts>(address, std::move(status));
    parts->exposer.RegisterCollectable(parts->collector);
    return std::unique_ptr<Metrics>(new Metrics(std::move(parts)));
  } catch (const std::exception& error) {
    return Error{"metrics", fmt::format("cannot serve on {}: {}", address, error.what())};
  }
}

}  // namespace grove::peer
