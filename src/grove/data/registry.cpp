#include "grove/data/registry.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/text.h"
#include "grove/data/lines.h"

namespace grove {
namespace {

// `abalone` is the scaled version: the raw one has columns of very different size.
constexpr std::array public_set_table{
    PublicSet{.name = "ijcnn1",
              .path = "binary/ijcnn1.bz2",
              .kind = TargetKind::two_classes,
              .samples = 49990,
              .features = 22,
              .bytes = 1398220,
              .sha256 = "450dee8470b168e47b9fae1fc160396b8a809c675737837fce3acd51dcdc0481",
              .text_bytes = 7744897,
              .text_sha256 = "16506cad788cf7c9607454150ed1994788204bac2ff4c9cb3b320036b6950d3f"},
    PublicSet{.name = "ijcnn1.t",
              .path = "binary/ijcnn1.t.bz2",
              .kind = TargetKind::two_classes,
              .samples = 91701,
              .features = 22,
              .bytes = 2597597,
              .sha256 = "acd1db430684fdd3f0c768ecc49aa8e749d0004fc117611220c2aa576a7b6a24",
              .text_bytes = 14213968,
              .text_sha256 = "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8"},
    PublicSet{.name = "a9a",
              .path = "binary/a9a",
              .kind = TargetKind::two_classes,
              .samples = 32561,
              .features = 123,
              .bytes = 2329875,
              .sha256 = "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
              .text_bytes = 2329875,
              .text_sha256 = "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906"},
    PublicSet{.name = "a9a.t",
              .path = "binary/a9a.t",
              .kind = TargetKind::two_classes,
              .samples = 16281,
              .features = 122,
              .bytes = 1164628,
              .sha256 = "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
              .text_bytes = 1164628,
              .text_sha256 = "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9"},
    PublicSet{.name = "w8a",
              .path = "binary/w8a",
              .kind = TargetKind::two_classes,
              .samples = 49749,
              .features = 300,
              .bytes = 3478238,
              .sha256 = "6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2",
              .text_bytes = 3478238,
              .text_sha256 = "6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2"},
    PublicSet{.name = "mushrooms",
              .path = "binary/mushrooms",
              .kind = TargetKind::two_classes,
              .samples = 8124,
              .features = 112,
              .bytes = 879712,
              .sha256 = "f39a4eb628dc61a7d43760815b061c9e497aa728ce1ad8bde57a09ef6043b538",
              .text_bytes = 879712,
              .text_sha256 = "f39a4eb628dc61a7d43760815b061c9e497aa728ce1ad8bde57a09ef6043b538"},
    PublicSet{.name = "abalone",
              .path = "regression/abalone_scale",
              .kind = TargetKind::number,
              .samples = 4177,
              .features = 8,
              .bytes = 370495,
              .sha256 = "7f1f6ca7f636e684949fc3f6388fc4f7503083717f776876bbdd11098fc5378b",
              .text_bytes = 370495,
              .text_sha256 = "7f1f6ca7f636e684949fc3f6388fc4f7503083717f776876bbdd11098fc5378b"},
};

}  // namespace

std::span<const PublicSet> public_sets() { return public_set_table; }

Result<PublicSet> find_public_set(std::string_view name) {
  const auto found = std::ranges::find(public_set_table, name, &PublicSet::name);
  if (found != public_set_table.end()) return *found;
  std::vector<std::string> names;
  names.reserve(public_set_table.size());
  for (const PublicSet& set : public_set_table) names.emplace_back(set.name);
  const auto near = closest(name, names);
  return Error{"data set",
               fmt::format("unknown name {}, {}", shown(name),
                           near ? "did you mean `" + *near + "`?"
                                : fmt::format("expected one of: {}", fmt::join(names, ", ")))};
}

}  // namespace grove
