#include "grove/peer/privacy_ledger.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "grove/base/file.h"
#include "grove/sums/privacy.h"

namespace grove::peer {
namespace {

constexpr const char* ledger_format = "grove-privacy/1";

}  // namespace

PrivacyLedger::PrivacyLedger(std::filesystem::path file, const PrivacyChoice& promise)
    : file_(std::move(file)),
      promise_(promise),
      agreed_(std::pow(mu_of({promise.epsilon, promise.delta}), 2)) {}

Result<PrivacyLedger> PrivacyLedger::open(const std::filesystem::path& folder,
                                          const PrivacyChoice& promise, bool continues) {
  PrivacyLedger ledger(folder / "privacy.json", promise);
  std::error_code ignored;
  if (!std::filesystem::exists(ledger.file_, ignored)) {
    if (continues)
      return Error{ledger.file_.string(),
                   "missing, though there is a checkpoint; expected the account of what was spent"};
    if (Status status = ledger.keep(); !status) return status.error();
    return ledger;
  }
  const auto text = read_file(ledger.file_);
  if (!text) return text.error();
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  const Error damaged{ledger.file_.string(),
                      "damaged; expected the account of what was spent, format grove-privacy/1"};
  if (!json.is_object() || json.value("format", "") != ledger_format) return damaged;
  const auto spent = json.find("spent_mu_squared"), answers = json.find("answers");
  if (spent == json.end() || !spent->is_number() || answers == json.end() ||
      !answers->is_number_unsigned())
    return damaged;
  ledger.spent_ = spent->get<double>();
  ledger.answers_ = answers->get<std::uint64_t>();
  if (!(ledger.spent_ >= 0) || !std::isfinite(ledger.spent_)) return damaged;
  return ledger;
}

bool PrivacyLedger::allows(double mu_squared) const {
  constexpr double rounding = 1e-9;  // of the sum over all steps
  return spent_ + mu_squared <= agreed_ * (1 + rounding);
}

double PrivacyLedger::spent_epsilon() const {
  return spent_ > 0 ? epsilon_of(std::sqrt(spent_), promise_.delta) : 0;
}

bool PrivacyLedger::spend(double mu_squared) {
  if (!(mu_squared > 0) || !allows(mu_squared)) return false;
  spent_ += mu_squared;
  ++answers_;
  return static_cast<bool>(keep());
}

Status PrivacyLedger::keep() const {
  const nlohmann::json json = {{"format", ledger_format},
                               {"spent_mu_squared", spent_},
                               {"answers", answers_},
                               {"delta", promise_.delta},
                               {"spent_epsilon", spent_epsilon()}};
  return write_file_atomically(file_, json.dump(1) + "\n");
}

}  // namespace grove::peer
