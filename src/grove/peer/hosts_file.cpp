#include "grove/peer/hosts_file.h"

#include <map>

#include <fmt/format.h>

#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/data/lines.h"
#include "grove/peer/peer_config.h"

namespace grove::peer {
namespace {

Result<Host> parse_host(std::string_view line) {
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  Host host{.name = std::string(line.substr(0, end)),
            .address = std::string(trim(line.substr(end)))};
  if (!is_peer_name(host.name) || host.name == "operator")
    return Error{"", fmt::format("{} is no name of a peer; expected lower-case letters, digits and "
                                 "hyphens, and not operator",
                                 shown(host.name))};
  if (!is_address(host.address))
    return Error{"", fmt::format("{}: expected an address as 10.0.0.1:7001, found {}", host.name,
                                 shown(host.address))};
  return host;
}

}  // namespace

Result<std::vector<Host>> read_hosts(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  std::vector<Host> hosts;
  std::map<std::string, std::size_t> known;  // the line of every name and address
  std::size_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    ++number;
    std::string_view line = take_line(rest);
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    auto host = parse_host(line);
    if (!host) return line_error(path, number, host.error().what);
    for (const std::string& word : {host->name, host->address})
      if (const auto [first, is_new] = known.emplace(word, number); !is_new)
        return line_error(path, number,
                          fmt::format("{} is on line {} already", word, first->second));
    hosts.push_back(std::move(*host));
  }
  if (hosts.size() < 2)
    return Error{path, fmt::format("expected two or more lines `name address:port`, found {}",
                                   hosts.size())};
  return hosts;
}

}  // namespace grove::peer
