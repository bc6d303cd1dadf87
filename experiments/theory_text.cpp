#include <algorithm>
#include <cmath>

#include "experiments/theory_probe.h"

namespace grove::experiments {
namespace {

std::string range_text(const std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  return low == high ? fmt::format("{:.4g}", low) : fmt::format("{:.4g} to {:.4g}", low, high);
}

std::string rate_text(const Rate& rate, double least_participation) {
  return fmt::format("eta = {:.4g}, contraction 1 - eta p_min / (1 + eta) = {:.10g}", rate.eta,
                     rate.contraction(least_participation));
}

std::string constants_text(const TheoryReport& report) {
  const TheoremSetting& setting = report.setting;
  std::string text = "constants\n";
  const auto line = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<28}{}\n", name, value);
  };
  line("m_f, M_f (along the run)",
       fmt::format("{:.4g}, {:.4g}   (everywhere: {:.4g}, {:.4g})", setting.strong_convexity,
                   setting.smoothness, report.strong_convexity_everywhere,
                   report.smoothness_everywhere));
  line("sigma+_min, sigma_max(L_u)",
       fmt::format("{:.4g}, {:.4g}", setting.anchored_min, setting.unsigned_max));
  line("mu_z, mu_theta",
       fmt::format("{:.4g}, {}", setting.penalty,
                   setting.theta_penalty ? fmt::format("{:.4g}", *setting.theta_penalty)
                                         : "none: there is no regularizer"));
  if (report.penalty_chosen)
    line("",
         "--penalty auto: the mean Hessian diagonal at the start / (4 x the mean degree); the "
         "theorem needs a scalar, whereas train may use matrix-weighted links");
  line("M", fmt::format("{:.4g}", report.model_smoothness));
  line("eps_i", range_text(setting.prox));
  line("c_i^E_i (worst observed)", range_text(setting.remaining));
  line("tau_i(E_i)", range_text(report.tau));
  line("zeta between", fmt::format("{:.4g} and {:.4g}{}", report.zeta.low, report.zeta.high,
                                   report.zeta.empty() ? "   (empty)" : ""));
  return text;
}

std::string why_no_corollary(const TheoryReport& report) {
  if (!report.coupled || !report.all_worked || report.setting.strong_convexity == 0)
    return "for the same reason as Theorem 1";
  if (std::ranges::max(report.setting.remaining) >= 1)
    return "it needs local work that brings every agent closer to its sub-problem's solution";
  return "its eps_i raises M, and with it tau_i, beyond any eps_i that would do";
}

std::string bounds_text(const TheoryReport& report) {
  std::string text = "bounds\n";
  if (report.rate) {
    text += fmt::format("  Theorem 1, at zeta = {:.4g}: {}\n", report.rate->zeta,
                        rate_text(*report.rate, report.least_participation));
    for (const RateTerm& term : report.rate->terms)
      text += fmt::format("    {:<34}eta <= {:.4g}{}\n", term.meaning, term.bound,
                          term.bound == report.rate->eta ? "   <- decides" : "");
    if (report.printed)
      text += fmt::format("  Theorem 1 as printed: eta = {:.4g}\n", report.printed->eta);
  } else {
    text += "  Theorem 1: no rate (see below)\n";
  }
  if (report.tuned)
    text += fmt::format("  Corollary 1, at zeta = {:.4g}: eps_i = {}, {}\n",
                        report.tuned->rate.zeta, range_text(report.tuned->prox),
                        rate_text(report.tuned->rate, report.least_participation));
  else
    text += fmt::format("  Corollary 1: no rate; {}\n", why_no_corollary(report));
  text +=
      fmt::format("  linearized local model: guaranteed stable from eps = {:.4g}; here it is{}\n",
                  report.linearized.needed_prox, report.linearized.guaranteed ? "" : " not");
  return text;
}

std::string observed_text(const TheoryReport& report) {
  if (report.lyapunov.empty()) return "observed\n  no optimum, no Lyapunov function\n";
  if (report.lyapunov.size() == 1) return "observed\n  no round was run\n";
  return fmt::format(
      "observed in {} rounds\n  Lyapunov function: {:.4g} to {:.4g}\n  contraction per round: "
      "worst "
      "{:.10g}, mean {:.10g}\n",
      report.rounds, report.lyapunov.front(), report.lyapunov.back(), report.worst_contraction,
      report.mean_contraction);
}

nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

nlohmann::json numbers(const std::vector<double>& values) {
  nlohmann::json result = nlohmann::json::array();
  for (const double value : values) result.push_back(number(value));
  return result;
}

nlohmann::json rate_json(const Rate& rate, double least_participation) {
  nlohmann::json terms = nlohmann::json::object();
  for (const RateTerm& term : rate.terms) terms[term.meaning] = number(term.bound);
  return {{"zeta", number(rate.zeta)},
          {"eta", number(rate.eta)},
          {"contraction", number(rate.contraction(least_participation))},
          {"terms", terms}};
}

}  // namespace

std::string text_of(const TheoryReport& report) {
  std::string text = constants_text(report) + bounds_text(report) + observed_text(report);
  if (report.violations.empty()) return text + "assumptions: all that can be checked here hold\n";
  text += "assumptions that do not hold, or need a remark\n";
  for (const std::string& violation : report.violations) text += "  - " + violation + "\n";
  return text;
}

nlohmann::json to_json(const TheoryReport& report) {
  const TheoremSetting& setting = report.setting;
  nlohmann::json json = {
      {"format", "grove-theory/1"},
      {"strong_convexity", setting.strong_convexity},
      {"smoothness", setting.smoothness},
      {"smoothness_everywhere", report.smoothness_everywhere},
      {"strong_convexity_everywhere", report.strong_convexity_everywhere},
      {"anchored_min", setting.anchored_min},
      {"unsigned_max", setting.unsigned_max},
      {"penalty", setting.penalty},
      {"penalty_chosen", report.penalty_chosen},
      {"theta_penalty", setting.theta_penalty ? nlohmann::json(*setting.theta_penalty) : nullptr},
      {"model_smoothness", report.model_smoothness},
      {"prox", numbers(setting.prox)},
      {"remaining", numbers(setting.remaining)},
      {"tau", numbers(report.tau)},
      {"work", report.work_loads},
      {"zeta", {number(report.zeta.low), number(report.zeta.high)}},
      {"theorem", nullptr},
      {"printed", nullptr},
      {"corollary", nullptr},
      {"linearized",
       {{"needed_prox", report.linearized.needed_prox},
        {"guaranteed", report.linearized.guaranteed}}},
      {"rounds", report.rounds},
      {"worst_contraction", number(report.worst_contraction)},
      {"mean_contraction", number(report.mean_contraction)},
      {"lyapunov", numbers(report.lyapunov)},
      {"violations", report.violations}};
  const double share = report.least_participation;
  if (report.rate) json["theorem"] = rate_json(*report.rate, share);
  if (report.printed) json["printed"] = rate_json(*report.printed, share);
  if (report.tuned) {
    json["corollary"] = rate_json(report.tuned->rate, share);
    json["corollary"]["prox"] = numbers(report.tuned->prox);
  }
  return json;
}

}  // namespace grove::experiments
