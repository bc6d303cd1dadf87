#include <future>

#include "grove/base/text.h"
#include "grove/peer/layout.h"
#include "grove/peer/operator.h"
#include "plugin.h"

namespace grove::app {
namespace {

using peer::Layout;

class OperatorWatch final : public PeerWatch {
 public:
  OperatorWatch(std::vector<Layout::Peer> peers, peer::TlsIdentity identity)
      : peers_(std::move(peers)), identity_(std::move(identity)) {}

  std::vector<PeerAnswer> ask() override {
    std::vector<std::future<nlohmann::json>> asked;
    for (const Layout::Peer& peer : peers_)
      asked.push_back(std::async(std::launch::async, [&] {
        auto answer = ask_status(peer, identity_, /*timeout_seconds=*/1);
        return answer ? std::move(*answer) : nlohmann::json(nullptr);
      }));
    std::vector<PeerAnswer> answers;
    for (std::size_t k = 0; k < peers_.size(); ++k)
      answers.push_back({peers_[k].name, asked[k].get()});
    return answers;
  }

 private:
  std::vector<Layout::Peer> peers_;
  peer::TlsIdentity identity_;
};

/// NAME@HOST:PORT, or HOST:PORT of a peer in network.json. Otherwise HOST is the name in the
/// peer's certificate.
Result<Layout::Peer> peer_at(const std::string& text, const Result<Layout>& layout) {
  const std::size_t at = text.find('@');
  const std::string address = at == std::string::npos ? text : text.substr(at + 1);
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size())
    return Error{"--peer", "expected HOST:PORT or NAME@HOST:PORT, found " + text};
  if (at != std::string::npos) return Layout::Peer{text.substr(0, at), address, {}};
  if (layout)
    for (const Layout::Peer& peer : layout->peers)
      if (peer.address == address) return peer;
  return Layout::Peer{address.substr(0, colon), address, {}};
}

}  // namespace

Result<std::unique_ptr<PeerWatch>> watch_peers(const std::string& folder,
                                               const std::vector<std::string>& addresses) {
  const Layout here{.folder = folder, .network = {}, .peers = {}};
  const auto identity = peer::load_identity(here.operator_files());
  if (!identity)
    return Error{
        "--operator",
        identity.error().text() + "; expected a folder with ca.crt, operator.crt and operator.key"};
  const auto layout = peer::read_layout(folder);
  std::vector<Layout::Peer> peers;
  for (const std::string& address : addresses) {
    auto one = peer_at(address, layout);
    if (!one) return one.error();
    peers.push_back(std::move(*one));
  }
  return std::unique_ptr<PeerWatch>(std::make_unique<OperatorWatch>(std::move(peers), *identity));
}

}  // namespace grove::app

grove::app::PeerWatch* grove::app::grove_plugin_watch(const std::string& folder,
                                                      const std::vector<std::string>& addresses,
                                                      std::optional<grove::Error>& error) {
  auto watch = grove::app::watch_peers(folder, addresses);
  if (watch) return watch->release();
  error = watch.error();
  return nullptr;
}
