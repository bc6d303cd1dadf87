#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "grove/record/record.h"

namespace grove {

/// What the server shows: runs in the format "grove-view/1", and how they go on. One thread writes,
/// any number of threads read.
///
/// The writer of a run that goes on never waits for a reader: a row that cannot be handed over now
/// is handed over with the next one, and frames between two looks of a reader are dropped. There
/// are at most `most_rows` rows of a run: beyond, every second one is dropped.
class LiveRuns {
 public:
  using Row = std::variant<TracePoint, nlohmann::json>;
  static constexpr std::size_t most_rows = 20'000;

  /// Runs that are over.
  explicit LiveRuns(nlohmann::json runs);
  /// Runs that are still to come, until `end`.
  LiveRuns() = default;

  // For the writer.
  /// A run of this name follows; an earlier one of this name is replaced.
  void begin(const std::string& name, nlohmann::json record);
  void add_row(Row row);
  /// At most every 50 ms is anything done; `always` for what comes rarely.
  void show_agents(const AgentTrace& trace, bool always = false);
  /// Keys of the record of the run that goes on, such as "agents", that changed.
  void patch(nlohmann::json keys);
  /// The run that goes on is over, and this is its record.
  void complete(nlohmann::json record);
  /// All is over, and this is what is left to show. Readers get it, and no more after it.
  void end(nlohmann::json runs);
  /// All is over, and what is shown stays.
  void end();

  // For readers.
  /// Where a reader is.
  struct Place {
    std::uint64_t epoch = 0;          ///< of the list of runs; 0: nothing was read
    std::uint64_t version = 0;        ///< of all that is shown
    std::vector<std::uint64_t> next;  ///< by run: the rows before this round were read
  };
  /// All of it, as "grove-view/1" with the key "live".
  std::string all() const;
  /// What came after `place`, which moves on: the name of an event and its JSON in one line.
  /// Nothing: nothing came for so long, or `stop_reading`.
  struct Event {
    std::string name, data;
  };
  std::optional<Event> next(Place& place, std::chrono::milliseconds patience) const;
  void stop_reading();

 private:
  struct Run {
    std::string name;
    nlohmann::json record;  ///< without what follows
    std::vector<Row> rows;
    AgentTrace latest;  ///< without links, one frame
    nlohmann::json patched;
    std::uint64_t patched_version = 0, frame_version = 0;
  };

  bool hand_over();
  void changed();
  static Run news_of(const Run& run, bool whole, std::uint64_t seen, std::uint64_t next_round);

  mutable std::mutex mutex_;
  mutable std::condition_variable news_;
  std::vector<Run> runs_;
  std::size_t current_ = 0;
  std::uint64_t epoch_ = 1, version_ = 1;
  std::shared_ptr<const std::string> ended_;  ///< all that is shown, when it is over
  bool live_ = true, stopped_ = false;

  // Only the writer's.
  std::vector<Row> pending_;
  std::chrono::steady_clock::time_point next_frame_{};
};

}  // namespace grove
