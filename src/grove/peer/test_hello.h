#pragma once

#include <string>

#include "grove/peer/wire.h"

namespace grove::peer {

/// What a member of the network `test` says to b.
inline v1::Hello hello_from(const std::string& name, std::uint64_t heard = 0) {
  v1::Hello hello;
  hello.set_protocol(protocol_version);
  hello.set_network("test");
  hello.set_from(name);
  hello.set_to("b");
  hello.set_fingerprint("problem");
  hello.set_heard(heard);
  return hello;
}

}  // namespace grove::peer
