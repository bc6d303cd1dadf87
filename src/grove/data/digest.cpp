#include "grove/data/digest.h"

#include <array>
#include <cassert>
#include <fstream>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "grove/data/text_blocks.h"

namespace grove {
namespace {

EVP_MD_CTX* as_context(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(as_context(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  [[maybe_unused]] const int started =
      EVP_DigestInit_ex(as_context(context_.get()), EVP_sha256(), nullptr);
  assert(started == 1);
}

void Sha256::update(std::string_view bytes) {
  EVP_DigestUpdate(as_context(context_.get()), bytes.data(), bytes.size());
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(as_context(context_.get()), digest.data(), &size);
  std::string text;
  for (unsigned k = 0; k < size; ++k) text += fmt::format("{:02x}", digest[k]);
  return text;
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Error{path.string(), "cannot open"};
  Sha256 digest;
  std::array<char, 1 << 16> buffer{};
  while (stream) {
    stream.read(buffer.data(), buffer.size());
    digest.update({buffer.data(), static_cast<std::size_t>(stream.gcount())});
  }
  if (stream.bad()) return Error{path.string(), "cannot read"};
  return digest.finish();
}

Result<std::string> sha256_of_text(const std::filesystem::path& path,
                                   const std::filesystem::path& named, std::uint64_t most_bytes) {
  const auto blocks =
      open_blocks(path, TextOptions{.decompressed_bytes = most_bytes, .named = named});
  if (!blocks) return blocks.error();
  Sha256 digest;
  while (true) {
    const Result<TextBlock> block = (*blocks)->next();
    if (!block) return block.error();
    if (block->text.empty()) return digest.finish();
    digest.update(block->text);
  }
}

}  // namespace grove
