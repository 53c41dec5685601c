// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <set>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "golang/url.h"
#include "pki/certificate.h"
#include "pki/internal/der.h"
#include "pki/internal/mailbox.h"

namespace portcullis::pki {
namespace {

using namespace std::string_view_literals;

constexpr unsigned char kEmail = DerContext(1);
constexpr unsigned char kDns = DerContext(2);
constexpr unsigned char kUri = DerContext(6);
constexpr unsigned char kIp = DerContext(7);

base::Status Error(std::string_view text) {
  return base::ConfigError(base::StrCat("x509: ", text));
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

// A reader of one extension's value; `critical` is cleared by one that leaves it unhandled.
using Read = base::Status (*)(std::string_view value, Certificate& certificate);

base::Status ReadKeyUsage(std::string_view value, Certificate& certificate) {
  const auto bits = DerReader(value).BitString();
  if (!bits) return Error("invalid key usage");
  const auto byte = [bits](std::size_t at) {
    return at < bits->size() ? static_cast<unsigned char>((*bits)[at]) : 0;
  };
  certificate.has_key_usage = byte(0) != 0 || (byte(1) & 0x80) != 0;
  certificate.may_sign_certificates = (byte(0) & 0x04) != 0;
  return base::OkStatus();
}

base::Status ReadBasicConstraints(std::string_view value, Certificate& certificate) {
  constexpr std::string_view kInvalid = "invalid basic constraints";
  auto sequence = DerReader(value).Enter(kDerSequence);
  if (!sequence) return Error(kInvalid);
  certificate.is_authority = false;
  if (sequence->NextIs(kDerBoolean)) {
    const auto authority = sequence->Boolean();
    if (!authority) return Error(kInvalid);
    certificate.is_authority = *authority;
  }
  if (sequence->NextIs(kDerInteger)) {
    const auto integer = sequence->Integer();
    const auto length = integer ? DerSmallInteger(*integer) : std::nullopt;
    if (!length || *length < 0) return Error(kInvalid);
    certificate.path_length = *length;
  }
  certificate.has_basic_constraints = true;
  return base::OkStatus();
}

base::Status KeepAlternativeName(const DerElement& name, AlternativeNames& names) {
  const std::string_view text = name.body;
  switch (name.tag) {
    case kEmail:
      if (!IsAscii(text)) return Error("SAN rfc822Name is malformed");
      names.emails.emplace_back(text);
      break;
    case kDns:
      if (!IsAscii(text)) return Error("SAN dNSName is malformed");
      names.dns.emplace_back(text);
      break;
    case kUri: {
      if (!IsAscii(text)) return Error("SAN uniformResourceIdentifier is malformed");
      auto uri = golang::ParseUrl(text);
      if (!uri.ok() || !IsValidDomain(uri->host, DomainUse::kName)) {
        return Error(base::StrCat("cannot parse URI ", base::GoQuote(text), ": ",
                                  uri.ok() ? "invalid domain" : uri.status().message()));
      }
      names.uris.push_back({std::string(text), std::move(uri->host)});
      break;
    }
    case kIp:
      if (text.size() != 4 && text.size() != 16) {
        return Error(
            base::StrCat("cannot parse IP address of length ", std::to_string(text.size())));
      }
      names.ips.emplace_back(text);
      break;
    default:
      break;
  }
  return base::OkStatus();
}

base::Status ReadAlternativeNames(std::string_view value, Certificate& certificate) {
  auto sequence = DerReader(value).Enter(kDerSequence);
  if (!sequence) return Error("invalid subject alternative names");
  certificate.has_alternative_names = true;
  certificate.raw_alternative_names = value;
  while (!sequence->empty()) {
    const auto name = sequence->Next();
    if (!name) return Error("invalid subject alternative name");
    TRY(KeepAlternativeName(*name, certificate.names));
  }
  return base::OkStatus();
}

// Ones, then zeros.
bool IsMask(std::string_view mask) {
  bool ended = false;
  for (const char c : mask) {
    const auto byte = static_cast<unsigned char>(c);
    if (ended && byte != 0) return false;
    if (byte == 0xff) continue;
    ended = true;
    const auto zeros = static_cast<unsigned char>(~byte);
    if ((zeros & (zeros + 1)) != 0) return false;
  }
  return true;
}

base::Status KeepNetwork(std::string_view value, NameTrees& trees) {
  if (value.size() != 8 && value.size() != 32) {
    return Error(
        base::StrCat("IP constraint contained value of length ", std::to_string(value.size())));
  }
  const std::string_view mask = value.substr(value.size() / 2);
  if (!IsMask(mask)) {
    return Error(base::StrCat("IP constraint contained invalid mask ", base::HexEncode(mask)));
  }
  trees.ips.push_back({std::string(value.substr(0, value.size() / 2)), std::string(mask)});
  return base::OkStatus();
}

base::Status KeepText(const DerElement& base_name, NameTrees& trees) {
  const std::string_view text = base_name.body;
  const std::string quoted = base::GoQuote(text);
  if (!IsAscii(text)) {
    return Error(base::StrCat("invalid constraint value: x509: ", quoted,
                              " cannot be encoded as an IA5String"));
  }
  if (base_name.tag == kUri && golang::ParseIp(text).has_value()) {
    return Error(base::StrCat("failed to parse URI constraint ", quoted, ": cannot be IP address"));
  }
  const bool is_box = base_name.tag == kEmail && text.find('@') != std::string_view::npos;
  const bool valid =
      is_box ? ParseMailbox(text).has_value() : IsValidDomain(text, DomainUse::kConstraint);
  if (!valid) {
    const std::string_view kind = base_name.tag == kDns     ? "dnsName"
                                  : base_name.tag == kEmail ? "rfc822Name"
                                                            : "URI";
    return Error(base::StrCat("failed to parse ", kind, " constraint ", quoted));
  }
  auto& kept = base_name.tag == kDns     ? trees.dns
               : base_name.tag == kEmail ? trees.emails
                                         : trees.uris;
  kept.emplace_back(text);
  return base::OkStatus();
}

// True if all kinds of names are known.
base::Result<bool> ReadTrees(DerReader subtrees, NameTrees& trees) {
  bool all_known = true;
  while (!subtrees.empty()) {
    auto subtree = subtrees.Enter(kDerSequence);
    const auto name = subtree ? subtree->Next() : std::nullopt;
    if (!name) return Error("invalid NameConstraints extension");
    if (name->tag == kIp) {
      TRY(KeepNetwork(name->body, trees));
    } else if (name->tag == kDns || name->tag == kEmail || name->tag == kUri) {
      TRY(KeepText(*name, trees));
    } else {
      all_known = false;
    }
  }
  return all_known;
}

// True if all kinds of names are known.
base::Result<bool> ReadNameConstraints(std::string_view value, Certificate& certificate) {
  const auto invalid = Error("invalid NameConstraints extension");
  DerReader reader(value);
  auto sequence = reader.Enter(kDerSequence);
  if (!sequence || !reader.empty()) return invalid;
  DerReader permitted("");
  DerReader excluded("");
  for (const auto& [number, trees] : {std::pair(0, &permitted), std::pair(1, &excluded)}) {
    if (!sequence->NextIs(DerContextConstructed(number))) continue;
    const auto body = sequence->Enter(DerContextConstructed(number));
    if (!body) return invalid;
    *trees = *body;
  }
  if (!sequence->empty()) return invalid;
  if (permitted.empty() && excluded.empty()) return Error("empty name constraints extension");
  certificate.has_name_constraints = true;
  const bool permitted_known = TRY(ReadTrees(permitted, certificate.permitted));
  const bool excluded_known = TRY(ReadTrees(excluded, certificate.excluded));
  return permitted_known && excluded_known;
}

base::Status ReadDistributionPoints(std::string_view value, Certificate& certificate) {
  (void)certificate;
  const auto invalid = Error("invalid CRL distribution point");
  auto list = DerReader(value).Enter(kDerSequence);
  if (!list) return Error("invalid CRL distribution points");
  while (!list->empty()) {
    auto point = list->Enter(kDerSequence);
    if (!point) return invalid;
    if (!point->NextIs(DerContextConstructed(0))) continue;
    auto name = point->Enter(DerContextConstructed(0));
    auto full_name = name ? name->Enter(DerContextConstructed(0)) : std::nullopt;
    if (!full_name) return invalid;
    while (full_name->NextIs(kUri)) {
      if (!full_name->Next()) return invalid;
    }
  }
  return base::OkStatus();
}

base::Status ReadAuthorityKeyId(std::string_view value, Certificate& certificate) {
  auto sequence = DerReader(value).Enter(kDerSequence);
  if (!sequence) return Error("invalid authority key identifier");
  if (!sequence->NextIs(DerContext(0))) return base::OkStatus();
  const auto id = sequence->Next();
  if (!id) return Error("invalid authority key identifier");
  certificate.authority_key_id = id->body;
  return base::OkStatus();
}

base::Status ReadSubjectKeyId(std::string_view value, Certificate& certificate) {
  const auto id = DerReader(value).Next(kDerOctetString);
  if (!id) return Error("invalid subject key identifier");
  certificate.subject_key_id = id->body;
  return base::OkStatus();
}

// What policies demand of a chain is judged by OpenSSL (chain.cc); here is only what Go refuses.
base::Status ReadPolicyConstraints(std::string_view value, Certificate& certificate) {
  (void)certificate;
  const auto invalid = Error("invalid policy constraints extension");
  auto sequence = DerReader(value).Enter(kDerSequence);
  if (!sequence) return invalid;
  for (const int number : {0, 1}) {
    if (!sequence->NextIs(DerContext(number))) continue;
    const auto integer = sequence->Integer(DerContext(number));
    if (!integer || !DerSmallInteger(*integer)) return invalid;
  }
  return base::OkStatus();
}

// A body of an object identifier with numbers of any size.
bool IsIdentifier(std::string_view body) {
  if (body.empty() || (body.back() & 0x80) != 0) return false;
  bool at_start = true;
  for (const char c : body) {
    if (at_start && c == '\x80') return false;
    at_start = (c & 0x80) == 0;
  }
  return true;
}

base::Status ReadPolicies(std::string_view value, Certificate& certificate) {
  (void)certificate;
  const auto invalid = Error("invalid certificate policies");
  auto list = DerReader(value).Enter(kDerSequence);
  if (!list) return invalid;
  std::set<std::string_view> seen;
  while (!list->empty()) {
    auto policy = list->Enter(kDerSequence);
    const auto kind = policy ? policy->Next(kDerObjectIdentifier) : std::nullopt;
    if (!kind || !seen.insert(kind->body).second || !IsIdentifier(kind->body)) return invalid;
  }
  return base::OkStatus();
}

base::Status ReadPolicyMappings(std::string_view value, Certificate& certificate) {
  (void)certificate;
  const auto invalid = Error("invalid policy mappings extension");
  auto list = DerReader(value).Enter(kDerSequence);
  if (!list) return invalid;
  while (!list->empty()) {
    auto mapping = list->Enter(kDerSequence);
    if (!mapping || !mapping->Next(kDerObjectIdentifier) || !mapping->Next(kDerObjectIdentifier)) {
      return invalid;
    }
  }
  return base::OkStatus();
}

base::Status ReadInhibitAnyPolicy(std::string_view value, Certificate& certificate) {
  (void)certificate;
  const auto integer = DerReader(value).Integer();
  if (integer && DerSmallInteger(*integer)) return base::OkStatus();
  return Error("invalid inhibit any policy extension");
}

base::Status ReadPurposes(std::string_view value, Certificate& certificate) {
  auto list = DerReader(value).Enter(kDerSequence);
  if (!list) return Error("invalid extended key usages");
  while (!list->empty()) {
    const auto purpose = list->ObjectIdentifier();
    if (!purpose) return Error("invalid extended key usages");
    certificate.lists_purposes = true;
    if (*purpose == "\x55\x1d\x25\x00"sv) certificate.for_any_purpose = true;
    if (*purpose == "\x2b\x06\x01\x05\x05\x07\x03\x01"sv) certificate.for_servers = true;
    if (*purpose == "\x2b\x06\x01\x05\x05\x07\x03\x02"sv) certificate.for_clients = true;
  }
  return base::OkStatus();
}

base::Status ReadAuthorityInformation(std::string_view value, Certificate& certificate) {
  (void)certificate;
  const auto invalid = Error("invalid authority info access");
  auto list = DerReader(value).Enter(kDerSequence);
  if (!list) return invalid;
  while (!list->empty()) {
    auto access = list->Enter(kDerSequence);
    if (!access || !access->ObjectIdentifier()) return invalid;
    if (access->NextIs(kUri) && !access->Next()) return invalid;
  }
  return base::OkStatus();
}

struct KnownExtension {
  std::string_view kind;
  Read read;
  // The name of one that must not be critical.
  std::string_view never_critical;
};
constexpr KnownExtension kKnown[] = {
    {"\x55\x1d\x0e", ReadSubjectKeyId, "subject key identifier"},
    {"\x55\x1d\x0f", ReadKeyUsage, ""},
    {"\x55\x1d\x11", ReadAlternativeNames, ""},
    {"\x55\x1d\x13", ReadBasicConstraints, ""},
    {"\x55\x1d\x1f", ReadDistributionPoints, ""},
    {"\x55\x1d\x20", ReadPolicies, ""},
    {"\x55\x1d\x21", ReadPolicyMappings, ""},
    {"\x55\x1d\x23", ReadAuthorityKeyId, "authority key identifier"},
    {"\x55\x1d\x24", ReadPolicyConstraints, ""},
    {"\x55\x1d\x25", ReadPurposes, ""},
    {"\x55\x1d\x36", ReadInhibitAnyPolicy, ""},
    {"\x2b\x06\x01\x05\x05\x07\x01\x01", ReadAuthorityInformation, "authority info access"},
};
constexpr std::string_view kNameConstraints = "\x55\x1d\x1e";

}  // namespace

base::Status ReadExtension(const CertificateExtension& extension, Certificate& certificate) {
  bool handled = false;
  if (extension.kind == kNameConstraints) {
    handled = TRY(ReadNameConstraints(extension.value, certificate));
  }
  for (const auto& known : kKnown) {
    if (extension.kind != known.kind) continue;
    if (extension.critical && !known.never_critical.empty()) {
      return Error(base::StrCat(known.never_critical, " incorrectly marked critical"));
    }
    TRY(known.read(extension.value, certificate));
    const auto& names = certificate.names;
    handled = known.read != ReadAlternativeNames || !names.dns.empty() || !names.emails.empty() ||
              !names.uris.empty() || !names.ips.empty();
  }
  if (extension.critical && !handled) certificate.has_unhandled_critical = true;
  return base::OkStatus();
}

bool IsValidDomain(std::string_view text, DomainUse use) {
  if (text.empty()) return true;
  if (use == DomainUse::kConstraint && text != "." && text.starts_with('.')) text.remove_prefix(1);
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= 33 && c <= 126; })) {
    return false;
  }
  for (const std::string_view label : base::Split(text, '.')) {
    if (label.empty()) return false;
  }
  return true;
}

}  // namespace portcullis::pki
