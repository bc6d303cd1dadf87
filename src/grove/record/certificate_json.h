#pragma once

#include <nlohmann/json.hpp>

#include "grove/agent/answer_certificate.h"

namespace grove {

/// The members of "certificate" in records, models and states of peers.
inline nlohmann::json to_json(const AnswerCertificate& certificate) {
  return {{"objective", certificate.objective},
          {"residual", certificate.residual},
          {"newton_decrement", certificate.decrement},
          {"gap_estimate", certificate.gap_estimate()},
          {"relative_step", certificate.relative_step},
          {"rows", certificate.rows},
          {"value_at_zero", certificate.value_at_zero},
          {"members", certificate.members},
          {"gap_bound", certificate.gap_bound < AnswerCertificate::unknown
                            ? nlohmann::json(certificate.gap_bound)
                            : nlohmann::json()}};
}

inline AnswerCertificate certificate_from(const nlohmann::json& json) {
  return {.objective = json.at("objective"),
          .residual = json.at("residual"),
          .decrement = json.at("newton_decrement"),
          .relative_step = json.at("relative_step"),
          .rows = json.at("rows"),
          .value_at_zero = json.at("value_at_zero"),
          .members = json.at("members"),
          .gap_bound = json.contains("gap_bound") && json.at("gap_bound").is_number()
                           ? json.at("gap_bound").get<double>()
                           : AnswerCertificate::unknown};
}

}  // namespace grove
