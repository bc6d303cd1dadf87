#pragma once

#include <functional>
#include <string>
#include <vector>

namespace grove::bench {

/// One figure of a benchmark beside what it should reach.
struct Row {
  std::string name;
  double value = 0;
  std::string unit;      ///< "x" for ratios
  double goal = 0;       ///< 0: no goal, shown for context
  bool at_least = true;  ///< the goal is a lower bound (else an upper one)
  bool reached() const { return goal == 0 || (at_least ? value >= goal : value <= goal); }
};

/// Prints the rows as a table and, if `argv` has --json FILE, writes them there too. Returns the
/// exit code: 0 always, because a benchmark on a busy machine is information, not a test.
int report(const std::string& title, const std::vector<Row>& rows, int argc, char** argv);

/// The shortest of several timings of `work` in seconds: noise only ever adds.
double best_seconds(int repetitions, const std::function<void()>& work);

/// The shortest of several timings of each contender, in processor seconds of this thread. They run
/// by turns, so that what disturbs the machine meanwhile disturbs all of them.
std::vector<double> contest(int repetitions, const std::vector<std::function<void()>>& contenders);

}  // namespace grove::bench
