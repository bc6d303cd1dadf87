#include "grove/sums/masks.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include "grove/sums/hash.h"

namespace grove {
namespace {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using EvpKey = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Agreement = std::unique_ptr<EVP_PKEY_CTX, Free<EVP_PKEY_CTX_free>>;
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, Free<EVP_CIPHER_CTX_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Free<EVP_MD_CTX_free>>;

std::string_view bytes_of(const MaskKey& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

MaskKey digest_of(std::initializer_list<std::string_view> parts) {
  const Digest context(EVP_MD_CTX_new());
  MaskKey result{};
  bool good = EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  for (const std::string_view part : parts)
    good = good && EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
  good = good && EVP_DigestFinal_ex(context.get(), result.data(), nullptr) == 1;
  if (!good) throw std::bad_alloc();  // SHA-256 fails for want of memory only
  return result;
}

/// Of the other end; nothing where its key is not a point with a secret in common.
std::optional<MaskKey> agree(const MaskKey& secret, const MaskKey& other) {
  const EvpKey own(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.data(), secret.size()));
  const EvpKey theirs(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, other.data(), other.size()));
  if (!own || !theirs) return std::nullopt;
  const Agreement agreement(EVP_PKEY_CTX_new(own.get(), nullptr));
  MaskKey shared{};
  std::size_t size = shared.size();
  if (EVP_PKEY_derive_init(agreement.get()) != 1 ||
      EVP_PKEY_derive_set_peer(agreement.get(), theirs.get()) != 1 ||
      EVP_PKEY_derive(agreement.get(), shared.data(), &size) != 1 || size != shared.size())
    return std::nullopt;
  return shared;
}

/// A key is used for one stream only, so that the nonce is zero.
void fill_with_stream(const MaskKey& key, std::span<std::uint64_t> words) {
  constexpr std::array<std::uint8_t, 16> counter_and_nonce{};
  constexpr std::size_t block = 1 << 20;
  std::memset(words.data(), 0, words.size_bytes());
  const Cipher cipher(EVP_CIPHER_CTX_new());
  if (EVP_EncryptInit_ex(cipher.get(), EVP_chacha20(), nullptr, key.data(),
                         counter_and_nonce.data()) != 1)
    throw std::bad_alloc();
  auto* at = reinterpret_cast<std::uint8_t*>(words.data());
  for (std::size_t left = words.size_bytes(); left > 0;) {
    const std::size_t now = std::min(left, block);
    int written = 0;
    if (EVP_EncryptUpdate(cipher.get(), at, &written, at, static_cast<int>(now)) != 1)
      throw std::bad_alloc();
    at += now;
    left -= now;
  }
}

/// Whether two of n members have a mask. Both ends compute the same.
bool are_partners(AgentId a, AgentId b, std::size_t members, const MaskKey& context) {
  if (members <= most_with_all_pairs) return true;
  const auto n = static_cast<double>(members);
  WordHash hash;
  for (const auto byte : context) hash.add(byte);
  hash.add(std::min(a, b).value);
  hash.add(std::max(a, b).value);
  const double draw = std::ldexp(static_cast<double>(hash.value() >> 11), -53);
  return draw < 4 * std::log2(n) / n;
}

}  // namespace

MaskKey context_of(std::string_view bytes) { return digest_of({"grove-wave/1\n", bytes}); }

MaskKey public_key_of(const MaskKey& secret) {
  MaskKey key{};
  std::size_t size = key.size();
  const EvpKey own(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.data(), secret.size()));
  if (!own || EVP_PKEY_get_raw_public_key(own.get(), key.data(), &size) != 1)
    throw std::bad_alloc();
  return key;
}

MaskKey random_key() {
  MaskKey key{};
  if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1)
    throw std::runtime_error("the system has no random numbers");
  return key;
}

MaskKey simulated_secret(std::uint64_t seed, AgentId agent) {
  const std::array<std::uint64_t, 2> words{seed, agent.value};
  return digest_of(
      {"grove-simulated/1\n", {reinterpret_cast<const char*>(words.data()), sizeof(words)}});
}

MaskOptions simulated_masks(std::uint64_t seed, AgentId self) {
  auto known = std::make_shared<std::map<AgentId, MaskKey>>();  // of this agent alone
  return {.secret = simulated_secret(seed, self),
          .public_key = [seed, known](AgentId member, auto) {
            const auto found = known->find(member);
            if (found != known->end()) return std::optional(found->second);
            return std::optional((*known)[member] = public_key_of(simulated_secret(seed, member)));
          }};
}

Masks::Masks(AgentId self, MaskOptions options) : self_(self), options_(std::move(options)) {}

bool Masks::accepts(const MaskKey& public_key) const {
  return agree(options_.secret, public_key).has_value();
}

const MaskKey* Masks::shared_with(const MaskedMember& member) const {
  const auto found = shared_.find(member.id);
  const std::optional<MaskKey> key = options_.public_key(member.id, member.data);
  if (!key) return nullptr;
  if (found != shared_.end() && found->second.public_key == *key) return &found->second.secret;
  const auto secret = agree(options_.secret, *key);
  if (!secret) return nullptr;
  return &(shared_[member.id] = {*key, *secret}).secret;
}

bool Masks::ready_for(std::span<const MaskedMember> members) const {
  for (const MaskedMember& member : members)
    if (member.id != self_ && shared_with(member) == nullptr) return false;
  return true;
}

void Masks::add(std::span<const MaskedMember> members, const MaskKey& context,
                const FixedPoint& shape, std::span<std::uint64_t> words) const {
  std::vector<std::uint64_t> stream(words.size());
  for (const MaskedMember& member : members) {
    if (member.id == self_ || !are_partners(self_, member.id, members.size(), context)) continue;
    const MaskKey* shared = shared_with(member);
    assert(shared != nullptr);  // ready_for() said so
    fill_with_stream(digest_of({"grove-mask/1\n", bytes_of(*shared), bytes_of(context)}), stream);
    self_ < member.id ? add_words(shape, stream, words) : subtract_words(shape, stream, words);
  }
}

std::vector<std::uint64_t> Masks::noise(const MaskKey& context, const FixedPoint& shape) const {
  std::vector<std::uint64_t> words(shape.words());
  fill_with_stream(digest_of({"grove-noise/1\n", bytes_of(options_.secret), bytes_of(context)}),
                   words);
  words.back() = FixedPoint::refusal_count;
  return words;
}

}  // namespace grove
