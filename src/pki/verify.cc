// SPDX-License-Identifier: Apache-2.0

#include "pki/verify.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "pki/internal/chain.h"

namespace portcullis::pki {
namespace {

std::string NormalIp(std::string_view text) {
  const auto address = golang::ParseIp(text);
  return address ? address->Unmap().ToString() : std::string();
}

// RFC 6125 §6.4.3 as Go reads it: a wildcard stands for exactly the leftmost label.
bool MatchesHost(std::string pattern, std::string host) {
  pattern = base::ToLower(pattern);
  host = base::ToLower(host);
  if (host.ends_with('.')) host.pop_back();
  if (pattern.empty() || host.empty()) return false;
  if (!pattern.starts_with("*.")) return pattern == host;
  const auto dot = host.find('.');
  return dot != std::string::npos && dot > 0 && host.substr(dot) == pattern.substr(1);
}

std::vector<std::string> IpTexts(const AlternativeNames& names) {
  std::vector<std::string> texts;
  for (const auto& ip : names.ips) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(ip.data());
    texts.push_back(IpText(bytes, static_cast<int>(ip.size())));
  }
  return texts;
}

// What lasts until 9999 is beyond a WallTime.
std::int64_t WholeSeconds(base::WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

// "2049-01-01T00:00:00Z".
std::string TimeText(std::int64_t seconds) {
  std::tm parts{};
  const std::time_t time = seconds;
  gmtime_r(&time, &parts);
  std::array<char, 40> text{};
  const auto size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

}  // namespace

base::Result<ReadCertificate> Read(X509* certificate) {
  Certificate parsed = TRY(ParseCertificate(DerOf(certificate)));
  X509_up_ref(certificate);
  return ReadCertificate{X509Ptr(certificate), std::move(parsed)};
}

base::Result<ReadCertificates> ReadAll(X509* leaf, const STACK_OF(X509) * others) {
  ReadCertificates all;
  all.push_back(TRY(Read(leaf)));
  for (int i = 0; i < sk_X509_num(others); ++i) {
    X509* other = sk_X509_value(others, i);
    if (X509_cmp(other, leaf) != 0) all.push_back(TRY(Read(other)));
  }
  return all;
}

std::string ValidityError(const Certificate& certificate, base::WallTime now) {
  const std::int64_t seconds = WholeSeconds(now);
  const bool is_whole = std::chrono::seconds(seconds) == now.time_since_epoch();
  const bool early = seconds < certificate.not_before;
  const bool late =
      seconds > certificate.not_after || (seconds == certificate.not_after && !is_whole);
  if (!early && !late) return "";
  return base::StrCat("x509: certificate has expired or is not yet valid: current time ",
                      base::FormatTime(now), early ? " is before " : " is after ",
                      TimeText(early ? certificate.not_before : certificate.not_after));
}

std::string CriticalExtensionError(const Certificate& certificate) {
  return certificate.has_unhandled_critical ? "x509: unhandled critical extension" : "";
}

std::string VerifyHost(const Certificate& leaf, std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::vector<std::string> ips = IpTexts(leaf.names);
  const std::string ip = NormalIp(host);
  const auto& candidates = ip.empty() ? leaf.names.dns : ips;
  for (const auto& candidate : candidates) {
    if (ip.empty() ? MatchesHost(candidate, std::string(host)) : candidate == ip) return "";
  }
  if (!leaf.has_alternative_names && MatchesHost(leaf.subject.common_name, std::string(host))) {
    return "x509: certificate relies on legacy Common Name field, use SANs instead";
  }
  if (!ip.empty() && ips.empty()) {
    return base::StrCat("x509: cannot validate certificate for ", host,
                        " because it doesn't contain any IP SANs");
  }
  if (candidates.empty()) {
    return base::StrCat("x509: certificate is not valid for any names, but wanted to match ", host);
  }
  return base::StrCat("x509: certificate is valid for ", base::Join(candidates, ", "), ", not ",
                      host);
}

bool HasInsecureSignature(const X509* certificate) {
  int digest = NID_undef;
  OBJ_find_sigid_algs(X509_get_signature_nid(certificate), &digest, nullptr);
  return digest == NID_sha1 || digest == NID_md5;
}

void Verdict::DependOn(const Certificate& certificate, base::WallTime now) {
  const std::int64_t seconds = WholeSeconds(now);
  const std::int64_t last = certificate.not_after;  // valid in its first instant only
  for (const std::int64_t change : {certificate.not_before, last, last + 1}) {
    if (change <= seconds) {
      from = std::max(from, change);
    } else {
      until = std::min(until, change);
    }
  }
  if (seconds == last) until = seconds;
}

Verdict VerifyCertificate(const VerifyRequest& request) {
  const Certificate& leaf = request.chain[0].parsed;
  Verdict verdict;
  verdict.error = CriticalExtensionError(leaf);
  if (!verdict.error.empty()) return verdict;
  verdict.error = ValidityError(leaf, request.now);
  if (verdict.error.empty() && !request.host.empty())
    verdict.error = VerifyHost(leaf, request.host);
  if (verdict.error.empty()) verdict = VerifyChain(request);
  for (const auto& certificate : request.chain) verdict.DependOn(certificate.parsed, request.now);
  return verdict;
}

}  // namespace portcullis::pki
