#include "grove/coupling/curvature_links.h"

#include "grove/coupling/curvature_broadcast_links.h"
#include "grove/coupling/curvature_edge_links.h"

namespace grove {
namespace {

void put(ByteWriter& writer, const Curvature& curvature) {
  writer.put(curvature.known());
  if (!curvature.known()) return;
  std::vector<double> words;
  curvature.append_words(words);
  writer.put(std::span<const double>(words));
}

Curvature get(ByteReader& reader, CurvatureForm form, Index dimension) {
  bool known = false;
  reader.get(known);
  if (!known) return {};
  std::vector<double> words(form.words(dimension));
  reader.get(std::span<double>(words));
  auto curvature = Curvature::from_words(form, dimension, words);
  if (curvature && curvature->sound()) return std::move(*curvature);
  reader.fail();
  return {};
}

}  // namespace

LinkWeights::LinkWeights(CurvatureForm form, Index dimension, std::size_t neighbours)
    : form_(form),
      dimension_(dimension),
      theirs_(neighbours),
      means_(neighbours),
      factors_(neighbours) {}

void LinkWeights::set_own(Curvature own) {
  own_ = std::move(own);
  for (std::size_t slot = 0; slot < theirs_.size(); ++slot) update(slot);
}

void LinkWeights::set_theirs(std::size_t slot, Curvature theirs) {
  theirs_[slot] = std::move(theirs);
  update(slot);
}

void LinkWeights::update(std::size_t slot) {
  means_[slot] = works(slot) ? Curvature::mean_of(own_, theirs_[slot]) : Curvature{};
  factors_[slot].reset();
  sum_valid_ = false;
  ++version_;
}

void LinkWeights::add_slot() {
  theirs_.emplace_back();
  means_.emplace_back();
  factors_.emplace_back();
}

void LinkWeights::remove_slot(std::size_t slot) {
  const auto at = static_cast<std::ptrdiff_t>(slot);
  theirs_.erase(theirs_.begin() + at);
  means_.erase(means_.begin() + at);
  factors_.erase(factors_.begin() + at);
  sum_valid_ = false;
  ++version_;
}

std::size_t LinkWeights::working() const {
  std::size_t count = 0;
  for (std::size_t slot = 0; slot < theirs_.size(); ++slot) count += works(slot);
  return count;
}

void LinkWeights::add_product(std::size_t slot, double factor, const Vector& v,
                              Vector& result) const {
  if (means_[slot].known()) return means_[slot].add_product(factor, v, result);
  own_part_.setZero(dimension_);
  own_.add_product(0.5 * factor, v, own_part_);
  their_part_.setZero(dimension_);
  theirs_[slot].add_product(0.5 * factor, v, their_part_);
  result += own_part_ + their_part_;
}

void LinkWeights::add_products(std::size_t slot, const std::array<const Vector*, 2>& vs,
                               const std::array<Vector*, 2>& results) const {
  if (means_[slot].known()) return means_[slot].add_products(vs, results);
  for (std::size_t k = 0; k < vs.size(); ++k) add_product(slot, 1, *vs[k], *results[k]);
}

void LinkWeights::add_weight(std::size_t slot, Matrix& matrix) const {
  if (means_[slot].known()) return means_[slot].add_to(1, matrix);
  own_.add_to(0.5, matrix);
  theirs_[slot].add_to(0.5, matrix);
}

const Matrix& LinkWeights::sum() const {
  if (sum_valid_) return sum_;
  sum_.setZero(dimension_, dimension_);
  for (std::size_t slot = 0; slot < theirs_.size(); ++slot)
    if (works(slot)) add_weight(slot, sum_);
  sum_valid_ = true;
  return sum_;
}

double LinkWeights::displacement(std::size_t slot, const Vector& force) const {
  auto& factor = factors_[slot];
  if (!factor) {
    Matrix weight = Matrix::Zero(dimension_, dimension_);
    add_weight(slot, weight);
    factor.emplace(weight);
  }
  return factor->solve(force).norm();
}

void LinkWeights::save(ByteWriter& writer) const {
  put(writer, own_);
  for (const Curvature& theirs : theirs_) put(writer, theirs);
  writer.put(version_);
}

void LinkWeights::load(ByteReader& reader) {
  own_ = get(reader, form_, dimension_);
  for (std::size_t slot = 0; slot < theirs_.size(); ++slot)
    set_theirs(slot, get(reader, form_, dimension_));
  reader.get(version_);
}

std::unique_ptr<CurvatureLinks> make_curvature_links(LinkKind kind, CurvatureForm form,
                                                     Index dimension, std::size_t neighbours) {
  if (kind == LinkKind::edge)
    return std::make_unique<CurvatureEdgeLinks>(form, dimension, neighbours);
  return std::make_unique<CurvatureBroadcastLinks>(form, dimension, neighbours);
}

}  // namespace grove
