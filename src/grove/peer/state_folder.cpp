#include "grove/peer/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "grove/base/file.h"
#include "grove/record/certificate_json.h"
#include "grove/record/model.h"
#include "grove/record/version.h"

namespace grove::peer {

StateFolder::StateFolder(std::filesystem::path folder, CheckpointOwner owner,
                         std::shared_ptr<spdlog::logger> log)
    : folder_(std::move(folder)), owner_(std::move(owner)), log_(std::move(log)) {}

StateFolder::~StateFolder() {
  if (lock_ >= 0) ::close(lock_);
}

Status StateFolder::open() {
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  lock_ = ::open((folder_ / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) != 0)
    return Error{"state", folder_.string() + " is in use by another process"};
  std::filesystem::remove(folder_ / "summary.json", failed);  // of an earlier run
  return success();
}

std::optional<Checkpoint> StateFolder::find() {
  auto found = find_checkpoint(checkpoint_file(), owner_);
  if (!found.error.empty()) log_->warn("{}", found.error);
  return std::move(found.checkpoint);
}

void StateFolder::reject(const std::string& reason) {
  log_->warn("{} {}; set aside as {}", checkpoint_file().string(), reason,
             set_aside(checkpoint_file()));
}

void StateFolder::discard_model() {
  std::error_code ignored;
  std::filesystem::remove(folder_ / "model.json", ignored);
}

bool StateFolder::save(Checkpoint checkpoint) {
  checkpoint.owner = owner_;
  const Status status = write_checkpoint(checkpoint_file(), std::move(checkpoint));
  const std::string now = status ? "" : status.error().text();
  if (now != error_) {
    if (status)
      log_->info("checkpoints can be written again");
    else
      log_->error("no checkpoint: {}; going on without", now);
  }
  error_ = now;
  return error_.empty();
}

Status StateFolder::write_model(const PeerConfig& config, const PeerProblem& problem,
                                const Vector& answer,
                                const std::optional<AnswerCertificate>& certificate) const {
  ObjectiveScratch scratch;
  Model model{
      .version = version,
      .loss = config.training.loss,
      .coefficients = answer.head(problem.features),
      .labels = config.labels,
      .columns = problem.columns,
      .l1 = config.training.l1,
      .l2 = config.training.l2,
      .objective = problem.objective->evaluate(answer, Batch::all(), nullptr, nullptr, scratch) +
                   problem.regularizer.value(answer),
      .certificate = certificate};
  // Without a certificate a peer knows its own part of the objective only.
  if (certificate) model.objective = certificate->objective / certificate->members;
  if (config.training.intercept) model.intercept = answer[problem.features];
  nlohmann::json json = to_json(model);
  // The objective of this site's rows is no private number.
  if (problem.is_private()) json.erase("objective");
  return write_file_atomically(folder_ / "model.json", json.dump(1) + "\n");
}

Status StateFolder::save_fit(const std::string& bytes) const {
  const auto path = folder_ / "fit.bin";
  const int file =
      ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);  // its permissions stay
  if (file >= 0) ::close(file);
  return write_file_atomically(path, bytes);
}

Status StateFolder::write_fit(const PeerConfig& config, const PeerProblem& problem,
                              const Vector& answer,
                              const std::optional<AnswerCertificate>& certificate,
                              const std::optional<Vector>& total) const {
  const AgreedFit& fit = *problem.fit;
  FittedModel model = fitted_model(config.fit, config.training, fit.data, answer, total, fit.null);
  if (certificate) model.objective = certificate->objective / certificate->members;
  model.outcome = certificate ? fmt::format("certified by sums over {:g} members",
                                            static_cast<double>(certificate->members))
                              : "ended without a certificate";
  nlohmann::json json = to_json(model);
  if (certificate) json["certificate"] = to_json(*certificate);
  return write_file_atomically(folder_ / "model.json", json.dump(1) + "\n");
}

Status StateFolder::write_contributions(const v1::AnswerAudit& audit) const {
  return write_file_atomically(folder_ / "contributions.bin", audit.SerializeAsString());
}

Status StateFolder::write_summary(const nlohmann::json& summary) const {
  return write_file_atomically(folder_ / "summary.json", summary.dump(1) + "\n");
}

}  // namespace grove::peer
