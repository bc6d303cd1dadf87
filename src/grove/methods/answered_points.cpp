#include "grove/methods/answered_points.h"

#include <span>

#include "grove/sums/hash.h"

namespace grove {
namespace {

/// Of the members and their data.
std::uint64_t hash_of_members(const TreePlan& plan) {
  WordHash hash;
  for (const AgentId member : plan.members) hash.add(member.value);
  hash.add(std::span<const std::uint32_t>(plan.data));
  return hash.value();
}

}  // namespace

std::uint64_t AnsweredPoints::hash_of(const Vector& point) {
  WordHash hash;
  hash.add(std::span<const double>(point.data(), static_cast<std::size_t>(point.size())));
  return hash.value();
}

bool AnsweredPoints::may_answer(std::uint64_t point, const TreePlan& plan) {
  const std::uint64_t members = hash_of_members(plan);
  return members_.try_emplace(point, members).first->second == members;
}

bool AnsweredPoints::was_answered_for_others(const Vector& point, const TreePlan& plan) const {
  const auto found = members_.find(hash_of(point));
  return found != members_.end() && found->second != hash_of_members(plan);
}

void AnsweredPoints::save(ByteWriter& writer) const {
  writer.put(members_.size());
  for (const auto& [point, members] : members_) {
    writer.put(point);
    writer.put(members);
  }
}

void AnsweredPoints::load(ByteReader& reader) {
  std::size_t points = 0;
  reader.get(points);
  members_.clear();
  for (std::size_t k = 0; k < points && reader.ok(); ++k) {
    std::uint64_t point = 0;
    reader.get(point);
    reader.get(members_[point]);
  }
}

}  // namespace grove
