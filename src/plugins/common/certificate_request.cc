// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/certificate_request.h"

#include <optional>

#include "pki/pem.h"
#include "registry/certificates/certificate_request_bytes.h"

namespace portcullis::plugins::common {
namespace {

constexpr unsigned char kSequence = 0x30;
constexpr unsigned char kSet = 0x31;
constexpr unsigned char kInteger = 0x02;
constexpr unsigned char kObjectId = 0x06;
// DER of the attribute types 2.5.4.3 and 2.5.4.10.
constexpr std::string_view kCommonName = "\x55\x04\x03";
constexpr std::string_view kOrganization = "\x55\x04\x0a";

struct Element {
  unsigned char tag = 0;
  std::string_view content;
};

// Takes one DER element off the front of `bytes` (X.690 §8.1, definite lengths only).
std::optional<Element> Next(std::string_view& bytes) {
  if (bytes.size() < 2) return std::nullopt;
  Element element;
  element.tag = static_cast<unsigned char>(bytes[0]);
  std::size_t length = static_cast<unsigned char>(bytes[1]);
  std::size_t at = 2;
  if (length >= 0x80) {
    const std::size_t count = length & 0x7f;
    if (count == 0 || count > 4 || bytes.size() < at + count) return std::nullopt;
    length = 0;
    for (std::size_t i = 0; i < count; ++i) {
      length = (length << 8) | static_cast<unsigned char>(bytes[at++]);
    }
  }
  if (bytes.size() - at < length) return std::nullopt;
  element.content = bytes.substr(at, length);
  bytes.remove_prefix(at + length);
  return element;
}

std::optional<std::string_view> NextOf(std::string_view& bytes, unsigned char tag) {
  std::optional<Element> element = Next(bytes);
  if (!element || element->tag != tag) return std::nullopt;
  return element->content;
}

// Name ::= SEQUENCE OF SET OF SEQUENCE { type, value }
bool ReadName(std::string_view name, RequestSubject& subject) {
  while (!name.empty()) {
    std::optional<std::string_view> set = NextOf(name, kSet);
    if (!set) return false;
    while (!set->empty()) {
      std::optional<std::string_view> attribute = NextOf(*set, kSequence);
      if (!attribute) return false;
      std::optional<std::string_view> type = NextOf(*attribute, kObjectId);
      std::optional<Element> value = Next(*attribute);
      if (!type || !value) return false;
      if (*type == kCommonName) subject.common_name = value->content;
      if (*type == kOrganization) subject.organizations.emplace_back(value->content);
    }
  }
  return true;
}

// CertificationRequest ::= SEQUENCE { SEQUENCE { version, subject, … }, … }
std::optional<RequestSubject> ReadRequest(std::string_view der) {
  std::optional<std::string_view> request = NextOf(der, kSequence);
  if (!request) return std::nullopt;
  std::optional<std::string_view> info = NextOf(*request, kSequence);
  if (!info || !NextOf(*info, kInteger)) return std::nullopt;
  std::optional<std::string_view> name = NextOf(*info, kSequence);
  RequestSubject subject;
  if (!name || !ReadName(*name, subject)) return std::nullopt;
  return subject;
}

}  // namespace

base::Result<RequestSubject> ParseCertificateRequest(std::string_view pem) {
  pki::PemBlock block;
  if (!pki::NextPemBlock(pem, block) || block.type != "CERTIFICATE REQUEST") {
    return base::BadRequest("PEM block type must be CERTIFICATE REQUEST");
  }
  std::optional<RequestSubject> subject = ReadRequest(block.bytes);
  if (!subject) {
    const std::string problem = registry::CertificateRequestProblem(block.bytes);
    return base::BadRequest(problem.empty() ? "asn1: structure error: tags don't match" : problem);
  }
  return *std::move(subject);
}

}  // namespace portcullis::plugins::common
