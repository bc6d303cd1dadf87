#pragma once

namespace grove::app {

/// Sets up memory for commands that run all agents in one process: one heap for all threads, in
/// large pages, which keeps freed memory for the next allocation. By default every first touch of
/// 4 KiB, and every touch after a release to the system, is a page fault: 22,000 of them instead of
/// 900, a twelfth of training on w8a. Call it before threads start. Advice to the system and its
/// library only: there is no error to report.
void prepare_memory();

}  // namespace grove::app
