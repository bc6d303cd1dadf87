#include "grove/runtime/mpi/async_run.h"

#include <algorithm>

#include "grove/runtime/mpi/collectives.h"

namespace grove::mpi {
namespace {

constexpr int newest_tag = 0;

}  // namespace

AsyncRun::AsyncRun(MPI_Comm processes, std::vector<std::unique_ptr<Agent>> agents,
                   const Graph& graph, const std::vector<int>& work_loads,
                   const ClusterOptions& options)
    : own_(agents_of(graph.agents(), rank_in(processes), size_of(processes))),
      agents_(std::move(agents)),
      work_loads_(work_loads.begin() + own_.first, work_loads.begin() + own_.last),
      links_(find_process_links(graph, rank_in(processes), size_of(processes))),
      options_(options),
      workers_(std::make_unique<Workers>(options.threads)),
      sending_(links_.neighbours.size()),
      sent_(links_.neighbours.size(), MPI_REQUEST_NULL) {
  MPI_Comm_dup(processes, &messages_);
  MPI_Comm_dup(processes, &votes_);
  for (std::uint32_t i = own_.first; i < own_.last; ++i) {
    const auto neighbours = graph.neighbours(AgentId{i});
    for (std::size_t slot = 0; slot < neighbours.size(); ++slot) {
      if (!own_.contains(neighbours[slot])) continue;
      inner_.push_back({i - own_.first, slot, neighbours[slot].value - own_.first,
                        graph.slot_of(neighbours[slot], AgentId{i})});
    }
  }
  report_.agents = agents_.size();
  report_.threads = static_cast<std::uint64_t>(workers_->threads());
}

AsyncRun::~AsyncRun() {
  MPI_Comm_free(&messages_);
  MPI_Comm_free(&votes_);
}

void AsyncRun::run(StopVote& vote) {
  std::vector<double> own = vote.contribute(agents_), totals(own.size());
  MPI_Request reducing = MPI_REQUEST_NULL;
  const auto reduce = [&] {
    MPI_Iallreduce(own.data(), totals.data(), static_cast<int>(own.size()), MPI_DOUBLE, MPI_SUM,
                   votes_, &reducing);
  };
  reduce();
  for (bool over = false; !over;) {
    receive_messages();
    activate_agents();
    send_messages();
    int reduced = 0;
    MPI_Test(&reducing, &reduced, MPI_STATUS_IGNORE);
    if (!reduced) continue;
    over = vote.decide(totals);
    if (over) break;
    own = vote.contribute(agents_);
    reduce();
  }
  finish();
}

/// At most one message of each neighbour: with more, links would move towards a fast neighbour
/// several times for every step of their own.
void AsyncRun::receive_messages() {
  const double began = options_.seconds();
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k)
    if (receive_if_any(links_.neighbours[k], newest_tag, messages_, received_)) deliver(k);
  report_.exchange_seconds += options_.seconds() - began;
}

void AsyncRun::activate_agents() {
  ++activations_;
  const double began = options_.seconds();
  workers_->for_each(agents_.size(), [&](std::size_t i) {
    agents_[i]->activate({.round = activations_, .local_steps = work_loads_[i]},
                         workers_->workspace());
  });
  if (options_.slowness > 1) options_.pause((options_.slowness - 1) * (options_.seconds() - began));
  report_.compute_seconds += options_.seconds() - began;
  report_.activations += agents_.size();
}

void AsyncRun::send_messages() {
  const double began = options_.seconds();
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k) {
    int taken = 0;
    MPI_Test(&sent_[k], &taken, MPI_STATUS_IGNORE);
    if (!taken) {
      const auto& side = links_.outgoing;
      for (std::size_t l = side.first[k]; l < side.first[k + 1]; ++l)
        agent(side.links[l].from).not_sent(side.links[l].slot_at_sender);
      continue;
    }
    encode(k);
    send_synchronously(sending_[k], links_.neighbours[k], newest_tag, messages_, sent_[k]);
  }
  for (const InnerLink& link : inner_)
    agents_[link.receiver]->receive(link.slot_at_receiver,
                                    agents_[link.sender]->message_to(link.slot_at_sender));
  for (const auto& each : agents_) each->end_round();
  report_.exchange_seconds += options_.seconds() - began;
}

void AsyncRun::encode(std::size_t neighbour) {
  MessageBuffer& buffer = sending_[neighbour];
  buffer.clear();
  const auto& side = links_.outgoing;
  for (std::size_t l = side.first[neighbour]; l < side.first[neighbour + 1]; ++l) {
    buffer.append(agent(side.links[l].from).message_to(side.links[l].slot_at_sender));
    ++report_.vectors_sent;
  }
  report_.bytes_sent += buffer.size();
}

void AsyncRun::deliver(std::size_t neighbour) {
  MessageBuffer::Reader reader(received_);
  const auto& side = links_.incoming;
  for (std::size_t l = side.first[neighbour]; l < side.first[neighbour + 1]; ++l)
    if (const auto message = reader.next())
      agent(side.links[l].to).receive(side.links[l].slot_at_receiver, *message);
}

/// Other processes may finish later: receives and drops what still arrives, until all messages of
/// this process have been received.
void AsyncRun::finish() {
  const double began = options_.seconds();
  MPI_Request everyone = MPI_REQUEST_NULL;
  for (int all_here = 0, taken = 0; !all_here;) {
    for (const int neighbour : links_.neighbours)
      receive_if_any(neighbour, newest_tag, messages_, received_);
    if (!taken) {
      MPI_Testall(static_cast<int>(sent_.size()), sent_.data(), &taken, MPI_STATUSES_IGNORE);
      if (taken) MPI_Ibarrier(votes_, &everyone);
    } else {
      MPI_Test(&everyone, &all_here, MPI_STATUS_IGNORE);
    }
  }
  report_.wait_seconds += options_.seconds() - began;
}

Cost AsyncRun::cost() const { return total_cost(messages_, agents_); }

Estimates AsyncRun::estimates() const { return all_estimates(messages_, agents_); }

std::vector<AgentReport> AsyncRun::agent_reports() const { return all_reports(messages_, agents_); }

std::vector<ProcessReport> AsyncRun::reports() const { return gather(messages_, report_); }

}  // namespace grove::mpi
