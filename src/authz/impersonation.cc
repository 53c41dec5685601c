#include "authz/impersonation.h"

#include <algorithm>
#include <utility>

#include "api/names.h"
#include "authn/service_account.h"
#include "base/strings.h"
#include "net/http.h"

namespace portcullis::authz {
namespace {

constexpr std::string_view kExtraPrefix = "impersonate-extra-";
constexpr std::string_view kAuthenticationGroup = "authentication.k8s.io";

// Extra keys are percent-encoded, because header names know no '/' and no upper case.
std::string Unescape(std::string_view key) {
  std::string out;
  for (std::size_t i = 0; i < key.size(); ++i) {
    auto digit = [&](std::size_t at) {
      const char c = at < key.size() ? key[at] : 'x';
      return c >= '0' && c <= '9'   ? c - '0'
             : c >= 'a' && c <= 'f' ? c - 'a' + 10
             : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                    : -1;
    };
    if (key[i] != '%') {
      out += key[i];
    } else if (digit(i + 1) >= 0 && digit(i + 2) >= 0) {
      out += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
      i += 2;
    } else {
      return std::string(key);  // an encoding that is wrong is taken literally
    }
  }
  return out;
}

// Somebody, or something of somebody, that the request wants to be.
struct Target {
  std::string kind;  // as in an ObjectReference
  std::string ns, name, api_version, field;
};

std::vector<Target> TargetsOf(const net::Headers& headers) {
  std::vector<Target> targets;
  if (std::string_view user = headers.Get("Impersonate-User"); !user.empty()) {
    std::string_view ns, name;
    if (authn::SplitServiceAccountUser(user, ns, name)) {
      targets.push_back({"ServiceAccount", std::string(ns), std::string(name), "", ""});
    } else {
      targets.push_back({"User", "", std::string(user), "", ""});
    }
  }
  for (std::string_view group : headers.All("Impersonate-Group")) {
    targets.push_back({"Group", "", std::string(group), "", ""});
  }
  for (const net::Header& header : headers) {
    const std::string name = base::ToLower(header.name);
    if (!name.starts_with(kExtraPrefix)) continue;
    std::string key = base::ToLower(Unescape(std::string_view(name).substr(kExtraPrefix.size())));
    targets.push_back({"UserExtra", "", header.value, "authentication.k8s.io/v1", std::move(key)});
  }
  if (std::string_view uid = headers.Get("Impersonate-Uid"); !uid.empty()) {
    targets.push_back({"UID", "", std::string(uid), "authentication.k8s.io/v1", ""});
  }
  return targets;
}

// As Go prints a list of ObjectReferences.
std::string Print(const std::vector<Target>& targets) {
  std::vector<std::string> items;
  for (const Target& t : targets) {
    items.push_back(
        base::StrCat("{", t.kind, " ", t.ns, " ", t.name, "  ", t.api_version, "  ", t.field, "}"));
  }
  return base::StrCat("[", base::Join(items, " "), "]");
}

Attributes AttributesFor(const Target& target, const api::UserInfo& user) {
  Attributes a;
  a.user = &user;
  a.verb = "impersonate";
  a.version = "v1";
  a.name = target.name;
  a.ns = target.ns;
  if (target.kind == "ServiceAccount") {
    a.resource = "serviceaccounts";
  } else if (target.kind == "User") {
    a.resource = "users";
  } else if (target.kind == "Group") {
    a.resource = "groups";
  } else {
    a.group = kAuthenticationGroup;
    a.resource = target.kind == "UID" ? "uids" : "userextras";
    a.subresource = target.field;
  }
  return a;
}

api::UserInfo UserOf(const std::vector<Target>& targets) {
  api::UserInfo user;
  for (const Target& t : targets) {
    if (t.kind == "User") {
      user.name = t.name;
    } else if (t.kind == "ServiceAccount") {
      user.name = authn::ServiceAccountUser(t.ns, t.name);
    } else if (t.kind == "Group") {
      user.groups.push_back(t.name);
    } else if (t.kind == "UserExtra") {
      user.extra[t.field].push_back(t.name);
    } else {
      user.uid = t.name;
    }
  }
  std::string_view ns, name;
  if (user.groups.empty() && authn::SplitServiceAccountUser(user.name, ns, name)) {
    user.groups = {"system:serviceaccounts", base::StrCat("system:serviceaccounts:", ns)};
  }
  const std::string_view everybody =
      user.name == api::kUserAnonymous ? api::kGroupUnauthenticated : api::kGroupAuthenticated;
  if (!user.InGroup(everybody) && !user.InGroup(api::kGroupUnauthenticated)) {
    user.groups.emplace_back(everybody);
  }
  return user;
}

}  // namespace

base::Result<std::optional<api::UserInfo>> Impersonate(const net::Headers& headers,
                                                       const api::UserInfo& user,
                                                       const Authorizer& authorizer) {
  const std::vector<Target> targets = TargetsOf(headers);
  if (targets.empty()) return std::optional<api::UserInfo>();
  if (targets.front().kind != "User" && targets.front().kind != "ServiceAccount") {
    return base::Status(base::Reason::kUnknown, base::StrCat("requested ", Print(targets),
                                                             " without impersonating a user"));
  }
  for (const Target& target : targets) {
    const Attributes attributes = AttributesFor(target, user);
    const Decision decision = authorizer.Authorize(attributes);
    if (!decision.allowed()) return Denied(attributes, decision.reason);
  }
  return std::optional<api::UserInfo>(UserOf(targets));
}

}  // namespace portcullis::authz
