#include "grove/view/live.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "grove/view/runs.h"

namespace grove {
namespace {

using nlohmann::json;

std::string line_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::uint64_t round_of(const LiveRuns::Row& row) {
  if (const auto* point = std::get_if<TracePoint>(&row)) return point->round;
  return std::get<json>(row).at("round").get<std::uint64_t>();
}

json json_of(const std::vector<LiveRuns::Row>& rows) {
  json result = json::array();
  for (const LiveRuns::Row& row : rows) {
    if (const auto* point = std::get_if<TracePoint>(&row))
      result.push_back(to_json(*point));
    else
      result.push_back(std::get<json>(row));
  }
  return result;
}

/// The keys of `trace` that change from round to round.
void add_latest(const AgentTrace& trace, json& to) {
  json changing = to_json(trace);
  for (const char* key : {"frames", "bytes", "lost"})
    if (changing.contains(key)) to[key] = std::move(changing[key]);
}

void thin(std::vector<LiveRuns::Row>& rows) {
  std::vector<LiveRuns::Row> kept;
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (k % 2 == 0 || k + 1 == rows.size()) kept.push_back(std::move(rows[k]));
  rows = std::move(kept);
}

}  // namespace

LiveRuns::LiveRuns(json runs) { end(std::move(runs)); }

void LiveRuns::changed() {
  ++version_;
  news_.notify_all();
}

void LiveRuns::begin(const std::string& name, json record) {
  const std::lock_guard lock(mutex_);
  pending_.clear();
  next_frame_ = {};
  const auto same = std::ranges::find(runs_, name, &Run::name);
  current_ = static_cast<std::size_t>(same - runs_.begin());
  if (same == runs_.end()) runs_.emplace_back();
  record.erase("estimates");
  runs_[current_] = Run{.name = name, .record = std::move(record)};
  ++epoch_;
  changed();
}

/// Moves the rows to where readers see them. False: a reader is there now.
bool LiveRuns::hand_over() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  if (runs_.empty()) {
    pending_.clear();
    return true;
  }
  std::vector<Row>& rows = runs_[current_].rows;
  std::ranges::move(pending_, std::back_inserter(rows));
  pending_.clear();
  if (rows.size() > most_rows) thin(rows);
  changed();
  return true;
}

void LiveRuns::add_row(Row row) {
  pending_.push_back(std::move(row));
  if (!hand_over() && pending_.size() > most_rows) thin(pending_);
}

void LiveRuns::show_agents(const AgentTrace& trace, bool always) {
  constexpr std::chrono::milliseconds between{50};
  const auto now = std::chrono::steady_clock::now();
  if (trace.frames.empty() || (now < next_frame_ && !always)) return;
  AgentTrace latest{.frames = {trace.frames.back()}, .traffic = trace.traffic};
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || runs_.empty()) return;
  next_frame_ = now + between;
  runs_[current_].latest = std::move(latest);
  changed();
  runs_[current_].frame_version = version_;
}

void LiveRuns::patch(json keys) {
  const std::lock_guard lock(mutex_);
  if (runs_.empty()) return;
  Run& run = runs_[current_];
  run.record.update(keys);
  run.patched = std::move(keys);
  changed();
  run.patched_version = version_;
}

void LiveRuns::complete(json record) {
  const std::lock_guard lock(mutex_);
  pending_.clear();
  if (runs_.empty()) return;
  record.erase("estimates");
  runs_[current_] = Run{.name = runs_[current_].name, .record = std::move(record)};
  ++epoch_;
  changed();
}

void LiveRuns::end(json runs) {
  runs["live"] = false;
  auto text = std::make_shared<const std::string>(line_of(runs));
  const std::lock_guard lock(mutex_);
  pending_.clear();
  runs_.clear();
  ended_ = std::move(text);
  ++epoch_;
  changed();
}

void LiveRuns::end() {
  const std::lock_guard lock(mutex_);
  live_ = false;
  changed();
}

std::string LiveRuns::all() const {
  Place start;
  const auto event = next(start, std::chrono::milliseconds(0));
  return event ? event->data : line_of(no_runs());
}

std::optional<LiveRuns::Event> LiveRuns::next(Place& place,
                                              std::chrono::milliseconds patience) const {
  std::vector<Run> runs;
  std::shared_ptr<const std::string> ended;
  bool whole = false, live = true;
  const std::uint64_t seen = place.version;
  {
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, patience, [&] { return stopped_ || version_ != seen; });
    if (stopped_ || version_ == seen) return std::nullopt;
    whole = place.epoch != epoch_;
    if (whole) place.next.assign(runs_.size(), 0);
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      runs.push_back(news_of(runs_[k], whole, seen, place.next[k]));
      if (!runs.back().rows.empty()) place.next[k] = round_of(runs.back().rows.back()) + 1;
    }
    live = live_;
    ended = ended_;
    place.epoch = epoch_;
    place.version = version_;
  }
  // What follows may take long, and the writer goes on meanwhile.
  if (ended) return Event{"runs", *ended};
  json result = whole ? no_runs() : json{{"runs", json::array()}};
  result["live"] = live;
  for (Run& run : runs) {
    if (!run.rows.empty()) run.record["trace"] = json_of(run.rows);
    if (!run.latest.frames.empty()) add_latest(run.latest, run.record["agent_trace"]);
    result["runs"].push_back({{"name", run.name}, {"record", std::move(run.record)}});
  }
  return Event{whole ? "runs" : "update", line_of(result)};
}

/// All of a run, or what came after the version that was seen.
LiveRuns::Run LiveRuns::news_of(const Run& run, bool whole, std::uint64_t seen,
                                std::uint64_t next_round) {
  Run news{.name = run.name};
  // Rows are in the order of their rounds: from the end to the first that was not read.
  auto from = run.rows.end();
  while (from != run.rows.begin() && round_of(*std::prev(from)) >= next_round) --from;
  news.rows.assign(from, run.rows.end());
  if (whole || run.frame_version > seen) news.latest = run.latest;
  if (whole)
    news.record = run.record;
  else if (run.patched_version > seen)
    news.record = run.patched;
  return news;
}

void LiveRuns::stop_reading() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  news_.notify_all();
}

}  // namespace grove
