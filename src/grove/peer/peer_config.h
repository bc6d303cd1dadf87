#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/samples.h"
#include "grove/methods/certified_agent.h"
#include "grove/methods/druid.h"
#include "grove/methods/private_newton.h"
#include "grove/methods/tree_newton.h"
#include "grove/peer/disclosure.h"
#include "grove/peer/influence.h"
#include "grove/peer/mask_directory.h"
#include "grove/peer/wire.h"
#include "grove/setup/config.h"
#include "grove/train/fit.h"

namespace grove::peer {

class Acceptances;

struct NeighbourAddress {
  std::string name;
  std::string address;  ///< host:port; empty: it connects to this peer, which cannot reach it
};

enum class LogFormat { text, json };

/// --log-format, which is also a key of peer.toml.
Option log_format_option(LogFormat& target, const std::string& group);

/// Whether a method with links stops only after exact sums at its answer, and who sees these.
enum class Certify {
  automatic,  ///< masked among three members or more, off among two
  masked,     ///< totals only
  open,       ///< parents see sums of subtrees
  off
};

/// The contents of peer.toml. options_of() describes the keys and their ranges.
struct PeerConfig {
  std::string network = "grove";
  std::string name;
  std::string listen;
  std::vector<NeighbourAddress> neighbours;
  std::uint64_t members = 0;  ///< 0 stands for this peer and its neighbours
  std::string holder;
  bool join = false;
  bool accept_new = false;

  Config training;  ///< problem, data and method; the keys of `grove train`
  std::uint64_t features = 0;
  std::optional<LabelNames> labels;
  double scale = 1;
  InfluenceSettings influence;
  FitOptions fit;  ///< what `grove fit` fits; without a formula the peer trains on numbers

  std::string ca, certificate, key;
  bool insecure = false;

  std::string state = "state";
  double checkpoint_seconds = 5;
  double forget_seconds = 600;
  double linger_seconds = 30;
  bool stay = false;  ///< serves the answer until it is asked to stop
  double contact_seconds = 2;
  double wait_timeout_seconds = 0.02;
  double heartbeat_seconds = 0.2;
  std::string metrics;
  LogFormat log_format = LogFormat::text;
  bool float32 = false;

  DisclosureRules disclosure;
  std::string audit;           ///< file for a log of all messages that were sent; empty: none
  bool contributions = false;  ///< members publish their signed gradients at the answer
  Certify certify = Certify::automatic;

  std::shared_ptr<Acceptances> acceptances;  ///< of the study that is computed; null: of none

  double fault_loss = 0;
  double fault_delay_seconds = 0;
};

inline bool fits_formula(const PeerConfig& config) { return !config.fit.formula.empty(); }

/// Without `automatic`. A fit, whose answer has to be certified, is so among two members, too.
Certify settled_certify(const PeerConfig& config);

Method usual_fit_method(const Config& training);

/// The keys of peer.toml, bound to `config`, which must outlive them.
std::vector<Option> options_of(PeerConfig& config);

/// HOST:PORT. The host is required, because some libraries listen on all addresses without it.
bool is_address(std::string_view text);

/// What no key can see alone: settings of problem and method that exclude each other; and those,
/// names, addresses and files of a peer. Errors begin with the key.
Status check_terms(const PeerConfig& config);
Status check(const PeerConfig& config);

/// Settings that every peer has that fits a formula.
inline void prepare_fit(PeerConfig& config) {
  config.training.weighting = Weighting::sample;
  config.training.no_reference = true;
}

/// Reads and validates peer.toml. File names in it are relative to its folder.
Result<PeerConfig> read_peer_config(const std::filesystem::path& path);

/// A table in numbers, as all members agreed, and the model without terms.
struct AgreedFit {
  FitData data;
  NullFit null;
};

/// The part of the problem that one peer has, from its own data.
struct PeerProblem {
  std::shared_ptr<const Objective> objective;
  Regularizer regularizer;  ///< r, at every peer
  /// DRUID with edge coupling.
  std::variant<DruidOptions, TreeNewtonOptions, PrivateNewtonOptions> method;
  int work = 1;                             ///< E_i; the first one with `work = auto`
  bool measures_work = false;               ///< E_i follows measured times (`work = auto`)
  Index features = 0;                       ///< without the intercept
  std::uint64_t rows = 0;                   ///< of this peer's data
  Schema schema = {};                       ///< settings that must be equal at all peers
  std::string data = {};                    ///< digest of this peer's data and their weight
  std::optional<ColumnNames> columns = {};  ///< in the order of the coefficients
  std::optional<DisclosureViolation> forbidden = {};  ///< of an enforced rule
  std::optional<InfluenceBound> influence = {};       ///< as the members agreed; none: no bound

  std::vector<std::string> notes = {};        ///< on what was chosen automatically
  std::shared_ptr<MaskDirectory> masks = {};  ///< null unless sums are masked

  /// Sums over a tree with which a method with links certifies its answer; none where the Hessian
  /// is too large or r is not separable.
  std::optional<CertifiedAgentOptions> certified = {};

  std::shared_ptr<const AgreedFit> fit = {};  ///< null: no formula
  Vector start = {};                          ///< of the coefficients; empty: zeros

  Vector start_point() const;  ///< of a peer that knows nothing of the answer
  bool sums_over_tree() const { return !std::holds_alternative<DruidOptions>(method); }
  /// The answer has noise: nothing certifies it, and what this peer alone knows of it is secret.
  bool is_private() const { return std::holds_alternative<PrivateNewtonOptions>(method); }
  /// The network certifies its answer before it stops.
  bool certifies() const { return sums_over_tree() || certified; }
  bool shares_regularizer() const;  ///< every peer applies a share of r; there is no holder
  LinkShape link_shape() const;
  /// Gives the sums their keys, and the digest of the data that this peer announces.
  void prepare_sums(const std::string& announced_data);
};
Result<PeerProblem> load_problem(PeerConfig& config);

/// The same where the members have agreed on a fit.
Result<PeerProblem> fit_problem(PeerConfig& config, AgreedFit agreed);
/// What a site's rules forbid before anything of its table is sent.
std::optional<DisclosureViolation> find_fit_violation(const PeerConfig& config, const Table& table);

}  // namespace grove::peer
