#pragma once

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "grove/peer/certificates.h"
#include "grove/peer/contributions.h"
#include "grove/peer/exchange_fuzz.h"
#include "grove/peer/fit_gossip.h"
#include "grove/record/table_summary_json.h"

namespace grove::peer {

constexpr const char* fuzzed_summary =
    R"({"classes":{"no":30,"yes":20},"dropped":1,"fractions":false,"kinds":{"age":"number",)"
    R"("ward":"text"},"levels":{"ward":{"a":20,"b":30}},"missing":{"age":1},"out_of_unit":false,)"
    R"("response_is_text":true,"rows":50})";

inline FitGossipOptions options_of_member(std::size_t k) {
  MaskKey secret{};
  secret[0] = static_cast<std::uint8_t>(k + 1);
  return {.network = "n",
          .self = Line::names[k],
          .expected = Line::names.size(),
          .process = k + 1,
          .settings = "y ~ x",
          .data = "table",
          .secret = secret};
}

/// One of three members of a fit, with two numbers of its own.
inline std::shared_ptr<FitGossip> fuzzed_member(std::size_t k) {
  auto result = std::make_shared<FitGossip>(options_of_member(k));
  result->set_summary(fuzzed_summary);
  result->begin_sum(Vector::Constant(2, static_cast<double>(k)));
  return result;
}

inline v1::Heartbeat parts_of(const FitGossip& gossip) {
  v1::Heartbeat heartbeat;
  gossip.add_to(heartbeat);
  if (validate(heartbeat)) std::abort();
  return heartbeat;
}

/// A summary of anybody's is refused or usable.
inline void fuzz_summary(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (const auto summary = table_summary_from_json(json, "b"))
    if (summary->sites.size() != 1 || summary->sites.front().name != "b") std::abort();
}

/// b changes its part of a fit, and what it forwards, in the rounds and places that the edits name.
/// a must stay usable, and have the true total where nothing was changed.
inline bool fuzz_fit(std::string_view edits) {
  constexpr unsigned rounds = 4;
  const auto a = fuzzed_member(0), b = fuzzed_member(1), c = fuzzed_member(2);
  bool accepted = false;
  for (unsigned round = 0; round < rounds; ++round) {
    for (const auto& [from, to] : {std::pair(c, b), std::pair(a, b), std::pair(a, c)})
      to->merge(parts_of(*from));
    std::string bytes = parts_of(*b).SerializeAsString();
    edit_message(bytes, round, rounds, edits);
    v1::Heartbeat received;
    if (!received.ParseFromString(bytes) || validate(received)) continue;
    accepted = true;
    a->merge(received);
    c->merge(parts_of(*a));
    const auto summaries = a->summaries();
    if (summaries && summaries->contains("b")) fuzz_summary(summaries->at("b"));
    const auto resumed = resume_gossip(options_of_member(0), a->save());
    if (resumed->members() > a->members() + 1) std::abort();
  }
  const auto total = a->total(0);
  if (edits.size() < 4 && !(total && (*total)[0] == 3 && (*total)[1] == 3)) std::abort();
  return accepted;
}

/// b signs whatever bytes the edits make of its contribution. Only gradients of the dimension with
/// finite numbers are kept.
inline bool fuzz_contribution(std::string_view edits) {
  static const CertifiedKey authority = *make_authority("n");
  static const CertifiedKey of_a = *certify(authority, "a"), of_b = *certify(authority, "b");
  static Signer a({authority.certificate, of_a.certificate, of_a.key}, "n", "a");
  static Signer b({authority.certificate, of_b.certificate, of_b.key}, "n", "b");
  v1::Contribution honest;
  honest.set_name("b");
  honest.set_run("r");
  for (const double number : {1.0, -2.0, 0.5}) honest.add_gradient(number);
  std::string bytes = honest.SerializeAsString();
  edit_message(bytes, 0, 1, edits);
  v1::Contribution changed;
  if (!changed.ParseFromString(bytes)) return false;
  v1::Heartbeat heartbeat;
  *heartbeat.add_contributions() = b.sign_contribution(changed);
  Contributions contributions(a, "a", 3);
  contributions.merge(heartbeat, "r");
  if (contributions.entries().empty()) return false;
  contributions.set_own("r", Vector::Constant(3, -0.1));
  v1::AnswerAudit audit = make_audit("n", "r", Vector::Zero(3), {.l1 = 0.1}, 1);
  for (const char* name : {"a", "b"}) audit.add_members(name);
  for (v1::SignedMember& entry : contributions.entries()) *audit.add_entries() = std::move(entry);
  const auto report = check_contributions(audit, authority.certificate);
  if (!report || !std::isfinite(report->residual) || !report->missing.empty()) std::abort();
  return true;
}

/// Gossip beside the members' entries. The first byte chooses the kind, the rest are edits. Returns
/// whether anything of b was accepted. The fuzzer and the tests use it.
inline bool fuzz_gossip(std::string_view bytes) {
  if (bytes.empty()) return false;
  return bytes[0] % 2 == 0 ? fuzz_fit(bytes.substr(1)) : fuzz_contribution(bytes.substr(1));
}

}  // namespace grove::peer
