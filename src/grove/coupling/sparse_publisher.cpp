#include "grove/coupling/sparse_publisher.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>

#include "grove/coupling/publishing.h"
#include "grove/problem/symmetric.h"

namespace grove {
namespace {

using namespace publishing;

/// By which share blocks shrink off the diagonal, in the first publications: early Hessians are
/// far from those at the optimum.
constexpr std::array<double, 3> shrinkage{0.03, 0.01, 0.003};
constexpr double stable_support = 0.1;             ///< share of non-zeros that may change in a step
constexpr std::uint64_t earliest = 2, latest = 8;  ///< activation of the first block
constexpr double new_support = 0.02;               ///< share that calls for a new block
constexpr std::uint64_t longest_silence = 4;       ///< activations between looks without news

std::vector<std::uint32_t> nonzeros(const Vector& x) {
  std::vector<std::uint32_t> result;
  for (Index k = 0; k < x.size(); ++k)
    if (x[k] != 0) result.push_back(static_cast<std::uint32_t>(k));
  return result;
}

/// Root of the mean square of what is not zero; 1 where all is.
double usual_size(const Vector& x) {
  const auto count = (x.array() != 0).count();
  return count == 0 ? 1 : std::sqrt(x.squaredNorm() / static_cast<double>(count));
}

/// The packed lower triangle of a weight's block on those of the coordinates that it has.
template <class Visit>
void visit_block(const SparseWeight& weight, const std::vector<std::uint32_t>& on,
                 const Visit& visit) {
  std::vector<Index> within;
  for (const std::uint32_t k : weight.support()) {
    const auto at = std::ranges::lower_bound(on, k);
    within.push_back(at != on.end() && *at == k ? at - on.begin() : -1);
  }
  const float* number = weight.block().data();
  for (std::size_t column = 0; column < within.size(); ++column)
    for (std::size_t row = column; row < within.size(); ++row, ++number)
      if (within[column] >= 0 && within[row] >= 0)
        visit(within[row], within[column], static_cast<double>(*number));
}

/// The whole matrix of a weight on some coordinates, lower triangle.
void add_weight_on(const SparseWeight& weight, const std::vector<std::uint32_t>& on, double factor,
                   Matrix& lower) {
  for (Index k = 0; k < std::ssize(on); ++k)
    lower(k, k) += factor * weight.coded(on[static_cast<std::size_t>(k)]);
  visit_block(weight, on,
              [&](Index row, Index column, double value) { lower(row, column) += factor * value; });
}

}  // namespace

double SparsePublisher::scale(const SparseWeightInputs& inputs) const {
  const double degree = static_cast<double>(std::max<std::size_t>(1, inputs.links.neighbours()));
  return balancing_.factor() * 2 /
         (degree * std::sin(std::numbers::pi / std::max(2.0, inputs.network_depth)));
}

bool SparsePublisher::shares_block(const SparseWeightInputs& inputs) const {
  return own_ == PublishedHessian::full ||
         (own_ == PublishedHessian::blended && inputs.links.established() >= 2);
}

bool SparsePublisher::observe_step(const Vector& step, double network_depth, SparseLinks& links) {
  if (!balance_residuals_) return false;
  balancing_.add_step(links.squared_step(step));
  const auto residual = links.squared_residual();
  return residual && balancing_.observe(*residual, network_depth);
}

/// The agent's non-zeros, then those that most neighbours have in their blocks.
std::vector<std::uint32_t> SparsePublisher::support_of(const SparseWeightInputs& inputs) const {
  const std::size_t most = SparseWeight::largest_support(inputs.x.size());
  std::map<std::uint32_t, std::size_t> votes;
  for (const std::uint32_t k : nonzeros(inputs.x)) votes[k] += inputs.links.neighbours();
  for (std::size_t slot = 0; slot < inputs.links.neighbours(); ++slot)
    for (const std::uint32_t k : inputs.links.neighbour(slot).support()) ++votes[k];
  std::vector<std::pair<std::size_t, std::uint32_t>> ranked;
  for (const auto& [k, count] : votes) ranked.emplace_back(count, k);
  std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) { return a.first > b.first; });
  ranked.resize(std::min(ranked.size(), most));
  std::vector<std::uint32_t> result;
  for (const auto& [count, k] : ranked) result.push_back(k);
  std::ranges::sort(result);
  return result;
}

SparsePublisher::Candidate SparsePublisher::make(const SparseWeightInputs& inputs,
                                                 bool block) const {
  const Vector &h = inputs.hessian_diagonal, &x = inputs.x;
  const Regularizer& r = inputs.regularizer;
  const auto seen = (h.array() > 0).count();
  const double usual = seen > 0 ? h.sum() / static_cast<double>(seen) : 1;
  const double at_zero = l1_zero_weight / usual_size(x);
  const double factor = scale(inputs);
  Candidate result;
  result.diagonal.resize(x.size());
  for (Index k = 0; k < x.size(); ++k) {
    const double l1 = k < r.regularized && x[k] == 0 ? r.l1_at(k) : 0;
    result.diagonal[k] = factor * (h[k] + ridge_share * (h[k] > 0 ? h[k] : usual) + at_zero * l1);
  }
  if (block) {
    result.support = support_of(inputs);
    inputs.hessian_on(result.support, result.block);
    const std::size_t stage = std::min<std::size_t>(blocks_, shrinkage.size() - 1);
    result.block *= factor * (1 - shrinkage[stage]);
  }
  blend(inputs, result);
  return result;
}

/// With the mean of the neighbours' weights; on the support with that of those that have blocks.
void SparsePublisher::blend(const SparseWeightInputs& inputs, Candidate& own) const {
  const SparseLinks& links = inputs.links;
  std::vector<const SparseWeight*> known, with_block;
  for (std::size_t slot = 0; slot < links.neighbours(); ++slot) {
    const SparseWeight& weight = links.neighbour(slot);
    if (!weight.known()) continue;
    known.push_back(&weight);
    if (!weight.support().empty()) with_block.push_back(&weight);
  }
  if (known.empty()) return;
  const Vector unblended = own.diagonal;
  const double share = publishing::blend / static_cast<double>(known.size());
  for (Index k = 0; k < own.diagonal.size(); ++k) {
    double sum = 0;
    for (const SparseWeight* weight : known) sum += weight->coded(k);
    own.diagonal[k] = (1 - publishing::blend) * own.diagonal[k] + share * sum;
  }
  if (own.support.empty()) return;
  // Where the agent has no data, its Hessian is that of l2. Such a weight lets coefficients that l1
  // has just released move far (docs/measurements/wide.md).
  const double without_data = inputs.hessian_diagonal.minCoeff();
  for (const std::uint32_t k : own.support)
    if (inputs.hessian_diagonal[k] > without_data || !with_block.empty())
      own.diagonal[k] = unblended[k];
  if (with_block.empty()) return;
  own.block *= 1 - publishing::blend;
  Matrix others = Matrix::Zero(own.block.rows(), own.block.cols());
  for (const SparseWeight* weight : with_block) add_weight_on(*weight, own.support, 1, others);
  const double part = publishing::blend / static_cast<double>(with_block.size());
  for (Index k = 0; k < others.rows(); ++k) {
    double& entry = own.diagonal[own.support[static_cast<std::size_t>(k)]];
    entry = (1 - publishing::blend) * entry + part * others(k, k);
  }
  own.block += part * others;
}

/// Whether the present block differs from the published one by more than the limit.
bool SparsePublisher::has_drifted(const SparseWeightInputs& inputs) const {
  const Candidate now = make(inputs, true);
  const SparseWeight& published = inputs.links.own();
  std::vector<std::uint32_t> common;
  std::ranges::set_intersection(now.support, published.support(), std::back_inserter(common));
  if (static_cast<double>(now.support.size() - common.size()) >
      new_support * static_cast<double>(now.support.size()))
    return true;
  const auto size = std::ssize(common);
  Matrix before = Matrix::Zero(size, size), after(size, size), difference;
  add_weight_on(published, common, 1, before);
  std::vector<Index> at;
  for (const std::uint32_t k : common)
    at.push_back(std::ranges::lower_bound(now.support, k) - now.support.begin());
  for (Index column = 0; column < size; ++column)
    for (Index row = column; row < size; ++row)
      after(row, column) = row == column ? now.diagonal[common[static_cast<std::size_t>(row)]]
                                         : now.block(at[static_cast<std::size_t>(row)],
                                                     at[static_cast<std::size_t>(column)]);
  const double limit =
      first_drift_limit * std::max(1.0, static_cast<double>(blocks_) / usual_refreshes);
  combine_lower(limit, before, -1, after, difference);
  if (!factorize_cholesky(difference)) return true;
  combine_lower(limit, after, -1, before, difference);
  return !factorize_cholesky(difference);
}

bool SparsePublisher::due(const SparseWeightInputs& inputs) {
  ++activations_;
  const std::vector<std::uint32_t> support = nonzeros(inputs.x);
  std::vector<std::uint32_t> changed;
  std::ranges::set_symmetric_difference(support, last_support_, std::back_inserter(changed));
  last_support_ = support;
  if (new_epoch_ || scale(inputs) > scale_limit * published_scale_) return true;
  if (times_published_ == 1) return inputs.links.established() > 0;  // the first blend
  if (!shares_block(inputs))
    return std::has_single_bit(activations_) && activations_ <= 32;  // few: the coupling is exact
  if (blocks_ == 0)
    return activations_ >= latest ||
           (activations_ > earliest &&
            static_cast<double>(changed.size()) <=
                stable_support * static_cast<double>(std::max<std::size_t>(1, support.size())));
  if (activations_ < first_block_at_ + blocks_ * (blocks_ + 1)) return false;
  if (blocks_ < shrinkage.size()) return true;
  if (!neighbour_changed_ && activations_ % longest_silence != 0) return false;
  neighbour_changed_ = false;
  return has_drifted(inputs);
}

SparseWeight SparsePublisher::next(const SparseWeightInputs& inputs) {
  const bool block =
      times_published_ >= 2 && shares_block(inputs) && (blocks_ > 0 || activations_ > earliest);
  Candidate own = make(inputs, block);
  if (const double mean = own.diagonal.mean(); mean > largest_) {
    own.diagonal *= largest_ / mean;
    own.block *= largest_ / mean;
  }
  ++times_published_;
  published_scale_ = scale(inputs);
  new_epoch_ = false;
  if (block && blocks_++ == 0) first_block_at_ = activations_;
  return SparseWeight(own.diagonal, std::move(own.support), own.block);
}

void SparsePublisher::save(ByteWriter& writer) const {
  writer.put(balancing_);
  writer.put(activations_);
  writer.put(first_block_at_);
  writer.put(blocks_);
  writer.put(times_published_);
  writer.put(published_scale_);
  writer.put(neighbour_changed_);
  writer.put(new_epoch_);
  writer.put(last_support_.size());
  for (const std::uint32_t k : last_support_) writer.put(k);
}

void SparsePublisher::load(ByteReader& reader) {
  reader.get(balancing_);
  reader.get(activations_);
  reader.get(first_block_at_);
  reader.get(blocks_);
  reader.get(times_published_);
  reader.get(published_scale_);
  reader.get(neighbour_changed_);
  reader.get(new_epoch_);
  std::size_t size = 0;
  reader.get(size);
  last_support_.clear();
  for (std::size_t k = 0; k < size && reader.ok(); ++k) reader.get(last_support_.emplace_back());
}

}  // namespace grove
