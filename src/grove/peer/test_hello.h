#pragma once

#include <string>

#include "grove/peer/wire.h"

namespace grove::peer {

/// A valid hello of a member of the network `test` to b.
inline v1::Hello hello_from(const std::string& name, std::uint64_t last_received = 0) {
  v1::Hello hello;
  hello.set_protocol(protocol_version);
  hello.set_network("test");
  hello.set_from(name);
  hello.set_to("b");
  set_schema({{"problem", "test"}}, hello);
  hello.set_last_received(last_received);
  return hello;
}

}  // namespace grove::peer
