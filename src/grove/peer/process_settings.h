#pragma once

namespace grove::peer {

/// Settings of a process that is a peer; before anything of gRPC is used and other threads run.
void bound_process_memory();

/// Protobuf prints a line for every text of a neighbour that is not UTF-8. Such messages are
/// refused and counted; they must not fill the log, too.
void keep_protobuf_quiet();

/// To the system. Takes some 0.1 ms.
void return_freed_memory();

}  // namespace grove::peer
