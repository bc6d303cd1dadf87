#include "grove/coupling/weight_table.h"

#include <cassert>

namespace grove {
namespace {

void put(ByteWriter& writer, const LinkWeight& weight) {
  writer.put(weight.known());
  if (weight.known()) writer.put(weight.numbers());
}

LinkWeight get(ByteReader& reader, LinkWeightForm form, Index dimension) {
  bool known = false;
  reader.get(known);
  if (!known) return {};
  std::vector<float> numbers(form.numbers(dimension));
  reader.get(std::span<float>(numbers));
  auto weight = LinkWeight::from_numbers(form, dimension, numbers);
  if (weight && weight->is_positive_definite()) return std::move(*weight);
  reader.fail();
  return {};
}

}  // namespace

WeightTable::WeightTable(const LinkWeighting& weighting, Index dimension, std::size_t neighbours)
    : dimension_(dimension), neighbours_(neighbours), means_(neighbours), factors_(neighbours) {
  if (const auto* penalty = std::get_if<FixedPenalty>(&weighting)) fixed_ = penalty->mu;
  if (const auto* form = std::get_if<LinkWeightForm>(&weighting)) form_ = *form;
}

void WeightTable::set_own(LinkWeight own) {
  own_ = std::move(own);
  for (std::size_t slot = 0; slot < neighbours_.size(); ++slot) update(slot);
}

void WeightTable::set_neighbour(std::size_t slot, LinkWeight weight) {
  neighbours_[slot] = std::move(weight);
  update(slot);
}

void WeightTable::update(std::size_t slot) {
  means_[slot] = established(slot) ? LinkWeight::mean_of(own_, neighbours_[slot]) : LinkWeight{};
  factors_[slot].reset();
  invalidate_sum();
}

void WeightTable::invalidate_sum() {
  sum_valid_ = false;
  ++version_;
}

void WeightTable::add_link() {
  neighbours_.emplace_back();
  means_.emplace_back();
  factors_.emplace_back();
}

void WeightTable::remove_link(std::size_t slot) {
  const auto at = static_cast<std::ptrdiff_t>(slot);
  neighbours_.erase(neighbours_.begin() + at);
  means_.erase(means_.begin() + at);
  factors_.erase(factors_.begin() + at);
  invalidate_sum();
}

std::size_t WeightTable::established() const {
  std::size_t count = 0;
  for (std::size_t slot = 0; slot < neighbours_.size(); ++slot) count += established(slot);
  return count;
}

void WeightTable::add_product(std::size_t slot, double factor, const Vector& v,
                              Vector& result) const {
  if (fixed_) {
    result += (factor * *fixed_) * v;
    return;
  }
  if (means_[slot].known()) return means_[slot].add_product(factor, v, result);
  own_part_.setZero(dimension_);
  own_.add_product(0.5 * factor, v, own_part_);
  neighbour_part_.setZero(dimension_);
  neighbours_[slot].add_product(0.5 * factor, v, neighbour_part_);
  result += own_part_ + neighbour_part_;
}

void WeightTable::add_products(std::size_t slot, const std::array<const Vector*, 2>& vs,
                               const std::array<Vector*, 2>& results) const {
  if (means_[slot].known()) return means_[slot].add_products(vs, results);
  for (std::size_t k = 0; k < vs.size(); ++k) add_product(slot, 1, *vs[k], *results[k]);
}

bool WeightTable::is_diagonal() const {
  return form_.shape == LinkWeightShape::scalar || form_.shape == LinkWeightShape::diagonal;
}

void WeightTable::add_weight(std::size_t slot, Matrix& matrix) const {
  if (means_[slot].known()) return means_[slot].add_to(1, matrix);
  own_.add_to(0.5, matrix);
  neighbours_[slot].add_to(0.5, matrix);
}

void WeightTable::compute_sum() const {
  if (sum_valid_) return;
  sum_diagonal_.setZero(dimension_);
  if (!is_diagonal()) sum_.setZero(dimension_, dimension_);
  for (std::size_t slot = 0; slot < neighbours_.size(); ++slot) {
    if (!established(slot)) continue;
    if (is_diagonal())
      means_[slot].add_to_diagonal(1, sum_diagonal_);
    else
      add_weight(slot, sum_);
  }
  if (!is_diagonal()) sum_diagonal_ = sum_.diagonal();
  sum_valid_ = true;
}

QuadraticTerm WeightTable::sum() const {
  if (fixed_) return {.scalar = *fixed_ * static_cast<double>(neighbours_.size())};
  compute_sum();
  if (is_diagonal()) return {.diagonal = &sum_diagonal_, .version = version_};
  return {.matrix = &sum_, .version = version_};
}

const Vector& WeightTable::sum_diagonal() const {
  assert(!fixed_);
  compute_sum();
  return sum_diagonal_;
}

double WeightTable::inverse_norm(std::size_t slot, const Vector& v) const {
  if (fixed_) return v.norm() / *fixed_;
  auto& factor = factors_[slot];
  if (!factor) {
    Matrix weight = Matrix::Zero(dimension_, dimension_);
    add_weight(slot, weight);
    factor.emplace(weight);
  }
  return factor->solve(v).norm();
}

void WeightTable::save(ByteWriter& writer) const {
  if (fixed_) return;
  put(writer, own_);
  for (const LinkWeight& weight : neighbours_) put(writer, weight);
  writer.put(version_);
}

void WeightTable::load(ByteReader& reader) {
  if (fixed_) return;
  own_ = get(reader, form_, dimension_);
  for (std::size_t slot = 0; slot < neighbours_.size(); ++slot)
    set_neighbour(slot, get(reader, form_, dimension_));
  reader.get(version_);
}

}  // namespace grove
