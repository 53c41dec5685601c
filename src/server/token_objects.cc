// SPDX-License-Identifier: Apache-2.0

#include "server/token_objects.h"

#include "api/api_status.h"
#include "base/strings.h"
#include "golang/time.h"
#include "json/value.h"

namespace portcullis::server {
namespace {

base::Status RefuseToken(std::string message) {
  return {base::Reason::kUnauthorized, std::move(message)};
}

// kube-apiserver asks itself for what its caches lack; the client refuses such names.
base::Status CheckName(std::string_view ns, std::string_view name) {
  if (name.empty()) return RefuseToken("resource name may not be empty");
  if (ns.empty()) {
    return RefuseToken("an empty namespace may not be set when a resource name is provided");
  }
  return base::OkStatus();
}

}  // namespace

base::Status TokenObjects::Check(const authn::ServiceAccountClaims& claims) const {
  const std::string& name = claims.service_account.name;
  TRY(CheckName(claims.ns, name));
  const store::ObjectPtr account = store_.Get({"", "serviceaccounts", claims.ns, name});
  if (account == nullptr) return api::NotFoundStatus({"", "serviceaccounts"}, name);
  if (account->uid() != claims.service_account.uid) {
    return RefuseToken(base::StrCat("service account UID (", account->uid(),
                                    ") does not match claim (", claims.service_account.uid, ")"));
  }
  if (IsLongDeleted(*account)) {
    return RefuseToken(base::StrCat("service account ", claims.ns, "/", name, " has been deleted"));
  }
  if (claims.secret) {
    TRY(CheckBound("secret", {"", "secrets", claims.ns, claims.secret->name}, *claims.secret));
  }
  if (claims.pod) {
    return CheckBound("pod", {"", "pods", claims.ns, claims.pod->name}, *claims.pod);
  }
  // A pod's token names the node only to tell of it.
  if (!claims.node) return base::OkStatus();
  return CheckBound("node", {"", "nodes", "", claims.node->name}, *claims.node);
}

base::Status TokenObjects::CheckBound(std::string_view kind, const store::Key& key,
                                      const authn::ObjectRef& ref) const {
  const store::ObjectPtr object = store_.Get(key);
  if (object == nullptr) return RefuseToken("service account token has been invalidated");
  if (ref.uid != object->uid()) {
    return RefuseToken(base::StrCat(kind, " UID (", object->uid(),
                                    ") does not match service account ", kind, " ref claim (",
                                    ref.uid, ")"));
  }
  if (IsLongDeleted(*object)) return RefuseToken("service account token has been invalidated");
  return base::OkStatus();
}

bool TokenObjects::IsLongDeleted(const store::Object& object) const {
  constexpr std::int64_t kGrace = 60;
  const auto deleted =
      golang::ParseTime(object.document()["metadata"]["deletionTimestamp"].AsString());
  const auto now = std::chrono::system_clock::to_time_t(clock_.Now());
  return deleted.ok() && deleted->seconds + kGrace < now;
}

}  // namespace portcullis::server
