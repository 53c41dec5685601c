// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "base/gotext.h"
#include "base/strings.h"
#include "json/reader.h"
#include "registry/devices/device_checks.h"
#include "store/store.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kLabel = "resource.kubernetes.io/admin-access";

void CheckNamespace(const Context& ctx, const FieldPath& path, FieldErrors& errors) {
  if (ctx.reader == nullptr) return;
  const store::ObjectPtr stored = ctx.reader->Get({"", "namespaces", "", ctx.name_space});
  if (stored == nullptr) {
    errors.push_back(api::InternalFieldError(
        path, base::StrCat("could not retrieve namespace to verify admin access: namespaces ",
                           base::GoQuote(ctx.name_space), " not found")));
    return;
  }
  json::Arena arena;
  const auto found = json::Parse(arena, stored->bytes(), {.borrow_text = true});
  if (found.ok() && (*found)["metadata"]["labels"][kLabel].AsString() == "true") return;
  errors.push_back(
      api::Forbidden(path, base::StrCat("admin access to devices requires the `", kLabel,
                                        ": true` label on the containing namespace")));
}

}  // namespace

void CheckAdminAccess(const Context& ctx, json::Value requests, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& request : requests.elements()) {
    if (request["exactly"]["adminAccess"].AsBool()) {
      const FieldPath path = FieldPath("spec", "devices", "requests").Index(index);
      FieldErrors first;
      CheckNamespace(ctx, path.Child("adminAccess"), first);
      errors.insert(errors.begin(), first.begin(), first.end());
      return;
    }
    ++index;
  }
}

void CheckAllocatedAdminAccess(const Context& ctx, json::Value results, json::Value old,
                               FieldErrors& errors) {
  const auto is_admin = [](const json::Value& result) { return result["adminAccess"].AsBool(); };
  const auto before = old.elements();
  if (std::any_of(before.begin(), before.end(), is_admin)) return;
  const auto now = results.elements();
  const auto first = std::find_if(now.begin(), now.end(), is_admin);
  if (first == now.end()) return;
  const FieldPath path = FieldPath("status", "allocation", "devices")
                             .Child("results")
                             .Index(static_cast<std::size_t>(first - now.begin()));
  CheckNamespace(ctx, path.Child("adminAccess"), errors);
}

}  // namespace portcullis::registry
