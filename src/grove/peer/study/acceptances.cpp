#include "grove/peer/study/acceptances.h"

#include <algorithm>

#include <fmt/format.h>

#include "grove/base/file.h"

namespace grove::peer {
namespace {

constexpr std::size_t shown_digits = 16;

const Acceptance* of_member(const Study& study, const std::string& name) {
  const auto found = std::ranges::find(study.acceptances, name, &Acceptance::member);
  return found == study.acceptances.end() ? nullptr : &*found;
}

}  // namespace

Acceptances::Acceptances(Study study, std::string self, std::string kept)
    : study_(std::move(study)),
      self_(std::move(self)),
      kept_(std::move(kept)),
      digest_(study_.digest()) {
  const auto before = read_study(kept_);
  if (!before || merge(study_, *before)) keep();
}

/// What this peer learned must survive its restart. Without the file it only waits for longer.
void Acceptances::keep() const {
  [[maybe_unused]] const Status written = write_file_atomically(kept_, study_.text());
}

std::string Acceptances::study_id() const {
  return fmt::format("{} version {} ({})", study_.name, study_.version,
                     digest_.substr(0, shown_digits));
}

v1::Acceptance Acceptances::own() const {
  const std::lock_guard lock(mutex_);
  v1::Acceptance result;
  if (const Acceptance* one = of_member(study_, self_)) {
    result.set_time(one->time);
    result.set_data(one->data);
    result.set_rows(one->rows);
    result.set_signature(one->signature);
  }
  return result;
}

void Acceptances::add(const std::string& member, const v1::Member& entry) {
  if (!entry.has_acceptance()) return;
  const v1::Acceptance& given = entry.acceptance();
  const Acceptance received{member, given.time(), given.data(), given.rows(), given.signature()};
  const std::lock_guard lock(mutex_);
  const Acceptance* known = of_member(study_, member);
  if (known != nullptr && *known == received) return;
  if (!check_acceptance(digest_, received, study_.members)) return;
  Study other = study_;
  other.acceptances = {received};
  if (merge(study_, other)) keep();
}

std::vector<std::string> Acceptances::waiting() const {
  const std::lock_guard lock(mutex_);
  return study_.waiting();
}

double Acceptances::scale() const {
  const std::lock_guard lock(mutex_);
  const Acceptance* own = of_member(study_, self_);
  if (!study_.waiting().empty() || own == nullptr || own->rows == 0) return 1;
  double rows = 0;
  for (const Acceptance& one : study_.acceptances) rows += static_cast<double>(one.rows);
  return static_cast<double>(study_.members.size()) * static_cast<double>(own->rows) / rows;
}

}  // namespace grove::peer
