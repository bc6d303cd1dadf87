#include "grove/peer/operator.h"

#include "grove/peer/clock.h"
#include "grove/peer/dialer.h"
#include "grove/peer/peer.grpc.pb.h"

namespace grove::peer {
namespace {

constexpr double answer_timeout_seconds = 2;

template <class Request, class Reply>
using Call = grpc::Status (v1::Peer::Stub::*)(grpc::ClientContext*, const Request&, Reply*);

template <class Request, class Reply>
Result<Reply> ask(const Layout::Peer& peer, const TlsIdentity& identity, Call<Request, Reply> call,
                  double timeout_seconds = answer_timeout_seconds) {
  const auto stub = v1::Peer::NewStub(channel_to({peer.name, peer.address}, identity, 0));
  grpc::ClientContext context;
  context.set_deadline(
      deadline_in(std::chrono::milliseconds(static_cast<int>(1000 * timeout_seconds))));
  Reply reply;
  const grpc::Status status = (stub.get()->*call)(&context, Request(), &reply);
  if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION)
    return Error{peer.name, "refuses: " + printable(status.error_message())};
  if (!status.ok())
    return Error{peer.name, "does not answer: " + printable(status.error_message())};
  return reply;
}

}  // namespace

Result<nlohmann::json> ask_status(const Layout::Peer& peer, const TlsIdentity& identity,
                                  double timeout_seconds) {
  const auto reply = ask<v1::StatusRequest, v1::StatusReply>(
      peer, identity, &v1::Peer::Stub::Status, timeout_seconds);
  if (!reply) return reply.error();
  auto json = nlohmann::json::parse(reply->json(), nullptr, false);
  if (!json.is_object()) return Error{peer.name, "answered with something other than its status"};
  return json;
}

Status ask_stop(const Layout::Peer& peer, const TlsIdentity& identity) {
  const auto reply = ask<v1::StopRequest, v1::StopReply>(peer, identity, &v1::Peer::Stub::Stop);
  if (!reply) return reply.error();
  return success();
}

Status ask_leave(const Layout::Peer& peer, const TlsIdentity& identity) {
  const auto reply = ask<v1::LeaveRequest, v1::LeaveReply>(peer, identity, &v1::Peer::Stub::Leave);
  if (!reply) return reply.error();
  return success();
}

Status ask_retrain(const Layout::Peer& peer, const TlsIdentity& identity) {
  constexpr double timeout_seconds = 60;  // the peer reads its data again
  const auto reply = ask<v1::RetrainRequest, v1::RetrainReply>(
      peer, identity, &v1::Peer::Stub::Retrain, timeout_seconds);
  if (!reply) return reply.error();
  return success();
}

}  // namespace grove::peer
