#include <set>

#include "grove/peer/layout.h"
#include "grove/peer/training_keys.h"

namespace grove::peer {

std::vector<Option> options_of(LayoutOptions& options) {
  std::set<std::string> names = training_keys();
  names.insert({"agents", "samples", "partition", "graph"});
  std::vector<Option> result = grove::options_of(options.training);
  std::erase_if(result, [&](const Option& option) { return !names.contains(option.name); });
  result.push_back(
      text_option({"network", "NAME", "name of the network (grove)", "Output"}, options.network));
  result.push_back(
      text_option({"out", "DIR", "new folder for the network", "Output"}, options.out));
  return result;
}

}  // namespace grove::peer
