#pragma once

namespace grove::app {

/// For commands that run all agents in one process: memory comes in large pages, for all threads
/// from one heap, and what is freed is kept for what is needed next. Otherwise every 4 KiB that is
/// touched for the first time, or again, stops the program: a tenth of training on w8a. Call it
/// before threads start. Only advice to the system and its library: nothing to check.
void prepare_memory();

}  // namespace grove::app
