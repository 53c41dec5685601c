// SPDX-License-Identifier: Apache-2.0

#include "registry/certificates/issued_chain.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include "base/strings.h"
#include "golang/time.h"
#include "pki/certificate.h"
#include "pki/certificate_request.h"
#include "pki/pem.h"
#include "pki/public_key.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostChain = std::size_t{100} << 10;
constexpr std::int64_t kNanos = 1'000'000'000;

FieldPath ChainPath() { return FieldPath("status", "certificateChain"); }

bool IsAtom(std::string_view text) {
  if (text.empty() || text.front() == '.' || text.back() == '.') return false;
  return text.find("..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) > ' ' && c != '\x7f' &&
                  std::string_view("()<>[]:;@\\,\"").find(c) == std::string_view::npos;
         });
}

// Addresses without comments and display names, which certificates do not have.
bool IsAddress(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos || !IsAtom(text.substr(at + 1))) return false;
  const std::string_view user = text.substr(0, at);
  const bool is_quoted = user.size() > 2 && user.front() == '"' && user.find('"', 1) == at - 1;
  return is_quoted || IsAtom(user);
}

void CheckNames(const pki::AlternativeNames& names, FieldErrors& errors) {
  const auto add = [&](std::string_view name, std::string_view what) {
    errors.push_back(api::Invalid(ChainPath(), name, base::StrCat("leaf certificate", what)));
  };
  for (const std::string& name : names.dns) {
    if (name.empty()) add(name, " should not contain empty DNSName");
    if (name.find("..") != std::string::npos) add(name, "'s DNSName should not contain '..'");
    if (name.starts_with('.') || name.ends_with('.')) {
      add(name, "'s DNSName should not start or end with '.'");
    }
  }
  for (const std::string& email : names.emails) {
    if (!IsAddress(email)) add(email, " should not contain invalid EmailAddress");
  }
}

// Whether the leaf is for the key that the request names.
bool CheckKey(const std::string& leaf_key, json::Value chain, json::Value wanted,
              FieldErrors& errors) {
  const bool has_stub = !wanted["stubPKCS10Request"].AsString().empty();
  const std::string_view name = has_stub ? "stubPKCS10Request" : "pkixPublicKey";
  const std::string bytes = base::Base64Decode(wanted[name].AsString()).value_or(std::string());
  const auto request = pki::ParseCertificateRequest(has_stub ? bytes : "");
  const std::string& key = request.ok() ? request->public_key : bytes;
  const bool has_key = request.ok() || !has_stub;
  const auto read = has_key ? pki::ReadPublicKey(key) : std::nullopt;
  if (!read) {
    errors.push_back(api::Invalid(
        FieldPath("spec", name), api::BadValue::Omitted(),
        has_stub ? "must be a valid PKCS#10 CSR" : "must be a valid PKIX-serialized public key"));
    return false;
  }
  if (read->kind < pki::KeyKind::kEd25519 || pki::IsSameKey(key, leaf_key)) return true;
  errors.push_back(api::Invalid(ChainPath(), chain,
                                "leaf certificate was not issued to the requested public key"));
  return false;
}

std::int64_t SecondsOf(json::Value time) {
  const auto moment = golang::ParseTime(time.AsString());
  return moment.ok() ? moment->seconds : 0;
}

// The first thing that is wrong with the times.
std::optional<api::FieldError> WrongTime(json::Value request, const pki::Certificate& leaf,
                                         base::WallTime now) {
  using std::chrono::minutes;
  const json::Value status = request["status"];
  const auto wrong = [&](std::string_view name, std::string_view what) {
    return api::Invalid(FieldPath("status", name), status[name], what);
  };
  const std::int64_t from = SecondsOf(status["notBefore"]);
  const std::int64_t until = SecondsOf(status["notAfter"]);
  if (from != leaf.not_before) {
    return wrong("notBefore", "must be set to the NotBefore time encoded in the leaf certificate");
  }
  const base::WallTime start{std::chrono::seconds(from)};
  if (start <= now - minutes(5) || start >= now + minutes(5)) {
    return wrong("notBefore", "must be set to within 5 minutes of kube-apiserver's current time");
  }
  if (until != leaf.not_after) {
    return wrong("notAfter", "must be set to the NotAfter time encoded in the leaf certificate");
  }
  const std::int64_t lifetime = until - from;
  const std::int64_t most = request["spec"]["maxExpirationSeconds"].AsInt();
  if (lifetime < 60 * 60 || lifetime > most) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    return api::Invalid(
        ChainPath(), lifetime > kMost / kNanos ? kMost : lifetime * kNanos,
        lifetime < 60 * 60
            ? "leaf certificate lifetime must be >= 1 hour"
            : base::StrCat("leaf certificate lifetime must be <= spec.maxExpirationSeconds (",
                           std::to_string(most), ")"));
  }
  const std::int64_t refresh = SecondsOf(status["beginRefreshAt"]);
  if (refresh < from + 600) {
    return wrong("beginRefreshAt", "must be at least 10 minutes after status.notBefore");
  }
  if (refresh > until - 600) {
    return wrong("beginRefreshAt", "must be at least 10 minutes before status.notAfter");
  }
  return std::nullopt;
}

bool CheckTimesAreSet(json::Value status, FieldErrors& errors) {
  constexpr std::string_view kConsistent =
      "must be present and consistent with the issued certificate";
  for (const auto& [name, what] :
       {std::pair<std::string_view, std::string_view>{"notBefore", kConsistent},
        {"notAfter", kConsistent},
        {"beginRefreshAt", "must be present and in the range [notbefore+10min, notafter-10min]"}}) {
    if (status[name].is_null()) {
      errors.push_back(api::Required(FieldPath("status", name), what));
    }
  }
  return errors.empty();
}

}  // namespace

void CheckIssued(json::Value request, json::Value wanted, base::WallTime now, FieldErrors& errors) {
  const json::Value chain = request["status"]["certificateChain"];
  const auto refuse = [&](std::string_view what) {
    errors.push_back(api::Invalid(ChainPath(), chain.AsString(), what));
  };
  std::string_view rest = chain.AsString();
  if (rest.size() > kMostChain) {
    errors.push_back(api::TooLong(ChainPath(), static_cast<int>(kMostChain)));
    return;
  }
  pki::PemBlock block;
  if (!pki::NextPemBlock(rest, block)) {
    return refuse("issued certificate chain must contain at least one certificate");
  }
  if (block.type != "CERTIFICATE") {
    return refuse("issued certificate chain must consist entirely of CERTIFICATE PEM blocks");
  }
  const auto leaf = pki::ParseCertificate(block.bytes);
  if (!leaf.ok()) return refuse("leaf certificate does not parse as valid X.509");
  CheckNames(leaf->names, errors);
  if (!CheckKey(leaf->raw_public_key, chain, wanted, errors)) return;
  if (!CheckTimesAreSet(request["status"], errors)) return;
  if (const auto wrong = WrongTime(request, *leaf, now)) {
    errors.push_back(*wrong);
    return;
  }
  while (pki::NextPemBlock(rest, block)) {
    if (block.type != "CERTIFICATE") {
      // The word is misspelt there.
      return refuse(
          "issued certificate chain must consist entirely of CERT"
          "FICATE PEM blocks");
    }
    if (!pki::ParseCertificate(block.bytes).ok()) {
      return refuse("intermediate certificate does not parse as valid X.509");
    }
  }
}

}  // namespace portcullis::registry
