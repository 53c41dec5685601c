// SPDX-License-Identifier: Apache-2.0

#include "api/api_status.h"
#include "authz/authorizer.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::authz {
namespace {

// The sentence may end up in a web page; kube-apiserver escapes it.
std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string DenialText(const Attributes& a) {
  std::string text = base::StrCat("User ", base::GoQuote(a.user->name), " cannot ", a.verb, " ");
  if (!a.resource_request) {
    return EscapeHtml(base::StrCat(text, "path ", base::GoQuote(a.path)));
  }
  std::string resource(a.resource);
  if (!a.subresource.empty()) resource.append("/").append(a.subresource);
  text +=
      base::StrCat("resource ", base::GoQuote(resource), " in API group ", base::GoQuote(a.group));
  text += a.ns.empty() ? " at the cluster scope"
                       : base::StrCat(" in the namespace ", base::GoQuote(a.ns));
  return EscapeHtml(text);
}

base::Status Denied(const Attributes& a, std::string_view reason) {
  std::string text = DenialText(a);
  if (!reason.empty()) text.append(": ").append(reason);
  return api::ForbiddenStatus({std::string(a.group), std::string(a.resource)}, a.name, text);
}

}  // namespace portcullis::authz
