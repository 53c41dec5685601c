// SPDX-License-Identifier: Apache-2.0

#include "pki/certificate.h"

#include <openssl/err.h>

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "pki/internal/der.h"
#include "pki/internal/names.h"
#include "pki/x509.h"

namespace portcullis::pki {
namespace {

using namespace std::string_view_literals;

// Bodies of object identifiers.
constexpr std::string_view kRsa = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";
constexpr std::string_view kDsa = "\x2a\x86\x48\xce\x38\x04\x01";
constexpr std::string_view kEcdsa = "\x2a\x86\x48\xce\x3d\x02\x01";
constexpr std::string_view kEd25519 = "\x2b\x65\x70";
struct Curve {
  std::string_view kind;
  std::string_view name;
  std::size_t width;  // of a coordinate, in bytes
};
constexpr Curve kCurves[] = {{"\x2b\x81\x04\x00\x21"sv, "P224", 28},
                             {"\x2a\x86\x48\xce\x3d\x03\x01\x07"sv, "P256", 32},
                             {"\x2b\x81\x04\x00\x22"sv, "P384", 48},
                             {"\x2b\x81\x04\x00\x23"sv, "P521", 66}};

base::Status Error(std::string_view text) {
  return base::ConfigError(base::StrCat("x509: ", text));
}

base::Result<std::string> ReadString(const DerElement& element) {
  const StringType* type = FindStringType(element.tag);
  if (type == nullptr) {
    return base::ConfigError(
        base::StrCat("unsupported string type: ", std::to_string(element.tag)));
  }
  auto text = type->decode(element.body);
  if (!text) return base::ConfigError(base::StrCat("invalid ", type->name));
  return std::move(*text);
}

// "1.2.840": the first subidentifier holds two numbers.
std::string ObjectIdentifierText(std::string_view body) {
  std::string text;
  std::uint32_t value = 0;
  for (const char c : body) {
    const auto byte = static_cast<unsigned char>(c);
    value = value << 7U | (byte & 0x7fU);
    if ((byte & 0x80) != 0) continue;
    if (text.empty()) {
      const std::uint32_t first = std::min(value / 40, 2U);
      text = base::StrCat(std::to_string(first), ".", std::to_string(value - first * 40));
    } else {
      text += base::StrCat(".", std::to_string(value));
    }
    value = 0;
  }
  return text;
}

base::Result<DistinguishedName> ReadName(std::string_view whole) {
  DistinguishedName name;
  auto sequence = DerReader(whole).Enter(kDerSequence);
  if (!sequence) return Error("invalid RDNSequence");
  while (!sequence->empty()) {
    auto set = sequence->Enter(kDerSet);
    if (!set) return Error("invalid RDNSequence");
    while (!set->empty()) {
      auto attribute = set->Enter(kDerSequence);
      if (!attribute) return Error("invalid RDNSequence: invalid attribute");
      const auto kind = attribute->ObjectIdentifier();
      if (!kind) return Error("invalid RDNSequence: invalid attribute type");
      const auto element = attribute->Next();
      if (!element) return Error("invalid RDNSequence: invalid attribute value");
      auto value = ReadString(*element);
      if (!value.ok()) {
        return Error(base::StrCat("invalid RDNSequence: invalid attribute value: ",
                                  value.status().message()));
      }
      KeepAttribute(*kind, std::move(*value), name);
    }
  }
  return name;
}

bool IsPositive(const std::optional<std::string_view>& integer) {
  return integer && (static_cast<unsigned char>((*integer)[0]) & 0x80) == 0 && *integer != "\0"sv;
}

base::Status CheckRsaKey(std::string_view parameters, std::string_view key) {
  if (parameters != "\x05\x00"sv) return Error("RSA key missing NULL parameters");
  auto sequence = DerReader(key).Enter(kDerSequence);
  if (!sequence) return Error("invalid RSA public key");
  const auto modulus = sequence->Integer();
  if (!modulus) return Error("invalid RSA modulus");
  const auto exponent = sequence->Integer();
  if (!exponent || !DerSmallInteger(*exponent)) return Error("invalid RSA public exponent");
  if (!IsPositive(modulus)) return Error("RSA modulus is not a positive number");
  if (!IsPositive(exponent)) return Error("RSA public exponent is not a positive number");
  return base::OkStatus();
}

base::Status CheckDsaKey(std::string_view parameters, std::string_view key) {
  const auto value = DerReader(key).Integer();
  if (!value) return Error("invalid DSA public key");
  auto sequence = DerReader(parameters).Enter(kDerSequence);
  bool positive = IsPositive(value);
  for (int i = 0; i < 3; ++i) {
    const auto parameter = sequence ? sequence->Integer() : std::nullopt;
    if (!parameter) return Error("invalid DSA parameters");
    positive = positive && IsPositive(parameter);
  }
  return positive ? base::OkStatus() : Error("zero or negative DSA parameter");
}

// `whole`: the key with its algorithm, for OpenSSL to see whether the point is on its curve.
base::Status CheckEcdsaKey(std::string_view parameters, std::string_view key,
                           std::string_view whole) {
  const auto kind = DerReader(parameters).ObjectIdentifier();
  if (!kind) return Error("invalid ECDSA parameters");
  const auto* curve = std::find_if(std::begin(kCurves), std::end(kCurves),
                                   [kind](const Curve& known) { return known.kind == *kind; });
  if (curve == std::end(kCurves)) return Error("unsupported elliptic curve");
  if (!key.starts_with('\x04')) {
    return base::ConfigError("ecdsa: invalid uncompressed public key");
  }
  if (key.size() != 1 + 2 * curve->width) {
    return base::ConfigError(base::StrCat("invalid ", curve->name, " point encoding"));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(whole.data());
  const KeyPtr point(d2i_PUBKEY(nullptr, &bytes, static_cast<long>(whole.size())));
  ERR_clear_error();
  if (point) return base::OkStatus();
  return base::ConfigError(base::StrCat(curve->name, " point not on curve"));
}

base::Status CheckEd25519Key(std::string_view parameters, std::string_view key) {
  if (!parameters.empty()) return Error("Ed25519 key encoded with illegal parameters");
  return key.size() == 32 ? base::OkStatus() : Error("wrong Ed25519 public key size");
}

struct Algorithm {
  std::string_view kind;
  std::string_view parameters;  // a whole element or nothing
};

base::Result<Algorithm> ReadAlgorithm(DerReader reader) {
  Algorithm algorithm;
  const auto kind = reader.ObjectIdentifier();
  if (!kind) return Error("malformed OID");
  algorithm.kind = *kind;
  if (reader.empty()) return algorithm;
  const auto parameters = reader.Next();
  if (!parameters) return Error("malformed parameters");
  algorithm.parameters = parameters->whole;
  return algorithm;
}

// Without its unused bits, as a number is written.
std::string RightAligned(std::string_view bytes, int unused_bits) {
  std::string out(bytes);
  for (std::size_t i = out.size(); unused_bits != 0 && i-- > 0;) {
    const int before = i == 0 ? 0 : static_cast<unsigned char>(bytes[i - 1]);
    const int pair = before << 8 | static_cast<unsigned char>(bytes[i]);
    out[i] = static_cast<char>(pair >> unused_bits);
  }
  return out;
}

base::Status ReadPublicKey(std::string_view whole, Certificate& certificate) {
  certificate.raw_public_key = whole;
  certificate.has_known_key = TRY(KnowsPublicKey(whole));
  return base::OkStatus();
}

base::Status ReadVersion(DerReader& body, Certificate& certificate) {
  if (!body.NextIs(DerContextConstructed(0))) return base::OkStatus();
  auto field = body.Enter(DerContextConstructed(0));
  const auto integer = field ? field->Integer() : std::nullopt;
  const auto value = integer ? DerSmallInteger(*integer) : std::nullopt;
  if (!value || !field->empty() || *value < 0) return Error("malformed version");
  if (*value > 2) return Error("invalid version");
  certificate.version = static_cast<int>(*value) + 1;
  return base::OkStatus();
}

base::Status ReadSerial(DerReader& body) {
  const auto serial = body.Integer();
  if (!serial) return Error("malformed serial number");
  if ((static_cast<unsigned char>((*serial)[0]) & 0x80) != 0)
    return Error("negative serial number");
  return base::OkStatus();
}

base::Status ReadValidity(DerReader& body, Certificate& certificate) {
  auto validity = body.Enter(kDerSequence);
  if (!validity) return Error("malformed validity");
  for (std::int64_t* time : {&certificate.not_before, &certificate.not_after}) {
    const bool is_utc = validity->NextIs(kDerUtcTime);
    if (!is_utc && !validity->NextIs(kDerGeneralizedTime)) return Error("unsupported time format");
    const auto value = validity->Time();
    if (!value) return Error(is_utc ? "malformed UTCTime" : "malformed GeneralizedTime");
    *time = *value;
  }
  return base::OkStatus();
}

base::Result<CertificateExtension> ReadExtensionFields(DerReader fields) {
  CertificateExtension extension;
  const auto kind = fields.ObjectIdentifier();
  if (!kind) return Error("malformed extension OID field");
  extension.kind = *kind;
  if (fields.NextIs(kDerBoolean)) {
    const auto critical = fields.Boolean();
    if (!critical) return Error("malformed extension critical field");
    extension.critical = *critical;
  }
  const auto value = fields.Next(kDerOctetString);
  if (!value) return Error("malformed extension value field");
  extension.value = value->body;
  return extension;
}

base::Status ReadExtensions(DerReader& body, Certificate& certificate) {
  if (!body.NextIs(DerContextConstructed(3))) return base::OkStatus();
  auto field = body.Enter(DerContextConstructed(3));
  if (!field) return Error("malformed extensions");
  auto list = field->Enter(kDerSequence);
  if (!list) return Error("malformed extensions");
  std::vector<CertificateExtension> extensions;
  std::set<std::string_view> seen;
  while (!list->empty()) {
    const auto fields = list->Enter(kDerSequence);
    if (!fields) return Error("malformed extension");
    extensions.push_back(TRY(ReadExtensionFields(*fields)));
    const std::string_view kind = extensions.back().kind;
    if (!seen.insert(kind).second) {
      return Error(base::StrCat("certificate contains duplicate extension with OID \"",
                                ObjectIdentifierText(kind), "\""));
    }
  }
  for (const auto& extension : extensions) TRY(ReadExtension(extension, certificate));
  return base::OkStatus();
}

// What follows the public key.
base::Status ReadTail(DerReader& body, Certificate& certificate) {
  if (certificate.version < 2) return base::OkStatus();
  if (body.NextIs(DerContext(1)) && !body.Next()) return Error("malformed issuerUniqueID");
  if (body.NextIs(DerContext(2)) && !body.Next()) return Error("malformed subjectUniqueID");
  return certificate.version < 3 ? base::OkStatus() : ReadExtensions(body, certificate);
}

base::Result<std::string_view> ReadNameBytes(DerReader& body) {
  const auto name = body.Next(kDerSequence);
  if (!name) return Error("malformed issuer");
  return name->whole;
}

// The part that is signed. `outer` stands behind it and begins with the algorithm once more.
base::Status ReadSigned(DerReader body, DerReader& outer, Certificate& certificate) {
  TRY(ReadVersion(body, certificate));
  TRY(ReadSerial(body));
  const auto inner = body.Enter(kDerSequence);
  if (!inner) return Error("malformed signature algorithm identifier");
  const auto algorithm = outer.Enter(kDerSequence);
  if (!algorithm) return Error("malformed algorithm identifier");
  if (inner->rest() != algorithm->rest()) {
    return Error("inner and outer signature algorithm identifiers don't match");
  }
  TRY(ReadAlgorithm(*inner));
  certificate.raw_issuer = TRY(ReadNameBytes(body));
  certificate.issuer = TRY(ReadName(certificate.raw_issuer));
  TRY(ReadValidity(body, certificate));
  certificate.raw_subject = TRY(ReadNameBytes(body));
  certificate.subject = TRY(ReadName(certificate.raw_subject));
  const auto key = body.Next(kDerSequence);
  if (!key) return Error("malformed spki");
  TRY(ReadPublicKey(key->whole, certificate));
  return ReadTail(body, certificate);
}

}  // namespace

base::Result<bool> KnowsPublicKey(std::string_view der) {
  auto sequence = DerReader(der).Enter(kDerSequence);
  if (!sequence) return Error("malformed spki");
  const auto identifier = sequence->Enter(kDerSequence);
  if (!identifier) return Error("malformed public key algorithm identifier");
  const Algorithm algorithm = TRY(ReadAlgorithm(*identifier));
  int unused_bits = 0;
  const auto bits = sequence->BitString(&unused_bits);
  if (!bits) return Error("malformed subjectPublicKey");
  const std::string key = RightAligned(*bits, unused_bits);
  base::Status status = base::OkStatus();
  if (algorithm.kind == kRsa) {
    status = CheckRsaKey(algorithm.parameters, key);
  } else if (algorithm.kind == kEcdsa) {
    status = CheckEcdsaKey(algorithm.parameters, key, der);
  } else if (algorithm.kind == kEd25519) {
    status = CheckEd25519Key(algorithm.parameters, key);
  } else if (algorithm.kind == kDsa) {
    status = CheckDsaKey(algorithm.parameters, key);
  } else {
    return false;
  }
  if (!status.ok()) return status;
  return true;
}

base::Result<Certificate> ParseCertificate(std::string_view der) {
  Certificate certificate;
  DerReader input(der);
  auto outer = input.Enter(kDerSequence);
  if (!outer) return Error("malformed certificate");
  const auto body = outer->Enter(kDerSequence);
  if (!body) return Error("malformed tbs certificate");
  TRY(ReadSigned(*body, *outer, certificate));
  if (!outer->BitString()) return Error("malformed signature");
  if (!input.empty()) return Error("trailing data");
  return certificate;
}

}  // namespace portcullis::pki
