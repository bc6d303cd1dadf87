#include "grove/runtime/mpi/async_run.h"

#include <algorithm>
#include <bit>

#include "grove/runtime/mpi/collectives.h"

namespace grove::mpi {
namespace {

constexpr int newest_tag = 0;
constexpr std::size_t header_words = 2;  // sequence and length, as in Exchange

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
  MPI_Comm_dup(processes, &ballots_);
  for (std::uint32_t i = own_.first; i < own_.last; ++i) {
    const auto neighbours = graph.neighbours(AgentId{i});
    for (std::size_t slot = 0; slot < neighbours.size(); ++slot) {
      if (!own_.contains(neighbours[slot])) continue;
      const auto theirs = graph.neighbours(neighbours[slot]);
      const auto back = std::ranges::lower_bound(theirs, AgentId{i}) - theirs.begin();
      inner_.push_back({i - own_.first, slot, neighbours[slot].value - own_.first,
                        static_cast<std::size_t>(back)});
    }
  }
  report_.agents = agents_.size();
  report_.threads = static_cast<std::uint64_t>(workers_->threads());
}

AsyncRun::~AsyncRun() {
  MPI_Comm_free(&messages_);
  MPI_Comm_free(&ballots_);
}

void AsyncRun::run(StopVote& vote) {
  std::vector<double> contribute = vote.contribute(agents_), totals(contribute.size());
  MPI_Request counting = MPI_REQUEST_NULL;
  const auto cast = [&] {
    MPI_Iallreduce(contribute.data(), totals.data(), static_cast<int>(contribute.size()),
                   MPI_DOUBLE, MPI_SUM, ballots_, &counting);
  };
  cast();
  for (bool over = false; !over;) {
    hear();
    work();
    tell();
    int counted = 0;
    MPI_Test(&counting, &counted, MPI_STATUS_IGNORE);
    if (!counted) continue;
    over = vote.decide(totals);
    if (over) break;
    contribute = vote.contribute(agents_);
    cast();
  }
  leave();
}

/// One message of each neighbour at most: with more, links would move towards a fast neighbour
/// several times for every step of their own.
void AsyncRun::hear() {
  const double began = options_.seconds();
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k)
    if (receive_from(k)) unpack(k);
  report_.exchange_seconds += options_.seconds() - began;
}

void AsyncRun::work() {
  ++turn_;
  const double began = options_.seconds();
  workers_->for_each(agents_.size(), [&](std::size_t i) {
    agents_[i]->activate({.round = turn_, .local_steps = work_loads_[i]}, workers_->workspace());
  });
  if (options_.slowness > 1) options_.pause((options_.slowness - 1) * (options_.seconds() - began));
  report_.compute_seconds += options_.seconds() - began;
  report_.activations += agents_.size();
}

void AsyncRun::tell() {
  const double began = options_.seconds();
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k) {
    int heard = 0;
    MPI_Test(&sent_[k], &heard, MPI_STATUS_IGNORE);
    if (!heard) {
      const auto& side = links_.outgoing;
      for (std::size_t l = side.first[k]; l < side.first[k + 1]; ++l)
        agent(side.links[l].from).not_sent(side.links[l].slot_at_sender);
      continue;
    }
    pack(k);
    // Synchronous: complete when the receiver has taken it.
    MPI_Issend(sending_[k].data(), static_cast<int>(sending_[k].size()), MPI_DOUBLE,
               links_.neighbours[k], newest_tag, messages_, &sent_[k]);
  }
  for (const InnerLink& link : inner_)
    agents_[link.receiver]->receive(link.slot_at_receiver,
                                    agents_[link.sender]->message_to(link.slot_at_sender));
  for (const auto& each : agents_) each->end_round();
  report_.exchange_seconds += options_.seconds() - began;
}

void AsyncRun::pack(std::size_t neighbour) {
  std::vector<double>& words = sending_[neighbour];
  words.clear();
  const auto& side = links_.outgoing;
  for (std::size_t l = side.first[neighbour]; l < side.first[neighbour + 1]; ++l) {
    const Message message = agent(side.links[l].from).message_to(side.links[l].slot_at_sender);
    words.push_back(std::bit_cast<double>(message.sequence));
    words.push_back(std::bit_cast<double>(static_cast<std::uint64_t>(message.payload.size())));
    words.insert(words.end(), message.payload.begin(), message.payload.end());
    ++report_.vectors_sent;
  }
  report_.bytes_sent += words.size() * sizeof(double);
}

bool AsyncRun::receive_from(std::size_t neighbour) {
  int waiting = 0, size = 0;
  MPI_Status status;
  const int from = links_.neighbours[neighbour];
  MPI_Iprobe(from, newest_tag, messages_, &waiting, &status);
  if (!waiting) return false;
  MPI_Get_count(&status, MPI_DOUBLE, &size);
  received_.resize(static_cast<std::size_t>(size));
  MPI_Recv(received_.data(), size, MPI_DOUBLE, from, newest_tag, messages_, MPI_STATUS_IGNORE);
  return true;
}

void AsyncRun::unpack(std::size_t neighbour) {
  const double* words = received_.data();
  const auto& side = links_.incoming;
  for (std::size_t l = side.first[neighbour]; l < side.first[neighbour + 1]; ++l) {
    const auto length = static_cast<std::size_t>(std::bit_cast<std::uint64_t>(words[1]));
    agent(side.links[l].to)
        .receive(side.links[l].slot_at_receiver,
                 Message{.from = side.links[l].from,
                         .sequence = std::bit_cast<std::uint64_t>(words[0]),
                         .payload = {words + header_words, length}});
    words += header_words + length;
  }
}

/// The others may leave later: takes what still comes, unread, until everyone's messages are taken.
void AsyncRun::leave() {
  const double began = options_.seconds();
  MPI_Request everyone = MPI_REQUEST_NULL;
  for (int all_here = 0, taken = 0; !all_here;) {
    for (std::size_t k = 0; k < links_.neighbours.size(); ++k) receive_from(k);
    if (!taken) {
      MPI_Testall(static_cast<int>(sent_.size()), sent_.data(), &taken, MPI_STATUSES_IGNORE);
      if (taken) MPI_Ibarrier(ballots_, &everyone);
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
