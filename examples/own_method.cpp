// A method of one's own: gradient descent with mixing (DGD, Nedic and Ozdaglar 2009), compared with
// the default method. With a fixed step DGD ends near the optimum, not at it.
#include <cstdio>
#include <memory>
#include <vector>

#include <grove/grove.h>

namespace {

/// x_i <- sum_j W_ij x_j - a grad f_i(x_i)
class DgdAgent final : public grove::Agent {
 public:
  DgdAgent(double step, grove::AgentContext context)
      : context_(std::move(context)), step_(step), x_(context_.start) {
    received_.assign(context_.neighbours.size(), x_);
  }

  void activate(const grove::Activation& activation, grove::Workspace& workspace) override {
    grove::Vector gradient;
    context_.objective->evaluate(x_, grove::Batch::all(), &gradient, nullptr, workspace.objective);
    grove::Vector mixed = x_;
    for (std::size_t slot = 0; slot < received_.size(); ++slot)
      mixed += context_.neighbours[slot].mixing_weight * (received_[slot] - x_);
    x_ = mixed - step_ * gradient;
    sequence_ = activation.round;
    cost_.gradient_samples += static_cast<std::uint64_t>(context_.objective->samples());
    cost_.count_broadcast(received_.size(), x_.size());
  }
  grove::Message message_to(std::size_t) const override {
    return {.sender = context_.id,
            .sequence = sequence_,
            .vector = {x_.data(), static_cast<std::size_t>(x_.size())}};
  }
  void receive(std::size_t slot, const grove::Message& message) override {
    std::copy(message.vector.begin(), message.vector.end(), received_[slot].data());
  }
  void end_round() override {}
  const grove::Vector& estimate() const override { return x_; }
  const grove::Cost& cost() const override { return cost_; }
  void save(grove::ByteWriter& writer) const override {
    writer.put(x_);
    for (const grove::Vector& vector : received_) writer.put(vector);
    writer.put(cost_);
  }
  grove::Status load(grove::ByteReader& reader) override {
    reader.get(x_);
    for (grove::Vector& vector : received_) reader.get(vector);
    reader.get(cost_);
    return reader.ok() ? grove::success() : grove::Status(grove::Error{"state", "does not fit"});
  }

 private:
  grove::AgentContext context_;
  double step_;
  grove::Vector x_;
  std::vector<grove::Vector> received_;
  std::uint64_t sequence_ = 0;
  grove::Cost cost_;
};

const grove::MethodEntry dgd{
    "dgd", "decentralized gradient descent", grove::MethodTraits{.only_uses_gradients = true},
    grove::AgentFactory([](const grove::AgentParameters& parameters, grove::AgentContext context) {
      return std::make_unique<DgdAgent>(parameters.step, std::move(context));
    })};

}  // namespace

int main() {
  grove::Config config;
  config.data = "synthetic:gaussian,samples=400,features=5";
  config.l2 = 0.1;
  config.rounds = 300;
  const auto problem = grove::prepare(config);
  if (!problem) return std::fprintf(stderr, "%s\n", problem.error().text().c_str()), 2;
  double errors[2];
  int k = 0;
  for (const grove::Method& method : {grove::Method(dgd), grove::Method::druid_vl}) {
    config.method = method;
    const auto record = grove::run_prepared(config, *problem);
    if (!record) return std::fprintf(stderr, "%s\n", record.error().text().c_str()), 2;
    errors[k++] = *record->trace.back().relative_error;
    std::printf("%-9s %s, relative error %.1e\n", method.name().c_str(),
                record->outcome.detail.c_str(), errors[k - 1]);
  }
  return errors[0] < 1e-1 && errors[1] < 1e-6 ? 0 : 1;
}
