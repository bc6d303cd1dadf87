#include <set>

#include "grove/peer/layout.h"
#include "grove/peer/training_keys.h"
#include "grove/train/fit_options.h"

namespace grove::peer {

std::vector<Option> options_of(LayoutOptions& options) {
  std::set<std::string> names = training_keys();
  names.insert({"agents", "samples", "partition", "graph"});
  std::vector<Option> result = grove::options_of(options.training);
  std::erase_if(result, [&](const Option& option) { return !names.contains(option.name); });
  for (Option& option : result)
    if (option.name == "method")
      option.set = [&options, set = option.set](std::string_view given) {
        options.method_given = true;
        return set(given);
      };
  for (Option& option : grove::options_of(options.fit)) result.push_back(std::move(option));
  result.push_back(
      text_option({"network", "NAME", "name of the network (grove)", "Output"}, options.network));
  result.push_back(text_option(
      {"hosts", "FILE", "`name address:port` of every peer, one a line (this machine)", "Output"},
      options.hosts));
  result.push_back(
      text_option({"out", "DIR", "new folder for the network", "Output"}, options.out));
  return result;
}

}  // namespace grove::peer
