// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/catalog_file.h"

#include <libdeflate.h>

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/strings.h"

namespace portcullis::api::catalog {
namespace {

constexpr std::string_view kMagic = "portcullis-catalog 1\n";
constexpr std::size_t kMaxSection = std::size_t{256} << 20U;

struct Freer {
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

std::string Compress(std::string_view text) {
  constexpr int kBest = 12;
  const std::unique_ptr<libdeflate_compressor, Freer> engine(libdeflate_alloc_compressor(kBest));
  std::string packed(libdeflate_deflate_compress_bound(engine.get(), text.size()), '\0');
  packed.resize(libdeflate_deflate_compress(engine.get(), text.data(), text.size(), packed.data(),
                                            packed.size()));
  return packed;
}

struct SectionHead {
  std::string_view name;
  std::size_t packed = 0;
  std::size_t raw = 0;
};

std::optional<SectionHead> ParseHead(std::string_view line) {
  const auto words = base::Split(line, ' ');
  if (words.size() != 3) return std::nullopt;
  const auto packed = base::ParseInt(words[1]);
  const auto raw = base::ParseInt(words[2]);
  if (!packed || !raw || *packed < 0 || *raw < 0) return std::nullopt;
  SectionHead head{words[0], static_cast<std::size_t>(*packed), static_cast<std::size_t>(*raw)};
  if (head.raw > kMaxSection) return std::nullopt;
  return head;
}

base::Status Corrupt() { return base::ConfigError("the catalog file is damaged"); }

base::Result<std::string> Decompress(std::string_view packed, std::size_t size) {
  const std::unique_ptr<libdeflate_decompressor, Freer> engine(libdeflate_alloc_decompressor());
  std::string raw(size, '\0');
  const auto outcome = libdeflate_deflate_decompress(engine.get(), packed.data(), packed.size(),
                                                     raw.data(), raw.size(), nullptr);
  if (outcome != LIBDEFLATE_SUCCESS) return Corrupt();
  return raw;
}

}  // namespace

std::string PackSections(const std::vector<std::pair<std::string, std::string>>& sections) {
  std::string file(kMagic);
  for (const auto& [name, text] : sections) {
    const std::string packed = Compress(text);
    file += base::StrCat(name, " ", std::to_string(packed.size()), " ", std::to_string(text.size()),
                         "\n");
    file += packed;
  }
  return file;
}

base::Result<std::string> UnpackSection(std::string_view file, std::string_view name) {
  if (!file.starts_with(kMagic)) return base::ConfigError("not a catalog file");
  file.remove_prefix(kMagic.size());
  while (!file.empty()) {
    const std::size_t line_end = file.find('\n');
    if (line_end == std::string_view::npos) return Corrupt();
    const auto head = ParseHead(file.substr(0, line_end));
    file.remove_prefix(line_end + 1);
    if (!head || head->packed > file.size()) return Corrupt();
    if (head->name == name) return Decompress(file.substr(0, head->packed), head->raw);
    file.remove_prefix(head->packed);
  }
  return base::NotFound(base::StrCat("the catalog file has no section ", name));
}

}  // namespace portcullis::api::catalog
