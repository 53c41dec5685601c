// SPDX-License-Identifier: Apache-2.0

#include "registry/certificates/certificate_request_bytes.h"

#include <cstddef>

#include "base/strings.h"

namespace portcullis::registry {
namespace {

constexpr int kSequence = 16;

struct Header {
  unsigned tag_class = 0;
  unsigned tag = 0;
  bool compound = false;
  std::size_t length = 0;
  std::size_t size = 0;  // of the header itself
};

unsigned ByteAt(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// X.690 §8.1, with the words of Go's encoding/asn1.
std::string ReadHeader(std::string_view bytes, Header& header) {
  if (bytes.empty()) return "asn1: syntax error: sequence truncated";
  const unsigned first = ByteAt(bytes, 0);
  header.tag_class = first >> 6;
  header.compound = (first & 0x20U) != 0;
  header.tag = first & 0x1fU;
  if (bytes.size() < 2) return "asn1: syntax error: truncated tag or length";
  const unsigned second = ByteAt(bytes, 1);
  header.size = 2;
  header.length = second & 0x7fU;
  if ((second & 0x80U) == 0) return {};
  if (header.length == 0) return "asn1: syntax error: indefinite length found (not DER)";
  const std::size_t count = header.length;
  header.length = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (header.size >= bytes.size()) return "asn1: syntax error: truncated tag or length";
    if (header.length >= (1U << 23)) return "asn1: structure error: length too large";
    header.length = (header.length << 8) | ByteAt(bytes, header.size++);
    if (header.length == 0) return "asn1: structure error: superfluous leading zeros in length";
  }
  if (header.length < 0x80) return "asn1: structure error: non-minimal length";
  return {};
}

// Takes the content of a sequence off the front of `bytes`; `go_type` is what Go wanted to fill.
std::string TakeSequence(std::string_view& bytes, std::string_view go_type,
                         std::string_view& content) {
  Header header;
  if (std::string problem = ReadHeader(bytes, header); !problem.empty()) return problem;
  if (header.tag_class != 0 || header.tag != kSequence || !header.compound) {
    return base::StrCat(
        "asn1: structure error: tags don't match (", std::to_string(kSequence),
        " vs {class:", std::to_string(header.tag_class), " tag:", std::to_string(header.tag),
        " length:", std::to_string(header.length),
        " isCompound:", header.compound ? "true" : "false",
        "}) {optional:false explicit:false application:false private:false defaultValue:<nil> "
        "tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} ",
        go_type, " @", std::to_string(header.size));
  }
  if (bytes.size() - header.size < header.length) return "asn1: syntax error: data truncated";
  content = bytes.substr(header.size, header.length);
  bytes.remove_prefix(header.size + header.length);
  return {};
}

}  // namespace

std::string CertificateRequestProblem(std::string_view der) {
  std::string_view request;
  std::string problem = TakeSequence(der, "certificateRequest", request);
  if (!problem.empty()) return problem;
  std::string_view info;
  problem = TakeSequence(request, "tbsCertificateRequest", info);
  if (problem.empty() && !der.empty()) problem = "asn1: syntax error: trailing data";
  return problem;
}

}  // namespace portcullis::registry
