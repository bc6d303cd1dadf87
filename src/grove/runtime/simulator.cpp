#include "grove/runtime/simulator.h"

#include <algorithm>

#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

namespace grove {

struct Simulator::Workers {
  explicit Workers(int threads) : arena(threads > 0 ? threads : tbb::task_arena::automatic) {
    if (threads > tbb::info::default_concurrency())
      limit.emplace(tbb::global_control::max_allowed_parallelism,
                    static_cast<std::size_t>(threads));
  }

  template <class Body>
  void for_each(std::size_t count, const Body& body) {
    arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, body); });
  }

  std::optional<tbb::global_control> limit;  // more threads than cores only by explicit leave
  tbb::task_arena arena;
  tbb::enumerable_thread_specific<Workspace> workspaces;
};

Simulator::Simulator(std::vector<std::unique_ptr<Agent>> agents, const Graph& graph,
                     Schedule schedule, const SimulatorOptions& options)
    : agents_(std::move(agents)),
      schedule_(std::move(schedule)),
      options_(options),
      activations_(agents_.size()),
      mailboxes_(options.faults.none() ? 0 : agents_.size()),
      workers_(std::make_unique<Workers>(options.threads)) {
  first_source_.push_back(0);
  for (std::uint32_t i = 0; i < agents_.size(); ++i) {
    for (const AgentId sender : graph.neighbours(AgentId{i})) {
      const auto theirs = graph.neighbours(sender);
      const auto slot = std::ranges::lower_bound(theirs, AgentId{i}) - theirs.begin();
      sources_.push_back({sender, static_cast<std::size_t>(slot)});
    }
    first_source_.push_back(sources_.size());
  }
}

Simulator::~Simulator() = default;

void Simulator::advance() {
  ++round_;
  work();
  deliver();
  workers_->for_each(agents_.size(), [&](std::size_t i) { agents_[i]->end_round(); });
}

void Simulator::work() {
  workers_->for_each(agents_.size(), [&](std::size_t i) {
    activations_[i] = schedule_.activation(AgentId{static_cast<std::uint32_t>(i)}, round_);
    if (activations_[i]) agents_[i]->activate(*activations_[i], workers_->workspaces.local());
  });
}

void Simulator::deliver() {
  workers_->for_each(agents_.size(), [&](std::size_t receiver) { deliver_to(receiver); });
}

void Simulator::deliver_to(std::size_t receiver) {
  const std::size_t first = first_source_[receiver];
  for (std::size_t k = first; k < first_source_[receiver + 1]; ++k) {
    const Source& source = sources_[k];
    if (!activations_[source.sender.value]) continue;
    const Message message = agents_[source.sender.value]->message_to(source.slot_at_sender);
    if (mailboxes_.empty()) {
      agents_[receiver]->receive(k - first, message);
    } else if (const auto late =
                   options_.faults.fate(options_.seed, source.sender,
                                        AgentId{static_cast<std::uint32_t>(receiver)}, round_)) {
      mailboxes_[receiver].post(round_ + *late, k - first, message);
    }
  }
  if (!mailboxes_.empty()) mailboxes_[receiver].deliver(round_, *agents_[receiver]);
}

std::size_t Simulator::active() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(activations_, [](const auto& a) { return a.has_value(); }));
}

Cost Simulator::cost() const {
  Cost total;
  for (const auto& agent : agents_) total += agent->cost();
  return total;
}

}  // namespace grove
