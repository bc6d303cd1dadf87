#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "grove/agent/agent.h"

namespace grove {

/// How an agent of the DRUID family improves its local model in one activation.
enum class LocalSolverKind {
  newton_steps,   ///< E_i Newton steps, on all samples or on batches
  newton_step,    ///< one Newton step
  gradient_step,  ///< one gradient step
  bfgs_step,      ///< one quasi-Newton step
  exact           ///< Newton steps until the sub-problem is solved
};

/// Settings that set-up passes to every agent of a method of its own.
struct AgentParameters {
  double step = 0;           ///< step length a > 0: --step, or 1/L
  bool masked_sums = false;  ///< of a method that sums over a tree
};

/// Makes one agent of a method.
using AgentFactory =
    std::function<std::unique_ptr<Agent>(const AgentParameters& parameters, AgentContext context)>;

/// What a method can and cannot do. Set-up asks these, never the name of a method.
struct MethodTraits {
  bool needs_everyone = true;        ///< refuses partial participation
  bool takes_local_steps = false;    ///< E_i, --work and --local-model matter
  bool samples_batches = false;      ///< --sampling and the batch sizes matter
  bool publishes_weights = false;    ///< links may be weighted by Hessians
  bool only_uses_gradients = false;  ///< its rounds grow with the condition number
  /// Sums over a spanning tree: bears lost and late messages, and takes no step length.
  bool sums_over_tree = false;
};

/// One row of the registry of methods.
struct MethodEntry {
  std::string name;  ///< as --method takes it
  std::string help;  ///< one line
  MethodTraits traits;
  /// A local solver of the DRUID agent, or agents of the method's own. Only the former have links
  /// with penalties, and a copy theta at one agent; the latter are given a step length, mixing
  /// weights and r at every agent.
  std::variant<LocalSolverKind, AgentFactory> agents;
};

/// A registered method: a handle that is copied freely. It borrows its row, which has to outlive
/// every configuration and run that uses it.
class Method {
 public:
  constexpr Method(const MethodEntry& entry) : entry_(&entry) {}

  const std::string& name() const { return entry_->name; }
  const std::string& help() const { return entry_->help; }
  const MethodTraits& traits() const { return entry_->traits; }

  /// The local solver of a method of the DRUID family; null for any other.
  const LocalSolverKind* local_solver() const {
    return std::get_if<LocalSolverKind>(&entry_->agents);
  }
  bool solves_by(LocalSolverKind kind) const { return local_solver() && *local_solver() == kind; }
  /// Makes the agents of a method outside the DRUID family; null for those inside.
  const AgentFactory* factory() const { return std::get_if<AgentFactory>(&entry_->agents); }

  friend bool operator==(const Method&, const Method&) = default;

  static const Method druid_vl, druid_newton, druid_gd, druid_bfgs, exact_admm;
  static const Method pg_extra, p2d2, nids;
  static const Method tree_newton;
  static const Method automatic;  ///< set-up chooses one of the others

 private:
  const MethodEntry* entry_;
};

/// Every method that Grove has, in the order in which it is shown.
std::vector<Method> built_in_methods();

}  // namespace grove
