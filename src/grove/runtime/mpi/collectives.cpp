#include "grove/runtime/mpi/collectives.h"

#include <numeric>

namespace grove::mpi {

int rank_in(MPI_Comm processes) {
  int rank = 0;
  MPI_Comm_rank(processes, &rank);
  return rank;
}

int size_of(MPI_Comm processes) {
  int size = 1;
  MPI_Comm_size(processes, &size);
  return size;
}

std::vector<double> gather(MPI_Comm processes, std::span<const double> own) {
  const int count = static_cast<int>(own.size());
  std::vector<int> counts(static_cast<std::size_t>(size_of(processes)));
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, processes);
  std::vector<int> offsets(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
  std::vector<double> all(static_cast<std::size_t>(offsets.back() + counts.back()));
  MPI_Allgatherv(own.data(), count, MPI_DOUBLE, all.data(), counts.data(), offsets.data(),
                 MPI_DOUBLE, processes);
  return all;
}

namespace {

/// Counting 8-byte words instead of bytes, a message may have 16 GiB.
int words_of(const MessageBuffer& buffer) { return static_cast<int>(buffer.size() / 8); }

void take(MPI_Message& matched, const MPI_Status& status, MessageBuffer& buffer) {
  int words = 0;
  MPI_Get_count(&status, MPI_UINT64_T, &words);
  MPI_Mrecv(buffer.receive_into(8 * static_cast<std::size_t>(words)), words, MPI_UINT64_T, &matched,
            MPI_STATUS_IGNORE);
}

}  // namespace

void send(const MessageBuffer& buffer, int to, int tag, MPI_Comm comm, MPI_Request& request) {
  MPI_Isend(buffer.data(), words_of(buffer), MPI_UINT64_T, to, tag, comm, &request);
}

void send_synchronously(const MessageBuffer& buffer, int to, int tag, MPI_Comm comm,
                        MPI_Request& request) {
  MPI_Issend(buffer.data(), words_of(buffer), MPI_UINT64_T, to, tag, comm, &request);
}

void receive(int from, int tag, MPI_Comm comm, MessageBuffer& buffer) {
  MPI_Message matched = MPI_MESSAGE_NULL;
  MPI_Status status;
  MPI_Mprobe(from, tag, comm, &matched, &status);
  take(matched, status, buffer);
}

bool receive_if_any(int from, int tag, MPI_Comm comm, MessageBuffer& buffer) {
  int found = 0;
  MPI_Message matched = MPI_MESSAGE_NULL;
  MPI_Status status;
  MPI_Improbe(from, tag, comm, &found, &matched, &status);
  if (found) take(matched, status, buffer);
  return found != 0;
}

std::vector<std::string> gather_at_first(MPI_Comm processes, const std::vector<std::string>& own) {
  // One string per message: short of two gigabytes each, and nothing but the result in memory.
  constexpr int count_tag = 2, string_tag = 3;
  std::uint64_t count = own.size();
  if (rank_in(processes) != 0) {
    MPI_Send(&count, 1, MPI_UINT64_T, 0, count_tag, processes);
    for (const std::string& bytes : own)
      MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, string_tag, processes);
    return {};
  }
  std::vector<std::string> all = own;
  for (int rank = 1; rank < size_of(processes); ++rank) {
    MPI_Recv(&count, 1, MPI_UINT64_T, rank, count_tag, processes, MPI_STATUS_IGNORE);
    for (std::uint64_t k = 0; k < count; ++k) {
      MPI_Status status;
      int size = 0;
      MPI_Probe(rank, string_tag, processes, &status);
      MPI_Get_count(&status, MPI_BYTE, &size);
      std::string& bytes = all.emplace_back(static_cast<std::size_t>(size), '\0');
      MPI_Recv(bytes.data(), size, MPI_BYTE, rank, string_tag, processes, MPI_STATUS_IGNORE);
    }
  }
  return all;
}

Cost total_cost(MPI_Comm processes, std::span<const std::unique_ptr<Agent>> own) {
  static_assert(sizeof(Cost) % sizeof(std::uint64_t) == 0 && std::is_trivially_copyable_v<Cost>);
  Cost here, total;  // counts alone: any order of adding gives the same
  for (const auto& agent : own) here += agent->cost();
  MPI_Allreduce(&here, &total, sizeof(Cost) / sizeof(std::uint64_t), MPI_UINT64_T, MPI_SUM,
                processes);
  return total;
}

Estimates all_estimates(MPI_Comm processes, std::span<const std::unique_ptr<Agent>> own) {
  const Estimates here = estimates_of(own);
  const Index dimension = here.x.front().size();
  std::vector<double> values, theta;
  for (const Vector& x : here.x) values.insert(values.end(), x.begin(), x.end());
  if (here.theta) theta.assign(here.theta->begin(), here.theta->end());
  values = gather(processes, values);
  theta = gather(processes, theta);  // one process at most has a theta
  Estimates all;
  for (const double* x = values.data(); x < values.data() + values.size(); x += dimension)
    all.x.emplace_back(Eigen::Map<const Vector>(x, dimension));
  if (!theta.empty()) all.theta = Eigen::Map<const Vector>(theta.data(), dimension);
  return all;
}

std::vector<AgentReport> all_reports(MPI_Comm processes,
                                     std::span<const std::unique_ptr<Agent>> own) {
  // Of each agent two counts and its events, three words each; a double holds all counts exactly.
  // Then the numbers of its certificate, after their count.
  std::vector<double> words;
  for (const AgentReport& report : reports_of(own)) {
    words.push_back(static_cast<double>(report.broadcasts));
    words.push_back(static_cast<double>(report.events.size()));
    for (const AgentEvent& event : report.events)
      words.insert(words.end(), {static_cast<double>(event.round), static_cast<double>(event.kind),
                                 event.value});
    words.push_back(report.certificate ? AnswerCertificate::size : 0);
    if (report.certificate)
      for (const double number : report.certificate->numbers()) words.push_back(number);
  }
  words = gather(processes, words);
  std::vector<AgentReport> all;
  for (auto word = words.cbegin(); word != words.cend();) {
    AgentReport& report = all.emplace_back();
    report.broadcasts = static_cast<std::uint64_t>(*word++);
    report.events.resize(static_cast<std::size_t>(*word++));
    for (AgentEvent& event : report.events) {
      event.round = static_cast<Round>(*word++);
      event.kind = static_cast<AgentEvent::Kind>(*word++);
      event.value = *word++;
    }
    if (*word++ > 0) {
      report.certificate = AnswerCertificate::from(
          std::span<const double, AnswerCertificate::size>(&*word, AnswerCertificate::size));
      word += AnswerCertificate::size;
    }
  }
  return all;
}

}  // namespace grove::mpi
