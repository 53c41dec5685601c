// SPDX-License-Identifier: Apache-2.0

#include "pki/internal/name_constraints.h"

#include <algorithm>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "pki/internal/mailbox.h"
#include "pki/x509.h"

namespace portcullis::pki {
namespace {

enum class Side { kPermitted, kExcluded };

// From its first dot on, "" if it has none.
std::string_view WithoutFirstLabel(std::string_view domain) {
  const auto dot = domain.find('.');
  return dot == std::string_view::npos ? std::string_view() : domain.substr(dot);
}

// "a.example.com" is in "example.com" and in ".example.com", and "example.com" only in the former.
bool IsInDomain(std::string_view name, std::string_view constraint) {
  if (constraint.size() > name.size()) return false;
  const auto start = name.size() - constraint.size();
  if (!base::EqualsIgnoreCase(name.substr(start), constraint)) return false;
  return constraint[0] == '.' || start == 0 || name[start - 1] == '.';
}

bool CoversDomain(std::string_view constraint, std::string_view name, Side side) {
  if (constraint.empty() || IsInDomain(name, constraint)) return true;
  if (side == Side::kPermitted || !name.starts_with('*')) return false;
  // A wildcard is excluded with any of the names it stands for.
  const std::string_view parent = WithoutFirstLabel(constraint);
  return !parent.empty() && base::EqualsIgnoreCase(parent, WithoutFirstLabel(name));
}

bool CoversMailbox(std::string_view constraint, const Mailbox& mailbox, Side side) {
  if (constraint.find('@') == std::string_view::npos) {
    return CoversDomain(constraint, mailbox.domain, side);
  }
  const auto other = ParseMailbox(constraint);
  return other && other->local == mailbox.local &&
         base::EqualsIgnoreCase(other->domain, mailbox.domain);
}

bool IsMappedIpv4(std::string_view address) {
  using namespace std::string_view_literals;
  return address.size() == 16 && address.starts_with("\0\0\0\0\0\0\0\0\0\0\xff\xff"sv);
}

bool CoversAddress(const NameTrees::Network& network, std::string_view address) {
  if (network.address.size() != address.size() ||
      IsMappedIpv4(network.address) != IsMappedIpv4(address)) {
    return false;
  }
  for (std::size_t i = 0; i < address.size(); ++i) {
    if (((network.address[i] ^ address[i]) & network.mask[i]) != 0) return false;
  }
  return true;
}

std::string NetworkText(const NameTrees::Network& network) {
  int ones = 0;
  for (const char c : network.mask) ones += __builtin_popcount(static_cast<unsigned char>(c));
  const auto* bytes = reinterpret_cast<const unsigned char*>(network.address.data());
  return base::StrCat(IpText(bytes, static_cast<int>(network.address.size())), "/",
                      std::to_string(ones));
}

// One kind of names against the constraints of that kind. `covers(constraint, side)` says whether
// one holds for the name, `text(constraint)` how it is printed.
template <typename Constraint, typename Covers, typename Text>
std::string Check(const std::vector<Constraint>& permitted, const std::vector<Constraint>& excluded,
                  std::string_view name, const Covers& covers, const Text& text) {
  const auto within = [&covers](Side side) {
    return [&covers, side](const Constraint& constraint) { return covers(constraint, side); };
  };
  if (!permitted.empty() &&
      std::none_of(permitted.begin(), permitted.end(), within(Side::kPermitted))) {
    return base::StrCat(name, " is not permitted by any constraint");
  }
  const auto found = std::find_if(excluded.begin(), excluded.end(), within(Side::kExcluded));
  if (found == excluded.end()) return "";
  return base::StrCat(name, " is excluded by constraint ", base::GoQuote(text(*found)));
}

std::string AsItIs(const std::string& constraint) { return constraint; }

std::string Quoted(std::string_view kind, std::string_view name) {
  return base::StrCat(kind, " ", base::GoQuote(name));
}

struct ReadableUri {
  std::string text;
  std::string domain;
};
struct ReadableMailbox {
  std::string text;
  Mailbox mailbox;
};
// Names that can be compared with constraints at all.
struct ReadableNames {
  std::vector<ReadableUri> uris;
  std::vector<ReadableMailbox> mailboxes;
};

std::string ReadUri(const UriName& uri, ReadableNames& names) {
  std::string host = base::ToLower(uri.host);
  if (host.empty()) {
    return base::StrCat("URI with empty host (", base::GoQuote(uri.text),
                        ") cannot be matched against constraints");
  }
  const bool is_bracketed = host.ends_with(']');
  if (host.find(':') != std::string::npos && !is_bracketed) {
    auto parts = golang::SplitHostPort(uri.host);
    if (!parts.ok()) {
      return base::StrCat("cannot parse URI host ", base::GoQuote(uri.host), ": ",
                          parts.status().message());
    }
    host = parts->first;
  }
  if (golang::ParseIp(host).has_value() || (host.starts_with('[') && is_bracketed)) {
    return base::StrCat("URI with IP (", base::GoQuote(uri.text),
                        ") cannot be matched against constraints");
  }
  names.uris.push_back({uri.text, std::move(host)});
  return "";
}

std::string ReadNames(const AlternativeNames& from, ReadableNames& names) {
  for (const auto& uri : from.uris) {
    if (auto error = ReadUri(uri, names); !error.empty()) return error;
  }
  for (const auto& email : from.emails) {
    auto mailbox = ParseMailbox(email);
    if (!mailbox) return base::StrCat("cannot parse rfc822Name ", base::GoQuote(email));
    mailbox->domain = base::ToLower(mailbox->domain);
    std::string text = base::StrCat(mailbox->local, "@", mailbox->domain);
    names.mailboxes.push_back({std::move(text), std::move(*mailbox)});
  }
  return "";
}

std::string CheckAddresses(const AlternativeNames& names, const Certificate& above) {
  for (const auto& ip : names.ips) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(ip.data());
    const std::string text = Quoted("IP address", IpText(bytes, static_cast<int>(ip.size())));
    const auto covers = [&ip](const NameTrees::Network& network, Side) {
      return CoversAddress(network, ip);
    };
    auto error = Check(above.permitted.ips, above.excluded.ips, text, covers, NetworkText);
    if (!error.empty()) return error;
  }
  return "";
}

std::string CheckDomains(const AlternativeNames& names, const Certificate& above) {
  for (const auto& name : names.dns) {
    if (!IsValidDomain(name, DomainUse::kName)) {
      return base::StrCat("x509: cannot parse dnsName ", base::GoQuote(name));
    }
    const auto covers = [&name](const std::string& constraint, Side side) {
      return CoversDomain(constraint, name, side);
    };
    auto error =
        Check(above.permitted.dns, above.excluded.dns, Quoted("DNS name", name), covers, AsItIs);
    if (!error.empty()) return error;
  }
  return "";
}

std::string CheckUris(const ReadableNames& names, const Certificate& above) {
  for (const auto& [text, domain] : names.uris) {
    if (!IsValidDomain(domain, DomainUse::kName)) {
      return base::StrCat("x509: internal error: URI SAN ", base::GoQuote(text),
                          " failed to parse");
    }
    const auto covers = [&domain = domain](const std::string& constraint, Side side) {
      return CoversDomain(constraint, domain, side);
    };
    auto error =
        Check(above.permitted.uris, above.excluded.uris, Quoted("URI", text), covers, AsItIs);
    if (!error.empty()) return error;
  }
  return "";
}

std::string CheckMailboxes(const ReadableNames& names, const Certificate& above) {
  for (const auto& [text, mailbox] : names.mailboxes) {
    if (!IsValidDomain(mailbox.domain, DomainUse::kName)) {
      return base::StrCat("x509: cannot parse rfc822Name ", base::GoQuote(text));
    }
    const auto covers = [&mailbox = mailbox](const std::string& constraint, Side side) {
      return CoversMailbox(constraint, mailbox, side);
    };
    auto error = Check(above.permitted.emails, above.excluded.emails, Quoted("email address", text),
                       covers, AsItIs);
    if (!error.empty()) return error;
  }
  return "";
}

std::string CheckBelow(const Certificate& certificate, std::span<const Certificate* const> above) {
  ReadableNames names;
  if (auto error = ReadNames(certificate.names, names); !error.empty()) return error;
  for (const Certificate* authority : above) {
    if (!authority->has_name_constraints) continue;
    auto error = CheckAddresses(certificate.names, *authority);
    if (error.empty()) error = CheckDomains(certificate.names, *authority);
    if (error.empty()) error = CheckUris(names, *authority);
    if (error.empty()) error = CheckMailboxes(names, *authority);
    if (!error.empty()) return error;
  }
  return "";
}

}  // namespace

std::string NameConstraintError(std::span<const Certificate* const> chain) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto above = chain.subspan(i + 1);
    const bool constrained =
        std::any_of(above.begin(), above.end(),
                    [](const Certificate* authority) { return authority->has_name_constraints; });
    if (!constrained || !chain[i]->has_alternative_names) continue;
    if (auto error = CheckBelow(*chain[i], above); !error.empty()) return error;
  }
  return "";
}

}  // namespace portcullis::pki
