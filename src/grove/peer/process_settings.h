#pragma once

namespace grove::peer {

/// Sets up the memory of a peer's process. Call it before the first use of gRPC and before other
/// threads start.
void limit_process_memory();

/// Raises the number of files that the process may open, so that idle connections of strangers do
/// not use up those of the neighbours.
void raise_file_limit();

/// Turns off the messages of protobuf, which prints a line for every text that is not UTF-8. A
/// neighbour could fill the log with them; messages with such texts are rejected and counted.
void silence_protobuf();

/// Returns freed memory to the system. Takes about 0.1 ms.
void release_freed_memory();

}  // namespace grove::peer
