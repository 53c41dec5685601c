// SPDX-License-Identifier: Apache-2.0

#include "authn/jwt.h"

#include <algorithm>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "json/reader.h"
#include "pki/certificates.h"

namespace portcullis::authn {
namespace {

base::Status Malformed(std::string message) {
  return {base::Reason::kUnauthorized, std::move(message)};
}

// As Go's decoder of base64, which leaves out ends of lines.
base::Result<std::string> Decode(std::string_view part) {
  std::string kept;
  for (const char c : part) {
    if (c != '\r' && c != '\n') kept.push_back(c);
  }
  auto bytes = base::Base64UrlDecode(kept);
  if (!bytes) {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const std::size_t bad = std::min(kept.find_first_not_of(kAlphabet), kept.size() - 1);
    return Malformed(base::StrCat("illegal base64 data at input byte ", std::to_string(bad)));
  }
  return *std::move(bytes);
}

std::string WithoutBlanks(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    if (c != ' ' && (c < '\t' || c > '\r')) kept.push_back(c);
  }
  return kept;
}

// A public key that can be one; the token is not verified by it.
bool IsPublicKey(json::Value key) {
  const auto has = [key](std::string_view member) {
    const auto bytes = base::Base64UrlDecode(key[member].AsString());
    return bytes && !bytes->empty();
  };
  const std::string_view kind = key["kty"].AsString();
  if (!key["d"].is_null()) return false;
  if (kind == "RSA") return has("n") && has("e");
  if (kind == "EC") return key["crv"].AsString().starts_with("P-") && has("x") && has("y");
  return kind == "OKP" && key["crv"].AsString() == "Ed25519" && has("x");
}

bool AreCertificates(json::Value chain) {
  if (!chain.is_array()) return false;
  return std::all_of(chain.elements().begin(), chain.elements().end(), [](json::Value one) {
    const auto der = base::Base64Decode(one.AsString());
    return one.is_string() && der && !pki::DescribeCertificate(*der).sha256.empty();
  });
}

bool IsTextOrNull(json::Value value) { return value.is_null() || value.is_string(); }

base::Status ReadHeader(const std::string& text, Jwt& jwt, bool& encodes_payload) {
  if (text.empty()) return base::OkStatus();
  std::vector<std::string> duplicates;
  const auto document = json::ParseDocument(text, {.duplicate_keys = &duplicates, .max_depth = 32});
  if (!document.ok()) return Malformed(document.status().message());
  const json::Document& header = *document;
  if (!duplicates.empty() || !(header.root().is_object() || header.root().is_null())) {
    return Malformed("malformed header of a token");
  }
  for (const char* name : {"alg", "kid", "nonce"}) {
    if (!IsTextOrNull(header[name])) return Malformed("malformed header of a token");
  }
  if ((!header["jwk"].is_null() && !IsPublicKey(header["jwk"])) ||
      (!header["x5c"].is_null() && !AreCertificates(header["x5c"]))) {
    return Malformed("malformed key of a token");
  }
  jwt.algorithm = header["alg"].AsString();
  jwt.key_id = header["kid"].AsString();
  // RFC 7515 §4.1.11; "b64" of RFC 7797 is known.
  const json::Value critical = header["crit"];
  jwt.has_unknown_critical = !critical.is_null() && !critical.is_array();
  for (json::Value name : critical.elements()) {
    if (name.AsString() != "b64") jwt.has_unknown_critical = true;
  }
  encodes_payload = !header["b64"].is_bool() || header["b64"].AsBool();
  return base::OkStatus();
}

}  // namespace

base::Result<Jwt> ParseJwt(std::string_view token) {
  const std::vector<std::string_view> parts = base::Split(token, '.');
  if (parts.size() != 3) return Malformed("compact JWS format must have three parts");
  const std::string header = TRY(Decode(WithoutBlanks(parts[0])));
  const std::string payload = TRY(Decode(parts[1]));
  Jwt jwt;
  jwt.signature = TRY(Decode(WithoutBlanks(parts[2])));
  bool encodes_payload = true;
  TRY(ReadHeader(header, jwt, encodes_payload));
  std::vector<std::string> duplicates;
  auto claims = json::ParseDocument(payload, {.duplicate_keys = &duplicates, .max_depth = 32});
  if (!claims.ok()) return Malformed(claims.status().message());
  jwt.claims = *std::move(claims);
  if (!jwt.claims.root().is_object() && !jwt.claims.root().is_null()) {
    return Malformed("claims are not an object");
  }
  if (!duplicates.empty()) jwt.duplicate_claim = duplicates[0];
  jwt.signed_part = base::StrCat(base::Base64UrlEncode(header), ".",
                                 encodes_payload ? base::Base64UrlEncode(payload) : payload);
  return jwt;
}

std::optional<std::string_view> IssuerOf(const json::Document& claims) {
  std::string_view issuer;
  for (const auto& member : claims.root().members()) {
    if (!base::EqualsIgnoreCase(member.name(), "iss") || member.value.is_null()) continue;
    if (!member.value.is_string()) return std::nullopt;
    issuer = member.value.AsString();
  }
  return issuer;
}

std::optional<std::string> UntrustedIssuer(const json::Document& claims) {
  const auto issuer = claims.root().is_object() ? IssuerOf(claims) : std::nullopt;
  if (!issuer) return std::nullopt;
  return std::string(*issuer == "accounts.google.com" ? "https://accounts.google.com" : *issuer);
}

std::optional<std::string> UntrustedIssuer(std::string_view token) {
  const std::vector<std::string_view> parts = base::Split(token, '.');
  if (parts.size() != 3) return std::nullopt;
  auto payload = Decode(parts[1]);
  if (!payload.ok()) return std::nullopt;
  const auto claims = json::ParseDocument(*std::move(payload), {.max_depth = 32});
  return claims.ok() ? UntrustedIssuer(*claims) : std::nullopt;
}

base::Result<std::string> SignJwt(const JwtKey& key, std::string_view claims_json) {
  const std::string header =
      base::StrCat(R"({"alg":")", key.algorithm(), R"(","kid":")", key.id(), R"("})");
  std::string text =
      base::StrCat(base::Base64UrlEncode(header), ".", base::Base64UrlEncode(claims_json));
  const std::string signature = TRY(key.Sign(text));
  return base::StrCat(text, ".", base::Base64UrlEncode(signature));
}

}  // namespace portcullis::authn
