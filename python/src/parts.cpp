#include "parts.h"

#include <algorithm>

#include <fmt/format.h>
#include <pybind11/eigen.h>
#include <pybind11/stl.h>

namespace grove::python {
namespace {

std::string name_of(const py::object& part) { return part.attr("name").cast<std::string>(); }

/// A row with the name of a built-in one would not be found.
template <class Rows, class Name>
void refuse_known_name(const char* option, const std::string& name, const Rows& rows, Name of) {
  if (std::ranges::find(rows, name, of) != rows.end())
    throw Failure{
        {std::string("--") + option, fmt::format("'{}' is built in; expected another name", name)}};
}

void check_size(const Vector& vector, Index size, const char* what) {
  if (vector.size() != size)
    throw Failure{{what, fmt::format("expected {} numbers, found {}", size, vector.size())}};
}

class PythonLoss final : public LossFunction {
 public:
  PythonLoss(const py::object& loss, std::shared_ptr<PythonCalls> calls)
      : at_(loss.attr("at")),
        calls_(std::move(calls)),
        largest_(loss.attr("max_second_derivative").cast<double>()),
        classification_(loss.attr("classification").cast<bool>()) {}

  LossPoint at(double margin, double target) const override {
    LossPoint point;
    calls_->call([&] {
      const auto numbers = at_.get()(margin, target).cast<std::array<double, 3>>();
      point = {numbers[0], numbers[1], numbers[2]};
    });
    return point;
  }
  double max_second_derivative() const override { return largest_; }
  bool is_classification() const override { return classification_; }

 private:
  Held at_;
  std::shared_ptr<PythonCalls> calls_;
  double largest_;
  bool classification_;
};

class PythonRegularizer final : public RegularizerTerm {
 public:
  PythonRegularizer(const py::object& term, std::shared_ptr<PythonCalls> calls)
      : value_(term.attr("value")), prox_(term.attr("prox")), calls_(std::move(calls)) {}

  double value(const Vector& x) const override {
    double result = 0;
    calls_->call([&] { result = value_.get()(x).cast<double>(); });
    return result;
  }
  void prox(double step, const Vector& v, Vector& result) const override {
    const bool done = calls_->call([&] {
      const auto found = prox_.get()(step, v).cast<Vector>();
      check_size(found, v.size(), "prox of the regularizer");
      result = found;
    });
    if (!done) result = v;
  }

 private:
  Held value_, prox_;
  std::shared_ptr<PythonCalls> calls_;
};

/// What an agent in Python is given. Evaluations are counted as work of the agent.
class PythonContext {
 public:
  PythonContext(AgentContext context, double step) : context_(std::move(context)), step_(step) {}

  const AgentContext& context() const { return context_; }
  double step() const { return step_; }
  const Cost& cost() const { return cost_; }
  Cost& cost() { return cost_; }

  double value(const Vector& x) {
    check_size(x, dimension(), "x");
    return context_.objective->evaluate(x, Batch::all(), nullptr, nullptr, scratch_);
  }
  Vector gradient(const Vector& x) {
    check_size(x, dimension(), "x");
    Vector result;
    context_.objective->evaluate(x, Batch::all(), &result, nullptr, scratch_);
    cost_.gradient_samples += samples();
    return result;
  }
  Matrix hessian(const Vector& x) {
    check_size(x, dimension(), "x");
    Matrix result;
    context_.objective->evaluate(x, Batch::all(), nullptr, &result, scratch_);
    cost_.hessian_samples += samples();
    return result;
  }
  Vector prox(double step, const Vector& v) const {
    check_size(v, dimension(), "v");
    Vector result(v.size());
    context_.regularizer.prox(step, v, result);
    return result;
  }
  std::uint64_t samples() const {
    return static_cast<std::uint64_t>(context_.objective->samples());
  }
  Index dimension() const { return context_.start.size(); }

 private:
  AgentContext context_;
  double step_;
  ObjectiveScratch scratch_;
  Cost cost_;
};

class PythonAgent final : public Agent {
 public:
  PythonAgent(const py::object& type, double step, AgentContext given,
              std::shared_ptr<PythonCalls> calls)
      : calls_(std::move(calls)), x_(given.start), outbox_(given.neighbours.size(), given.start) {
    calls_->call([&] {
      const py::object context = py::cast(PythonContext(std::move(given), step));
      context_ = context.cast<PythonContext*>();
      held_context_.set(context);
      agent_.set(type(context));
      read_estimate();
    });
  }

  void activate(const Activation& activation, Workspace&) override {
    sequence_ = activation.round;
    calls_->call([&] {
      agent_.get().attr("activate")(activation.round);
      read_estimate();
      for (std::size_t slot = 0; slot < outbox_.size(); ++slot) {
        outbox_[slot] = agent_.get().attr("message_to")(slot).cast<Vector>();
        check_size(outbox_[slot], x_.size(), "message of the method");
      }
      context_->cost().count_broadcast(outbox_.size(), x_.size());
    });
  }
  Message message_to(std::size_t slot) const override {
    return {.sender = id(),
            .sequence = sequence_,
            .vector = {outbox_[slot].data(), static_cast<std::size_t>(outbox_[slot].size())}};
  }
  void receive(std::size_t slot, const Message& message) override {
    calls_->call([&] {
      const auto size = static_cast<Index>(message.vector.size());
      agent_.get().attr("receive")(slot,
                                   Vector(Eigen::Map<const Vector>(message.vector.data(), size)));
    });
  }
  void end_round() override {
    calls_->call([&] {
      agent_.get().attr("end_round")();
      read_estimate();
    });
  }
  const Vector& estimate() const override { return x_; }
  const Cost& cost() const override {
    static const Cost none;
    return context_ != nullptr ? context_->cost() : none;
  }
  /// Set-up refuses checkpoints of these agents.
  void save(ByteWriter&) const override {}
  Status load(ByteReader&) override {
    return Error{"--checkpoint", "methods in Python have no checkpoints"};
  }

 private:
  AgentId id() const { return context_ != nullptr ? context_->context().id : AgentId{}; }
  void read_estimate() {
    auto x = agent_.get().attr("x").cast<Vector>();
    check_size(x, x_.size(), "x of the method");
    x_ = std::move(x);
  }

  std::shared_ptr<PythonCalls> calls_;
  Held held_context_, agent_;
  PythonContext* context_ = nullptr;  ///< in held_context_
  Vector x_;
  std::vector<Vector> outbox_;  ///< by slot
  std::uint64_t sequence_ = 0;
};

}  // namespace

Parts::Parts(const py::dict& parts, std::shared_ptr<PythonCalls> calls) : calls_(std::move(calls)) {
  for (const auto& [key, part] : parts) {
    const auto option = key.cast<std::string>();
    const auto object = py::reinterpret_borrow<py::object>(part);
    if (option == "method") add_method(object);
    if (option == "loss") add_loss(object);
    if (option == "regularizer") add_regularizer(object);
    if (option == "graph") add_graph(object);
    compute_ = compute_ || option != "graph";
  }
}

void Parts::adapt(Config& config, const py::dict& texts) const {
  if (compute_ && !texts.contains("threads")) config.threads = 1;
  if (method_ && !config.checkpoint.empty())
    throw Failure{{"--checkpoint", "methods in Python have no checkpoints; expected none"}};
}

void Parts::add_method(const py::object& type) {
  const std::string name = name_of(type);
  refuse_known_name("method", name, registry_.methods, &Method::name);
  const auto held = std::make_shared<Held>(type);
  const MethodTraits traits{.needs_everyone = type.attr("needs_everyone").cast<bool>(),
                            .only_uses_gradients = type.attr("only_uses_gradients").cast<bool>()};
  AgentFactory factory = [held, calls = calls_](const AgentParameters& parameters,
                                                AgentContext context) {
    return std::make_unique<PythonAgent>(held->get(), parameters.step, std::move(context), calls);
  };
  method_ = std::make_unique<MethodEntry>(name, "written in Python", traits, std::move(factory));
  registry_.methods.emplace_back(*method_);
}

void Parts::add_loss(const py::object& loss) {
  const std::string name = name_of(loss);
  refuse_known_name("loss", name, registry_.losses, &LossEntry::name);
  const auto function = std::make_shared<PythonLoss>(loss, calls_);
  registry_.losses.push_back({name, name, [name, function](std::string_view) -> Result<Loss> {
                                return Loss(CustomLoss(name, function));
                              }});
}

void Parts::add_regularizer(const py::object& regularizer) {
  const std::string name = name_of(regularizer);
  const auto term = std::make_shared<PythonRegularizer>(regularizer, calls_);
  registry_.regularizers.push_back(
      {name, name, [term](std::string_view) -> Result<std::shared_ptr<const RegularizerTerm>> {
         return std::shared_ptr<const RegularizerTerm>(term);
       }});
}

void Parts::add_graph(const py::tuple& graph) {
  const auto agents = graph[0].cast<std::size_t>();
  std::vector<Edge> edges;
  for (const auto& [i, j] : graph[1].cast<std::vector<std::pair<std::uint32_t, std::uint32_t>>>())
    edges.push_back({AgentId{std::min(i, j)}, AgentId{std::max(i, j)}});
  registry_.topologies.push_back(
      {"edges", "edges", [agents, edges](const TopologyRequest& request) -> Result<Graph> {
         if (request.agents != agents)
           return Error{"--graph", fmt::format("has {} agents; expected {}, as --agents says",
                                               agents, request.agents)};
         return Graph::from_edges(agents, edges, "--graph");
       }});
}

void bind_parts(py::module_& module) {
  using Unlocked = py::call_guard<py::gil_scoped_release>;
  py::class_<PythonContext>(module, "AgentContext",
                            "What an agent is given: its neighbours, f_i and r.")
      .def_property_readonly(
          "id", [](const PythonContext& own) { return own.context().id.value; },
          "Number of the agent, from 0.")
      .def_property_readonly(
          "seed", [](const PythonContext& own) { return own.context().seed; }, "Of the run.")
      .def_property_readonly(
          "neighbours",
          [](const PythonContext& own) {
            std::vector<std::pair<std::uint32_t, double>> result;
            for (const Neighbour& one : own.context().neighbours)
              result.emplace_back(one.id.value, one.mixing_weight);
            return result;
          },
          "(id, mixing weight) of every neighbour; its position is its slot.")
      .def_property_readonly(
          "network_size", [](const PythonContext& own) { return own.context().network_size; },
          "n: the network minimizes sum f_i + n r.")
      .def_property_readonly(
          "start", [](const PythonContext& own) -> Vector { return own.context().start; },
          "x^0, common to all agents.")
      .def_property_readonly("step", &PythonContext::step, "Step length: the option, or 1/L.")
      .def_property_readonly("samples", &PythonContext::samples, "Of this agent.")
      .def("value", &PythonContext::value, py::arg("x"), Unlocked(), "f_i(x)")
      .def("gradient", &PythonContext::gradient, py::arg("x"), Unlocked(), "Of f_i at x.")
      .def("hessian", &PythonContext::hessian, py::arg("x"), Unlocked(), "Of f_i at x.")
      .def("prox", &PythonContext::prox, py::arg("step"), py::arg("v"), Unlocked(),
           "argmin_u r(u) + |u - v|^2 / (2 step)");
}

}  // namespace grove::python
