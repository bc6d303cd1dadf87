// The end of a peer: checkpoints, the decision to end, the results; and the status until then.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <spdlog/logger.h>

#include "grove/peer/clock.h"
#include "grove/peer/peer_loop.h"

namespace grove::peer {
namespace {

std::string phase_name(v1::Member::Phase phase) {
  constexpr std::array names{"working", "calm", "ready", "done", "left"};
  return names[static_cast<std::size_t>(phase)];
}

/// The factor of the last such event.
double links_raised(std::span<const AgentEvent> events) {
  double factor = 1;
  for (const AgentEvent& event : events)
    if (event.kind == AgentEvent::Kind::raised_links) factor = event.value;
  return factor;
}

}  // namespace

void PeerLoop::save(double now) {
  Checkpoint checkpoint = agent_->checkpoint();
  checkpoint.phase = saved_phase(members_.phase());
  checkpoint.run = members_.run();
  checkpoint.members = members_.live(now);
  checkpoint.residual = agent_->residual();
  for (std::size_t slot = 0; slot < checkpoint.neighbours.size(); ++slot)
    checkpoint.proofs[slot] = links_.proof_of(checkpoint.neighbours[slot]);
  if (folder_.save(std::move(checkpoint))) saved_at_ = now;
  last_save_ = now;
  save_fit();
}

/// The sums that this peer holds, from which it writes its table if it starts again when the others
/// have ended.
void PeerLoop::save_fit() {
  if (!fit_ || fit_->held() == fit_saved_) return;
  if (const Status status = folder_.save_fit(fit_->save()); status)
    fit_saved_ = fit_->held();
  else
    hooks_.log->error("fit.bin is not written: {}", status.error().text());
}

void PeerLoop::decide_end(double now) {
  outcome_ =
      ending_->decide({.now = now,
                       .asked_to_stop = asked_to_stop(),
                       .duplicate = members_.is_duplicate(),
                       .phase = members_.phase(),
                       .everyone_stopped = may_end(now),
                       .complete = members_.missing(now).empty() && members_.unseen(now) == 0,
                       .alone = members_.live(now).size() == 1,
                       .last_unfinished = members_.last_unfinished(now),
                       .last_heard = members_.last_heard(now),
                       .round_trip = round_trip_,
                       .run = members_.run()});
}

Result<PeerEnd> PeerLoop::finish() {
  const double now = monotonic_seconds();
  PeerEnd end{*outcome_, members_.missing(now), members_.unseen(now)};
  end.again = weights_changed() && !hooks_.interrupted();
  end = again_if_asked(std::move(end));
  if (violation_) {
    end.rule = violation_->rule;
    end.detail = violation_->detail;
  }
  const bool agreed =
      end.outcome == PeerOutcome::converged || end.outcome == PeerOutcome::converged_without;
  // The answer of the agreement, unless the newest one is as good.
  // What the inference was summed at is the answer of a fit.
  const bool newest = !agreed || (!fit_ && agent_->residual() <= config_.training.tolerance &&
                                  certificate().has_value() == agreed_certificate_.has_value());
  const Vector answer = newest ? agent_->answer() : agreed_answer_;
  const std::optional<AnswerCertificate> certified = newest ? certificate() : agreed_certificate_;
  if (end.outcome != PeerOutcome::duplicate) newest ? save(now) : save_fit();
  update_status(now);
  metrics_.reset();
  links_.close();
  connections_.close();
  if (!newest) status_.residual = agreed_residual_;
  status_.certificate = certified;
  hooks_.log->info("ended outcome={} activations={} residual={:.3g}{}", name_of(end.outcome),
                   agent_->activations(), status_.residual,
                   agreed || end.outcome == PeerOutcome::peer_lost
                       ? fmt::format(" without=\"{}\"", missing_text(end))
                       : "");
  write_results(end, answer, certified);
  return end;
}

PeerEnd PeerLoop::again_if_asked(PeerEnd end) const {
  const std::lock_guard lock(status_mutex_);
  if (end.outcome != PeerOutcome::stopped || hooks_.interrupted() || !next_) return end;
  end.again = true;
  end.next = next_;
  return end;
}

/// A peer that stays writes its answer at each agreement.
void PeerLoop::write_agreement(double now) {
  PeerEnd end{PeerOutcome::converged, members_.missing(now), members_.unseen(now)};
  if (!end.without.empty() || end.unseen > 0) end.outcome = PeerOutcome::converged_without;
  write_results(end, agreed_answer_, agreed_certificate_);
  hooks_.log->info("staying outcome={}", name_of(end.outcome));
}

void PeerLoop::write_results(PeerEnd& end, const Vector& answer,
                             const std::optional<AnswerCertificate>& certificate) {
  nlohmann::json summary = to_json(status_);
  summary["outcome"] = name_of(end.outcome);
  if (ledger_)
    summary["privacy"] = {{"delta", config_.training.dp.meaning()->delta},
                          {"agreed_epsilon", config_.training.dp.meaning()->epsilon},
                          {"spent_epsilon", ledger_->spent_epsilon()}};
  summary["without"] = end.without;
  summary["unseen"] = end.unseen;
  if (contributions_ &&
      (end.outcome == PeerOutcome::converged || end.outcome == PeerOutcome::converged_without))
    if (const Status written = write_contributions(summary, answer); !written)
      hooks_.log->error("no contributions: {}", written.error().text());
  Status status = success();
  if (has_model(end.outcome))
    status = fit_ ? write_fit(answer, certificate)
                  : folder_.write_model(config_, problem_, answer, certificate);
  if (status) status = folder_.write_summary(summary);
  if (status) return;
  hooks_.log->error("no model: {}", status.error().text());
  end.outcome = PeerOutcome::unsaved;
}

/// The model of a fit. Without the sums of the inference, because the peer was stopped or the
/// others are gone, it has coefficients alone.
Status PeerLoop::write_fit(const Vector& answer,
                           const std::optional<AnswerCertificate>& certificate) const {
  std::optional<Vector> total = fit_->last_total();
  // Masks that did not cancel leave noise: the number of rows, the first of the sums, shows it.
  const auto rows = static_cast<double>(problem_.fit->data.moments.rows);
  if (total && ((*total)[0] != rows)) {
    hooks_.log->error(
        "the sums of the inference do not count the {} rows of all members; the model "
        "has coefficients alone",
        rows);
    total.reset();
  }
  return folder_.write_fit(config_, problem_, answer, certificate, total);
}

/// What the members contributed to the answer: as a file with their signatures, in the summary, and
/// in the log if something is wrong.
Status PeerLoop::write_contributions(nlohmann::json& summary, const Vector& answer) {
  const auto& bound = problem_.influence;
  v1::AnswerAudit audit =
      make_audit(config_.network, members_.run(), answer, problem_.regularizer,
                 bound ? bound->member.length + bound->member.ridge * answer.norm()
                       : std::numeric_limits<double>::infinity());
  for (const std::string& name : members_.live(monotonic_seconds())) audit.add_members(name);
  for (v1::SignedMember& entry : contributions_->entries()) *audit.add_entries() = std::move(entry);
  const auto report = check_contributions(audit, connections_.authority());
  if (!report) return report.error();
  summary["contributions"] = to_json(*report);
  if (!report->sum_vanishes() || report->any_beyond_bound())
    hooks_.log->warn("contributions: {}", summary["contributions"].dump());
  return folder_.write_contributions(audit);
}

void PeerLoop::update_status(double now) {
  PeerStatus current{.name = config_.name,
                     .phase = phase_name(members_.phase()),
                     .activations = agent_->activations(),
                     .below_tolerance_since = below_tolerance_since_,
                     .residual = agent_->residual(),
                     .certificate = certificate(),
                     .network_residual = members_.worst_residual(now),
                     .members = members_.count(now),
                     .holder = members_.holder(now),
                     .run = members_.run(),
                     .waiting_for = waiting_,
                     .work = pace_.choice().steps,
                     .work_reason = pace_.choice().reason,
                     .links_raised = links_raised(agent_->events()),
                     .epoch = epoch_of(agent_->sequence()),
                     .seconds = now - started_,
                     .checkpoint_age = saved_at_ < 0 ? -1 : now - saved_at_,
                     .checkpoint_error = folder_.error(),
                     .certificate_seconds = connections_.certificate_seconds(),
                     .links = links_.statuses(),
                     .strangers_rejected = links_.strangers_rejected()};
  const std::lock_guard lock(status_mutex_);
  status_ = std::move(current);
}

PeerStatus PeerLoop::status() const {
  const std::lock_guard lock(status_mutex_);
  return status_;
}

}  // namespace grove::peer
