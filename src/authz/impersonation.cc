// SPDX-License-Identifier: Apache-2.0

#include "authz/impersonation.h"

#include <algorithm>
#include <utility>

#include "api/domain_path.h"
#include "api/field_error.h"
#include "api/names.h"
#include "api/selector/label_selector.h"
#include "authn/service_account.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/url.h"
#include "net/http.h"

namespace portcullis::authz {
namespace {

constexpr std::string_view kExtraPrefix = "impersonate-extra-";
constexpr std::string_view kAuthenticationGroup = "authentication.k8s.io";
constexpr std::string_view kNodePrefix = "system:node:";
constexpr std::string_view kNodeOfToken = "authentication.kubernetes.io/node-name";
constexpr std::string_view kKeysOfToken = "authentication.kubernetes.io/associated-node-keys";
// From so many groups or values on, the right to all of them is asked for first.
constexpr std::size_t kMany = 4;

// Keys are percent-encoded, because header names know no '/' and no upper case. An encoding that is
// wrong is taken literally.
std::string ExtraKey(std::string_view encoded) {
  const std::string lower = base::ToLower(encoded);
  auto key = golang::PathUnescape(lower);
  return key.ok() ? *std::move(key) : lower;
}

api::UserInfo WantedUser(const net::Headers& headers) {
  api::UserInfo user;
  user.name = headers.Get("Impersonate-User");
  user.uid = headers.Get("Impersonate-Uid");
  for (std::string_view group : headers.All("Impersonate-Group")) user.groups.emplace_back(group);
  for (const net::Header& header : headers) {
    const std::string_view begin = std::string_view(header.name).substr(0, kExtraPrefix.size());
    if (!base::EqualsIgnoreCase(begin, kExtraPrefix)) continue;
    const std::string name = base::ToLower(header.name);
    user.extra[ExtraKey(std::string_view(name).substr(kExtraPrefix.size()))].push_back(
        header.value);
  }
  return user;
}

bool OnlyNameSet(const api::UserInfo& user) {
  return user.uid.empty() && user.groups.empty() && user.extra.empty();
}

// As Go prints a list of texts and a user with %#v.
std::string Print(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(base::GoQuote(text));
  return base::StrCat("[]string{", base::Join(quoted, ", "), "}");
}

std::string Print(const api::UserInfo& user) {
  std::vector<std::string> extra;
  for (const auto& [key, values] : user.extra) {
    extra.push_back(base::StrCat(base::GoQuote(key), ":", Print(values)));
  }
  return base::StrCat(
      "&user.DefaultInfo{Name:", base::GoQuote(user.name), ", UID:", base::GoQuote(user.uid),
      ", Groups:", user.groups.empty() ? std::string("[]string(nil)") : Print(user.groups),
      ", Extra:map[string][]string",
      extra.empty() ? std::string("(nil)") : base::StrCat("{", base::Join(extra, ", "), "}"), "}");
}

// The node of "system:node:<name>"; empty if the user is no node.
std::string_view NodeOf(std::string_view user) {
  if (!user.starts_with(kNodePrefix)) return {};
  const std::string_view node = user.substr(kNodePrefix.size());
  return api::IsDns1123Subdomain(node).empty() ? node : std::string_view();
}

bool IsServiceAccount(std::string_view user) {
  std::string_view ns, name;
  return authn::SplitServiceAccountUser(user, ns, name);
}

// Whether the token of a service account says that it is used on the node.
bool RunsOn(const api::UserInfo& requestor, std::string_view node) {
  const auto said = requestor.extra.find(std::string(kNodeOfToken));
  return IsServiceAccount(requestor.name) && said != requestor.extra.end() &&
         said->second.size() == 1 && said->second[0] == node;
}

struct Mode {
  std::string_view name;  // "" is the old way
  // Whether the requestor can become the other user so.
  bool (*applies)(const api::UserInfo& requestor, const api::UserInfo& wanted);
};

constexpr Mode kAssociatedNode = {
    "associated-node", [](const api::UserInfo& requestor, const api::UserInfo& wanted) {
      const std::string_view node = NodeOf(wanted.name);
      return OnlyNameSet(wanted) && !node.empty() && RunsOn(requestor, node);
    }};
constexpr Mode kModes[] = {
    kAssociatedNode,
    {"arbitrary-node",
     [](const api::UserInfo&, const api::UserInfo& wanted) {
       return OnlyNameSet(wanted) && !NodeOf(wanted.name).empty();
     }},
    {"serviceaccount",
     [](const api::UserInfo&, const api::UserInfo& wanted) {
       return OnlyNameSet(wanted) && IsServiceAccount(wanted.name);
     }},
    {"user-info",
     [](const api::UserInfo&, const api::UserInfo& wanted) {
       return NodeOf(wanted.name).empty() && !IsServiceAccount(wanted.name);
     }},
    {"", [](const api::UserInfo&, const api::UserInfo&) { return true; }},
};
constexpr std::size_t kOldWay = std::size(kModes) - 1;

// A fault is a refusal by its message; the reason does not matter.
base::Status CheckExtraKey(const std::string& key) {
  const api::FieldPath path = api::FieldPath("extra").Child("key");
  const api::FieldErrors errors = api::CheckDomainPrefixedPath(path, key);
  if (errors.empty()) return base::OkStatus();
  return base::Status(base::Reason::kForbidden, api::AggregateText(errors));
}

// Asks for the parts of one user in one mode.
class Attempt {
 public:
  Attempt(const Mode& mode, const Attributes& request, const api::UserInfo& wanted,
          const Authorizer& authorizer)
      : mode_(mode),
        request_(request),
        wanted_(wanted),
        authorizer_(authorizer),
        requestor_(*request.user),
        verb_(mode.name.empty() ? "impersonate" : base::StrCat("impersonate:", mode.name)) {
    if (mode.name != kAssociatedNode.name) return;
    // The same for all nodes: which node it is has been checked, and is not the question.
    std::vector<std::string> keys;
    for (const auto& entry : requestor_.extra) keys.push_back(entry.first);
    requestor_.extra = {{std::string(kKeysOfToken), std::move(keys)}};
  }

  base::Result<Impersonated> Run() {
    if (constrained()) TRY(CheckRequest());
    Impersonated out{wanted_, constrained() ? verb_ : ""};
    TRY(CheckName(out.user));
    if (!wanted_.uid.empty()) TRY(Check(kAuthenticationGroup, "uids", wanted_.uid));
    TRY(CheckGroups());
    TRY(CheckExtra());
    const bool anonymous = out.user.name == api::kUserAnonymous;
    const std::string_view everybody =
        anonymous ? api::kGroupUnauthenticated : api::kGroupAuthenticated;
    if (!out.user.InGroup(everybody) && !out.user.InGroup(api::kGroupUnauthenticated)) {
      out.user.groups.emplace_back(everybody);
    }
    return out;
  }

 private:
  bool constrained() const { return !mode_.name.empty(); }
  std::string_view OwnGroup() const { return constrained() ? kAuthenticationGroup : ""; }

  base::Status Ask(const Attributes& a) const {
    const Decision decision = authorizer_.Authorize(a);
    if (decision.allowed()) return base::OkStatus();
    if (decision.error.empty()) return Denied(a, decision.reason);
    if (decision.reason.empty()) return Denied(a, decision.error);
    return Denied(a, base::StrCat(decision.error, ": ", decision.reason));
  }

  Attributes AttributesOf(std::string_view group, std::string_view resource, std::string_view name,
                          std::string_view subresource = {}) const {
    Attributes a;
    a.user = &requestor_;
    a.verb = verb_;
    a.group = group;
    a.version = "v1";
    a.resource = resource;
    a.subresource = subresource;
    a.name = name;
    return a;
  }
  base::Status Check(std::string_view group, std::string_view resource, std::string_view name,
                     std::string_view subresource = {}) const {
    return Ask(AttributesOf(group, resource, name, subresource));
  }

  // May the verb of the request be used in this mode?
  base::Status CheckRequest() const {
    const std::string verb = base::StrCat("impersonate-on:", mode_.name, ":", request_.verb);
    Attributes a = request_;
    a.user = &requestor_;
    a.verb = verb;
    return Ask(a);
  }

  // Nodes and service accounts have groups that go with the name.
  base::Status CheckName(api::UserInfo& user) const {
    Attributes a = AttributesOf(OwnGroup(), "users", wanted_.name);
    if (const std::string_view node = NodeOf(wanted_.name); constrained() && !node.empty()) {
      a.resource = "nodes";
      a.name = mode_.name == kAssociatedNode.name ? "*" : node;
      user.groups = {"system:nodes"};
    }
    if (authn::SplitServiceAccountUser(wanted_.name, a.ns, a.name)) {
      a.resource = "serviceaccounts";
      if (user.groups.empty()) {
        user.groups = {"system:serviceaccounts", base::StrCat("system:serviceaccounts:", a.ns)};
      }
    }
    return Ask(a);
  }

  base::Status CheckGroups() const {
    if (wanted_.groups.empty()) return base::OkStatus();
    if (constrained()) {
      if (wanted_.InGroup("")) {
        return Denied(AttributesOf(OwnGroup(), "groups", ""),
                      "impersonating the empty string group is not allowed");
      }
      if (wanted_.InGroup(api::kGroupMasters)) {
        return Denied(AttributesOf(OwnGroup(), "groups", api::kGroupMasters),
                      "impersonating the system:masters group is not allowed");
      }
      if (wanted_.groups.size() >= kMany && Check(OwnGroup(), "groups", "*").ok()) {
        return base::OkStatus();
      }
    }
    for (const std::string& group : wanted_.groups) TRY(Check(OwnGroup(), "groups", group));
    return base::OkStatus();
  }

  base::Status CheckExtra() const {
    if (wanted_.extra.empty()) return base::OkStatus();
    if (constrained()) {
      const Attributes all = AttributesOf(kAuthenticationGroup, "userextras", "");
      for (const auto& [key, values] : wanted_.extra) {
        const std::string fault = FaultOf(key, values);
        if (!fault.empty()) return Denied(all, fault);
      }
      if (HasManyExtra() && Check(kAuthenticationGroup, "userextras", "*", "*").ok()) {
        return base::OkStatus();
      }
    }
    for (const auto& [key, values] : wanted_.extra) {
      for (const std::string& value : values) {
        TRY(Check(kAuthenticationGroup, "userextras", value, key));
      }
    }
    return base::OkStatus();
  }

  static std::string FaultOf(const std::string& key, const std::vector<std::string>& values) {
    if (key.empty()) return "impersonating the empty string key in extra is not allowed";
    const base::Status status = CheckExtraKey(key);
    if (!status.ok()) {
      return base::StrCat("impersonating an invalid key in extra is not allowed: ",
                          status.message());
    }
    if (key != base::ToLower(key)) {
      return base::StrCat("impersonating a non-lowercase key in extra is not allowed: ",
                          base::GoQuote(key));
    }
    if (std::find(values.begin(), values.end(), "") != values.end()) {
      return "impersonating the empty string value in extra is not allowed";
    }
    return {};
  }

  bool HasManyExtra() const {
    std::size_t count = 0;
    for (const auto& entry : wanted_.extra) count += entry.second.size();
    return count >= kMany;
  }

  const Mode& mode_;
  const Attributes& request_;
  const api::UserInfo& wanted_;
  const Authorizer& authorizer_;
  api::UserInfo requestor_;
  const std::string verb_;
};

}  // namespace

std::optional<std::size_t> LastModes::Find(const std::string& user) const {
  base::MutexLock lock(mutex_);
  const auto it = modes_.find(user);
  if (it == modes_.end()) return std::nullopt;
  return it->second;
}

void LastModes::Remember(const std::string& user, std::size_t mode) {
  constexpr std::size_t kMost = 10000;
  base::MutexLock lock(mutex_);
  if (modes_.size() >= kMost) modes_.clear();
  modes_[user] = mode;
}

base::Result<std::optional<Impersonated>> Impersonate(const net::Headers& headers,
                                                      const Attributes& request,
                                                      const Authorizer& authorizer,
                                                      LastModes* modes) {
  const api::UserInfo wanted = WantedUser(headers);
  if (wanted.name.empty()) {
    if (OnlyNameSet(wanted)) return std::optional<Impersonated>();
    return base::BadRequest(
        base::StrCat("requested ", Print(wanted), " without impersonating a user name"));
  }
  const std::string& requestor = request.user->name;
  const auto last = modes != nullptr ? modes->Find(requestor) : std::optional(kOldWay);
  std::vector<std::size_t> order;
  if (last) order.push_back(*last);
  for (std::size_t i = 0; modes != nullptr && i < std::size(kModes); ++i) {
    if (i != last) order.push_back(i);
  }
  base::Status refusal;
  for (const std::size_t i : order) {
    if (!kModes[i].applies(*request.user, wanted)) continue;
    auto became = Attempt(kModes[i], request, wanted, authorizer).Run();
    if (became.ok()) {
      if (modes != nullptr && i != last) modes->Remember(requestor, i);
      return std::optional<Impersonated>(*std::move(became));
    }
    if (refusal.ok()) refusal = std::move(became).status();
  }
  return refusal;
}

}  // namespace portcullis::authz
