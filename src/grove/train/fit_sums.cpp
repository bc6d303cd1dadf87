#include "grove/train/fit_sums.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "grove/record/table_summary_json.h"
#include "grove/runtime/cluster.h"

namespace grove {
namespace {

/// Of exp(offset): larger ones only set the start of a run.
constexpr double largest_log_exposure = 100;

Vector first_moments(const Design& design) {
  const auto& features = std::get<DenseRows>(design.samples.features);
  Vector sums = Vector::Zero(4 + features.cols());
  sums[0] = static_cast<double>(design.samples.count());
  for (Index row = 0; row < features.rows(); ++row) {
    const double weight = design.weight(row);
    if (weight == 0) continue;
    sums[1] += weight;
    sums[2] += weight * design.samples.targets[row];
    sums[3] += weight * std::exp(std::min(design.offset(row), largest_log_exposure));
    sums.tail(features.cols()) += weight * features.row(row).transpose();
  }
  return sums;
}

Vector second_moments(const Design& design, const Vector& mean) {
  const auto& features = std::get<DenseRows>(design.samples.features);
  Vector sums = Vector::Zero(features.cols());
  for (Index row = 0; row < features.rows(); ++row)
    sums += design.weight(row) * (features.row(row).transpose() - mean).cwiseAbs2();
  return sums;
}

constexpr std::size_t scalar_count = 10;

template <class Sums>
auto scalars_of(Sums& sums) {
  return std::array{&sums.rows,    &sums.rows_with_weight, &sums.weight,     &sums.deviance,
                    &sums.pearson, &sums.log_likelihood,   &sums.log_weight, &sums.log_response,
                    &sums.ratio,   &sums.log_mean};
}

constexpr Index triangle_size(Index size) { return size * (size + 1) / 2; }

}  // namespace

FitExchange local_exchange() {
  return {.unite = [](std::vector<TableSummary> own) -> Result<std::vector<TableSummary>> {
            return own;
          },
          .sum = sum_in_order};
}

FitExchange cluster_exchange(Cluster& cluster) {
  const auto unite =
      [&cluster](std::vector<TableSummary> own) -> Result<std::vector<TableSummary>> {
    nlohmann::json here = nlohmann::json::array();
    for (const TableSummary& one : own) here.push_back(to_json(one));
    std::vector<TableSummary> all;
    for (int rank = 0; rank < cluster.size(); ++rank) {
      std::string bytes = rank == cluster.rank() ? here.dump() : std::string();
      cluster.broadcast(bytes, rank);
      for (const nlohmann::json& one : nlohmann::json::parse(bytes)) {
        auto summary = table_summary_from_json(one, one.at("site").get<std::string>());
        if (!summary) return summary.error();
        all.push_back(std::move(*summary));
      }
    }
    return all;
  };
  const auto sum = [&cluster](const std::vector<Vector>& own) {
    Vector total = Vector::Zero(own.front().size());
    cluster.ordered_sum({total.data(), static_cast<std::size_t>(total.size())}, [&] {
      for (const Vector& part : own) total += part;
    });
    return total;
  };
  const auto agree = [&cluster](const Status& own) { return first_error(cluster, own); };
  return {.unite = unite, .sum = sum, .agree = agree};
}

Vector sum_in_order(const std::vector<Vector>& parts) {
  Vector total = parts.front();
  for (std::size_t k = 1; k < parts.size(); ++k) total += parts[k];
  return total;
}

DesignMoments network_moments(const std::vector<Design>& designs, const FitExchange& exchange) {
  std::vector<Vector> first, second;
  for (const Design& design : designs) first.push_back(first_moments(design));
  const Vector sums = exchange.sum(first);
  DesignMoments moments{.rows = static_cast<Index>(sums[0]), .weight = sums[1]};
  moments.exposure = sums[3];
  moments.response_mean = sums[2] / sums[1];
  moments.mean = sums.tail(sums.size() - 4) / sums[1];
  for (const Design& design : designs) second.push_back(second_moments(design, moments.mean));
  moments.squares = exchange.sum(second);
  return moments;
}

Vector pack_triangle(const Matrix& matrix) {
  Vector numbers(triangle_size(matrix.rows()));
  Index next = 0;
  for (Index j = 0; j < matrix.cols(); ++j)
    for (Index i = j; i < matrix.rows(); ++i) numbers[next++] = matrix(i, j);
  return numbers;
}

Matrix unpack_triangle(const Vector& numbers, Index size) {
  Matrix matrix(size, size);
  Index next = 0;
  for (Index j = 0; j < size; ++j)
    for (Index i = j; i < size; ++i) matrix(i, j) = matrix(j, i) = numbers[next++];
  return matrix;
}

Vector pack(const InferenceSums& sums) {
  const Vector information = pack_triangle(sums.information),
               products = pack_triangle(sums.score_products);
  Vector numbers(static_cast<Index>(scalar_count) + information.size() + products.size());
  Index next = 0;
  for (const double* scalar : scalars_of(sums)) numbers[next++] = *scalar;
  numbers.tail(information.size() + products.size()) << information, products;
  return numbers;
}

InferenceSums unpack(const Vector& numbers, Index dimension) {
  InferenceSums sums;
  Index next = 0;
  for (double* scalar : scalars_of(sums)) *scalar = numbers[next++];
  const Index size = triangle_size(dimension);
  sums.information = unpack_triangle(numbers.segment(next, size), dimension);
  if (numbers.size() > next + size)
    sums.score_products = unpack_triangle(numbers.tail(size), dimension);
  return sums;
}

Vector pack(const NullSums& sums) {
  Vector numbers(pack(sums.sums).size() + 1);
  numbers << pack(sums.sums), sums.score;
  return numbers;
}

NullSums unpack_null(const Vector& numbers) {
  return {.sums = unpack(numbers.head(numbers.size() - 1), 1),
          .score = numbers[numbers.size() - 1]};
}

}  // namespace grove
