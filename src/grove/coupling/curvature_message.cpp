#include "grove/coupling/curvature_message.h"

#include <array>
#include <bit>

namespace grove {

std::optional<CurvatureMessage> CurvatureMessage::read(std::span<const double> payload,
                                                       Index dimension) {
  if (payload.size() < header) return std::nullopt;
  CurvatureMessage result{.version = std::bit_cast<Version>(payload[0]),
                          .of_yours = std::bit_cast<Version>(payload[1])};
  const auto digests = std::bit_cast<std::array<std::uint32_t, 2>>(payload[2]);
  result.digest = digests[0];
  result.digest_of_yours = digests[1];
  payload = payload.subspan(header);
  const std::size_t numbers = result.of_yours == none ? 0 : static_cast<std::size_t>(dimension);
  if (payload.size() < numbers) return std::nullopt;
  result.vector = payload.first(numbers);
  result.curvature = payload.subspan(numbers);
  return result;
}

void CurvatureMessage::append_to(std::vector<double>& payload) const {
  payload.push_back(std::bit_cast<double>(version));
  payload.push_back(std::bit_cast<double>(of_yours));
  payload.push_back(std::bit_cast<double>(std::array{digest, digest_of_yours}));
  payload.insert(payload.end(), vector.begin(), vector.end());
  payload.insert(payload.end(), curvature.begin(), curvature.end());
}

}  // namespace grove
