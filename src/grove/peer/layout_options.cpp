#include <set>

#include "grove/peer/layout.h"
#include "grove/peer/training_keys.h"

namespace grove::peer {

std::vector<Option> options_of(LayoutOptions& options) {
  std::set<std::string> wanted = training_keys();
  wanted.insert({"agents", "samples", "partition", "graph"});
  std::vector<Option> result = grove::options_of(options.training);
  std::erase_if(result, [&](const Option& option) { return !wanted.contains(option.name); });
  result.push_back(
      text_option({"network", "NAME", "name of the network (grove)", "Output"}, options.network));
  result.push_back(text_option({"out", "DIR", "new folder for it all", "Output"}, options.out));
  return result;
}

}  // namespace grove::peer
