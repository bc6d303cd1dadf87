#include "grove/network/random_graph.h"

#include <algorithm>
#include <cmath>

namespace grove {
namespace {

struct Point {
  double x = 0;
  double y = 0;
};

/// A square grid of cells no narrower than the radius: neighbours are in the same or an adjoining
/// cell. No finer than about one point per cell, which is all that a tiny radius could use.
class CellList {
 public:
  CellList(const std::vector<Point>& points, double radius)
      : side_(static_cast<int>(
            std::clamp(1 / radius, 1.0, std::ceil(std::sqrt(static_cast<double>(points.size())))))),
        members_(static_cast<std::size_t>(side_) * static_cast<std::size_t>(side_)) {
    for (std::uint32_t k = 0; k < points.size(); ++k)
      members_[cell(coordinate(points[k].x), coordinate(points[k].y))].push_back(k);
  }

  /// Calls visit(k) for every point k in the 3 x 3 cells around `point`.
  template <class Visit>
  void around(const Point& point, Visit visit) const {
    const int column = coordinate(point.x), row = coordinate(point.y);
    for (int y = std::max(row - 1, 0); y <= std::min(row + 1, side_ - 1); ++y)
      for (int x = std::max(column - 1, 0); x <= std::min(column + 1, side_ - 1); ++x)
        for (const std::uint32_t k : members_[cell(x, y)]) visit(k);
  }

 private:
  int coordinate(double position) const {
    return std::min(static_cast<int>(position * side_), side_ - 1);
  }
  std::size_t cell(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(side_) +
           static_cast<std::size_t>(x);
  }

  int side_;  ///< cells along one side
  std::vector<std::vector<std::uint32_t>> members_;
};

}  // namespace

std::vector<Edge> erdos_renyi_edges(std::size_t agents, double probability, KeyedRandom& random) {
  assert(probability > 0 && probability <= 1);
  std::vector<Edge> edges;
  // Batagelj and Brandes (2005): the pairs (first < second) in order of `second`; the number of
  // pairs skipped between two edges is geometrically distributed, so only edges cost time.
  const double log_absent = std::log1p(-probability);  // -inf for probability 1: nothing is skipped
  const double pairs = 0.5 * static_cast<double>(agents) * (static_cast<double>(agents) - 1);
  std::uint64_t first = 0, second = 1;
  while (true) {
    const double skipped = std::floor(std::log1p(-random.uniform()) / log_absent);
    if (skipped >= pairs) return edges;
    first += static_cast<std::uint64_t>(skipped);
    while (first >= second && second < agents) first -= second++;
    if (second >= agents) return edges;
    edges.emplace_back(AgentId{static_cast<std::uint32_t>(first)},
                       AgentId{static_cast<std::uint32_t>(second)});
    ++first;
  }
}

std::vector<Edge> geometric_edges(std::size_t agents, double radius, KeyedRandom& random) {
  assert(radius > 0);
  std::vector<Point> points(agents);
  for (Point& point : points) {
    point.x = random.uniform();
    point.y = random.uniform();
  }
  const CellList cells(points, radius);
  std::vector<Edge> edges;
  for (std::uint32_t second = 0; second < agents; ++second) {
    cells.around(points[second], [&](std::uint32_t first) {
      const double dx = points[first].x - points[second].x, dy = points[first].y - points[second].y;
      if (first < second && dx * dx + dy * dy < radius * radius)
        edges.emplace_back(AgentId{first}, AgentId{second});
    });
  }
  return edges;
}

}  // namespace grove
