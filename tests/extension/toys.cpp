#include "toys.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "grove/base/text.h"

namespace toys {
namespace {

using grove::Activation;
using grove::AgentContext;
using grove::Batch;
using grove::Cost;
using grove::Error;
using grove::Index;
using grove::Message;
using grove::Result;
using grove::Status;
using grove::Vector;

class ExtraAgent final : public grove::Agent {
 public:
  ExtraAgent(double step, AgentContext context)
      : context_(std::move(context)),
        step_(step),
        x_(context_.start),
        previous_(x_),
        received_(context_.neighbours.size(), x_),
        last_mixed_(Vector::Zero(x_.size())),
        last_gradient_(last_mixed_) {}

  void activate(const Activation& activation, grove::Workspace& workspace) override {
    Vector gradient;
    context_.objective->evaluate(x_, Batch::all(), &gradient, nullptr, workspace.objective);
    cost_.gradient_samples += static_cast<std::uint64_t>(context_.objective->samples());
    const Vector mixed = mix();
    const Vector next = first_ ? Vector(mixed - step_ * gradient)
                               : Vector(x_ + mixed - 0.5 * (previous_ + last_mixed_) -
                                        step_ * (gradient - last_gradient_));
    first_ = false;
    last_mixed_ = mixed;
    last_gradient_ = gradient;
    previous_ = x_;
    x_ = next;
    sequence_ = activation.round;
    cost_.count_broadcast(context_.neighbours.size(), x_.size());
  }
  Message message_to(std::size_t) const override {
    return {.sender = context_.id,
            .sequence = sequence_,
            .vector = {x_.data(), static_cast<std::size_t>(x_.size())}};
  }
  void receive(std::size_t slot, const Message& message) override {
    std::ranges::copy(message.vector, received_[slot].data());
  }
  void end_round() override {}
  const Vector& estimate() const override { return x_; }
  const Cost& cost() const override { return cost_; }

  void save(grove::ByteWriter& writer) const override {
    for (const Vector* vector : {&x_, &previous_, &last_mixed_, &last_gradient_})
      writer.put(*vector);
    for (const Vector& vector : received_) writer.put(vector);
    writer.put(sequence_);
    writer.put(first_);
    writer.put(cost_);
  }
  Status load(grove::ByteReader& reader) override {
    for (Vector* vector : {&x_, &previous_, &last_mixed_, &last_gradient_}) reader.get(*vector);
    for (Vector& vector : received_) reader.get(vector);
    reader.get(sequence_);
    reader.get(first_);
    reader.get(cost_);
    return reader.ok() ? grove::success() : Status(Error{"agent state", "does not fit"});
  }

 private:
  Vector mix() const {
    double own = 1;
    Vector mixed = Vector::Zero(x_.size());
    for (std::size_t slot = 0; slot < received_.size(); ++slot) {
      mixed += context_.neighbours[slot].mixing_weight * received_[slot];
      own -= context_.neighbours[slot].mixing_weight;
    }
    return mixed + own * x_;
  }

  AgentContext context_;
  double step_;
  Vector x_, previous_;
  std::vector<Vector> received_;
  Vector last_mixed_, last_gradient_;
  bool first_ = true;
  std::uint64_t sequence_ = 0;
  Cost cost_;
};

class LogCosh final : public grove::LossFunction {
 public:
  explicit LogCosh(double scale) : scale_(scale) {}
  grove::LossPoint at(double margin, double target) const override {
    const double u = (margin - target) / scale_;
    const double size = std::abs(u), slope = std::tanh(u);
    // log cosh u without overflow
    const double value = size + std::log1p(std::exp(-2 * size)) - std::log(2.0);
    return {scale_ * scale_ * value, scale_ * slope, 1 - slope * slope};
  }
  double max_second_derivative() const override { return 1; }

 private:
  double scale_;
};

Result<grove::Loss> make_log_cosh(std::string_view arguments) {
  const auto scale = arguments.empty() ? std::optional(1.0) : grove::parse_double(arguments);
  if (!scale || !(*scale > 0)) return Error{"", "expected log-cosh or log-cosh:SCALE"};
  const std::string name = "log-cosh" + (arguments.empty() ? "" : ":" + std::string(arguments));
  return grove::Loss(grove::CustomLoss(name, std::make_shared<LogCosh>(*scale)));
}

class GroupLasso final : public grove::RegularizerTerm {
 public:
  GroupLasso(double weight, Index size) : weight_(weight), size_(size) {}
  double value(const Vector& x) const override {
    double sum = 0;
    for (Index k = 0; k < x.size(); k += size_) sum += x.segment(k, count(x, k)).norm();
    return weight_ * sum;
  }
  void prox(double step, const Vector& v, Vector& result) const override {
    for (Index k = 0; k < v.size(); k += size_) {
      const auto group = v.segment(k, count(v, k));
      const double norm = group.norm();
      const double kept = norm > step * weight_ ? 1 - step * weight_ / norm : 0;
      result.segment(k, group.size()) = kept * group;
    }
  }

 private:
  Index count(const Vector& x, Index k) const { return std::min(size_, x.size() - k); }
  double weight_;
  Index size_;
};

Result<std::shared_ptr<const grove::RegularizerTerm>> make_group_lasso(std::string_view arguments) {
  const auto parts = grove::split(arguments, ':');
  const auto weight = parts.size() == 2 ? grove::parse_double(parts[0]) : std::nullopt;
  const auto size = parts.size() == 2 ? grove::parse_integer(parts[1]) : std::nullopt;
  if (!weight || !(*weight >= 0) || !size || *size < 1)
    return Error{"", "expected group-lasso:W:SIZE"};
  return std::shared_ptr<const grove::RegularizerTerm>(
      std::make_shared<GroupLasso>(*weight, static_cast<Index>(*size)));
}

Result<grove::Graph> make_wheel(const grove::TopologyRequest& request) {
  std::vector<grove::Edge> edges;
  const auto n = static_cast<std::uint32_t>(request.agents);
  for (std::uint32_t i = 1; i < n; ++i) edges.push_back({grove::AgentId{0}, grove::AgentId{i}});
  for (std::uint32_t i = 1; i + 1 < n; ++i)
    edges.push_back({grove::AgentId{i}, grove::AgentId{i + 1}});
  return grove::Graph::from_edges(request.agents, std::move(edges), "--graph");
}

}  // namespace

const grove::MethodEntry extra{
    "toy-extra", "EXTRA without a regularizer", grove::MethodTraits{.only_uses_gradients = true},
    grove::AgentFactory([](const grove::AgentParameters& parameters, AgentContext context) {
      return std::make_unique<ExtraAgent>(parameters.step, std::move(context));
    })};

grove::Registry registry() {
  grove::Registry rows = grove::built_in_registry();
  rows.methods.push_back(grove::Method(extra));
  rows.losses.push_back({"log-cosh", "log-cosh[:SCALE]", make_log_cosh});
  rows.regularizers.push_back({"group-lasso", "group-lasso:W:SIZE", make_group_lasso});
  rows.topologies.push_back({"wheel", "wheel", make_wheel});
  rows.metrics.push_back({"squared_norm", "of the solution", [](const grove::MetricInputs& inputs) {
                            return inputs.solution.squaredNorm();
                          }});
  return rows;
}

}  // namespace toys
