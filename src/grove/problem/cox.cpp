#include "grove/problem/cox.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <vector>

namespace grove {
namespace {

/// sum w e^eta of some rows, with the sums of x and xx' under the same weights.
struct RiskSums {
  double zero = 0;
  Vector first;
  Matrix second;  ///< lower triangle

  RiskSums(Index dimension, bool gradient, bool hessian)
      : first(Vector::Zero(gradient ? dimension : 0)),
        second(Matrix::Zero(hessian ? dimension : 0, hessian ? dimension : 0)) {}

  template <class Row>
  void add(const Row& row, double risk) {
    zero += risk;
    if (first.size() > 0) first += risk * row.transpose();
    if (second.size() > 0) second.selfadjointView<Eigen::Lower>().rankUpdate(row.transpose(), risk);
  }
  void clear() {
    zero = 0;
    first.setZero();
    second.setZero();
  }
};

class CoxObjective final : public Objective {
 public:
  CoxObjective(const Design& design, Ties ties, const SiteTerms& terms)
      : ties_(ties), terms_(terms) {
    const auto& rows = std::get<DenseRows>(design.samples.features);
    std::vector<Index> order(static_cast<std::size_t>(rows.rows()));
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, std::greater<>{},
                             [&](Index row) { return design.samples.targets[row]; });
    const Index count = rows.rows();
    rows_.resize(count, rows.cols());
    times_.resize(count);
    events_.resize(count);
    weights_.resize(count);
    offsets_.resize(count);
    for (Index k = 0; k < count; ++k) {
      const Index row = order[static_cast<std::size_t>(k)];
      rows_.row(k) = rows.row(row);
      times_[k] = design.samples.targets[row];
      events_[k] = design.events[row];
      weights_[k] = design.weight(row);
      offsets_[k] = design.offset(row);
    }
  }

  Index dimension() const override { return rows_.cols(); }
  Index samples() const override { return rows_.rows(); }

  double evaluate(const Vector& x, Batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch&) const override {
    const double scale = terms_.scale / static_cast<double>(samples());
    Vector slopes;  // the Hessian needs the means that the gradient has
    const double value =
        -scale * log_likelihood(x, hessian && !gradient ? &slopes : gradient, hessian);
    const double penalty = terms_.scale * terms_.l2;
    if (gradient) *gradient = *gradient * -scale + penalty * x;
    if (hessian) {
      *hessian = Matrix(hessian->selfadjointView<Eigen::Lower>()) * scale;
      hessian->diagonal().array() += penalty;
    }
    return value + 0.5 * penalty * x.squaredNorm();
  }

  /// The Hessian itself: risk sets share rows.
  Index second_derivative_count(Batch) const override { return dimension() * dimension(); }

  double evaluate_second_derivatives(const Vector& x, Batch batch, Vector* gradient,
                                     std::span<double> numbers,
                                     ObjectiveScratch& scratch) const override {
    const double value = evaluate(x, batch, gradient, &scratch.part_hessian, scratch);
    Eigen::Map<Matrix>(numbers.data(), dimension(), dimension()) = scratch.part_hessian;
    return value;
  }

  void weighted_hessian_times(std::span<const double> numbers, Batch, const Vector& direction,
                              Vector& result, ObjectiveScratch&) const override {
    result = Eigen::Map<const Matrix>(numbers.data(), dimension(), dimension()) * direction;
  }

  /// A covariance over a risk set is at most the largest squared distance from any point.
  bool penalizes() const override { return terms_.l2 > 0; }
  double smoothness() const override {
    const Eigen::RowVectorXd center = rows_.colwise().mean();
    const double radius = (rows_.rowwise() - center).rowwise().squaredNorm().maxCoeff();
    const double events = events_.cwiseProduct(weights_).sum();
    return terms_.scale * (events / static_cast<double>(samples()) * radius + terms_.l2);
  }

  /// Fills the gradient of the logarithm, and the lower triangle of minus its Hessian.
  double log_likelihood(const Vector& x, Vector* gradient, Matrix* hessian) const {
    Vector eta = rows_ * x + offsets_;
    const double most = eta.size() > 0 ? eta.maxCoeff() : 0;
    const Vector risks = weights_.array() * (eta.array() - most).exp();
    RiskSums at_risk(dimension(), gradient, hessian), dying = at_risk;
    if (gradient) gradient->setZero(dimension());
    if (hessian) hessian->setZero(dimension(), dimension());
    double total = 0;
    for (Index begin = 0; begin < samples();) {
      Index end = begin;
      double deaths = 0, death_weight = 0;
      dying.clear();
      for (; end < samples() && times_[end] == times_[begin]; ++end) {
        at_risk.add(rows_.row(end), risks[end]);
        if (events_[end] == 0 || weights_[end] == 0) continue;
        ++deaths;
        death_weight += weights_[end];
        dying.add(rows_.row(end), risks[end]);
        total += weights_[end] * eta[end];
        if (gradient) *gradient += weights_[end] * rows_.row(end).transpose();
      }
      if (deaths > 0)
        total -= add_risk_set(at_risk, dying, deaths, death_weight, most, gradient, hessian);
      begin = end;
    }
    return total;
  }

 private:
  /// Efron takes the l-th of m events from a risk set without l/m of those that die.
  double add_risk_set(const RiskSums& at_risk, const RiskSums& dying, double deaths,
                      double death_weight, double most, Vector* gradient, Matrix* hessian) const {
    double total = 0;
    const int steps = ties_ == Ties::efron ? static_cast<int>(deaths) : 1;
    const double weight = death_weight / steps;
    for (int step = 0; step < steps; ++step) {
      const double share = step / deaths;
      const double zero = at_risk.zero - share * dying.zero;
      total += weight * (std::log(zero) + most);
      if (!gradient) continue;
      const Vector mean = (at_risk.first - share * dying.first) / zero;
      *gradient -= weight * mean;
      if (!hessian) continue;
      hessian->triangularView<Eigen::Lower>() +=
          (weight / zero) * (at_risk.second - share * dying.second);
      hessian->selfadjointView<Eigen::Lower>().rankUpdate(mean, -weight);
    }
    return total;
  }

  DenseRows rows_;  ///< by falling time
  Vector times_, events_, weights_, offsets_;
  Ties ties_;
  SiteTerms terms_;
};

}  // namespace

std::unique_ptr<const Objective> make_cox_objective(const Design& design, Ties ties,
                                                    const SiteTerms& terms) {
  return std::make_unique<CoxObjective>(design, ties, terms);
}

double cox_log_likelihood(const Design& design, Ties ties, const Vector& x) {
  return CoxObjective(design, ties, {}).log_likelihood(x, nullptr, nullptr);
}

}  // namespace grove
