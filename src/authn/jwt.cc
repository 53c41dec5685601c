#include "authn/jwt.h"

#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::authn {
namespace {

base::Status Malformed(std::string message) {
  return {base::Reason::kUnauthorized, std::move(message)};
}

base::Result<json::Document> ParsePart(std::string_view part) {
  auto text = base::Base64UrlDecode(part);
  if (!text) return Malformed("illegal base64 data in token");
  auto document = json::ParseDocument(std::move(*text), {.max_depth = 32});
  if (!document.ok()) return Malformed(document.status().message());
  if (!document->root().is_object()) return Malformed("token part is not an object");
  return document;
}

}  // namespace

base::Result<Jwt> ParseJwt(std::string_view token) {
  const std::vector<std::string_view> parts = base::Split(token, '.');
  if (parts.size() != 3) return Malformed("compact JWS format must have three parts");
  const json::Document header = TRY(ParsePart(parts[0]));
  Jwt jwt;
  jwt.algorithm = header["alg"].AsString();
  jwt.key_id = header["kid"].AsString();
  // An extension we do not know would change what the signature means (RFC 7515 §4.1.11).
  if (!header["crit"].is_null()) return Malformed("unsupported crit header");
  jwt.claims = TRY(ParsePart(parts[1]));
  auto signature = base::Base64UrlDecode(parts[2]);
  if (!signature) return Malformed("illegal base64 data in token");
  jwt.signature = std::move(*signature);
  jwt.signed_part = token.substr(0, parts[0].size() + 1 + parts[1].size());
  return jwt;
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
