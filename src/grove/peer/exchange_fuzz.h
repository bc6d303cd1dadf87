#pragma once

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/logger.h>

#include "grove/peer/link_table.h"
#include "grove/peer/restore_fuzz.h"

namespace grove::peer {

/// Three peers in a line, b - a - c. Where sums are masked, each has keys of its own.
class Line {
 public:
  static constexpr std::array<const char*, 3> names{"a", "b", "c"};

  Line(const char* penalty, const char* method, const char* sums) {
    for (const char* name : names) {
      PeerConfig config;
      config.name = config.holder = name;
      config.members = names.size();
      config.training.data = "synthetic:ijcnn-like,samples=30";
      config.training.l1 = config.training.l2 = 1e-3;
      for (Option& option : options_of(config))
        for (const auto& [key, value] :
             {std::pair("penalty", penalty), std::pair("method", method), std::pair("sums", sums)})
          if (option.name == key && !option.set(value)) std::abort();
      auto loaded = load_problem(config);
      if (!loaded) std::abort();
      problems_.push_back(std::make_unique<PeerProblem>(std::move(*loaded)));
      problems_.back()->prepare_sums(name);
    }
    for (const auto& one : problems_)
      for (std::size_t k = 0; k < names.size() && one->masks; ++k)
        one->masks->set_member(names[k], names[k], problems_[k]->masks->public_key());
  }
  std::unique_ptr<PeerAgent> agent(std::size_t k) const {
    const PeerProblem& problem = *problems_[k];
    auto result = std::make_unique<PeerAgent>(
        problem, names[k], 1, PeerStart{Vector::Zero(problem.objective->dimension()), false});
    if (k != 0) result->add("a");
    for (std::size_t other = 1; k == 0 && other < names.size(); ++other) result->add(names[other]);
    return result;
  }
  LinkShape shape() const { return problems_.front()->link_shape(); }

 private:
  std::vector<std::unique_ptr<PeerProblem>> problems_;
};

/// The table of links of a, whose neighbours are connected.
class LinksOfA {
 public:
  explicit LinksOfA(const LinkShape& shape)
      : table_({.network = "n", .self = "a", .schema = {}, .shape = shape},
               std::make_shared<spdlog::logger>("fuzz")) {
    for (const char* name : {"b", "c"}) {
      table_.add_link(name);
      sessions_[name] = enter(name);
    }
  }
  /// As from the stream: a session that violates the protocol ends, and another one begins.
  void deliver(const std::string& from, const std::string& bytes) {
    v1::Envelope envelope;
    if (envelope.ParseFromString(bytes) && table_.deliver(from, sessions_[from], envelope)) return;
    table_.end_session(from, sessions_[from]);
    sessions_[from] = enter(from);
  }
  LinkTable& table() { return table_; }

 private:
  std::uint64_t enter(const std::string& name) {
    v1::Hello hello;
    hello.set_protocol(protocol_version);
    hello.set_network("n");
    hello.set_from(name);
    hello.set_to("a");
    std::uint64_t session = 0;
    if (table_.admit(hello, session)) std::abort();
    return session;
  }

  LinkTable table_;
  std::map<std::string, std::uint64_t> sessions_;
};

inline std::string message_bytes(const PeerAgent& from, std::size_t slot, const LinkShape& shape) {
  v1::Envelope envelope;
  *envelope.mutable_iterate() = encode(from.message_to(slot), shape, false);
  return envelope.SerializeAsString();
}

/// Each four bytes of `edits` are a round, a position and a new value.
inline void edit_message(std::string& message, unsigned round, unsigned rounds,
                         std::string_view edits) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(edits[k]); };
  for (; edits.size() >= 4; edits.remove_prefix(4))
    if (byte(0) % rounds == round && !message.empty())
      message[(byte(1) + 256u * byte(2)) % message.size()] = edits[3];
}

/// b changes what an honest peer would send to a, in the rounds and places that the edits name. c
/// is honest. Aborts unless a stays usable. The first byte chooses the kind of messages. Returns
/// whether a received something from b. The fuzzer and the tests use it.
inline bool fuzz_exchange(std::string_view bytes) {
  static const std::vector<Line> lines = [] {
    std::vector<Line> result;
    for (const char* penalty : {"0.003", "scalar", "diagonal", "low-rank:2", "full", "sparse"})
      result.emplace_back(penalty, "druid-vl", "open");
    result.emplace_back("auto", "tree-newton", "open");
    result.emplace_back("auto", "tree-newton", "masked");
    return result;
  }();
  constexpr unsigned rounds = 8;
  if (bytes.empty()) return false;
  const Line& line = lines[static_cast<unsigned char>(bytes[0]) % lines.size()];
  const LinkShape shape = line.shape();
  LinksOfA links(shape);
  const auto a = line.agent(0), b = line.agent(1), c = line.agent(2);
  std::size_t received = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    b->activate(0, 1);
    c->activate(0, 1);
    std::string changed = message_bytes(*b, 0, shape);
    edit_message(changed, round, rounds, bytes.substr(1));
    links.deliver("b", changed);
    links.deliver("c", message_bytes(*c, 0, shape));
    links.table().take_iterates([&](const std::string& name, const Message& message) {
      received += name == "b";
      a->receive(name, message);
    });
    a->activate(links.table().newest_received_from_self(), 1);
    require_usable(*a);
    if (std::isnan(a->residual())) std::abort();
    b->receive("a", a->message_to(0));
    c->receive("a", a->message_to(1));
  }
  return received > 0;
}

}  // namespace grove::peer
