// SPDX-License-Identifier: Apache-2.0

#include "server/request_info.h"

#include "base/strings.h"

namespace portcullis::server {
namespace {

std::vector<std::string> SplitPath(std::string_view path) {
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  if (path.empty()) return {};
  const auto pieces = base::Split(path, '/');
  return {pieces.begin(), pieces.end()};
}

std::string_view VerbOfMethod(std::string_view method) {
  if (method == "POST") return "create";
  if (method == "GET" || method == "HEAD") return "get";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return "delete";
  return "";
}

// Subresources of namespaces that are not resources inside the namespace.
bool IsNamespaceSubresource(std::string_view name) {
  return name == "status" || name == "finalize";
}

bool IsInt64(const Query& query, std::string_view name) {
  return !query.Has(name) || base::ParseInt(query.Get(name)).has_value();
}

// The name that the field selector demands counts as the name of the request, for its authorization
// too, if the options of the list can be read at all.
void NameBySelector(RequestInfo& info) {
  const Query& query = info.query;
  if (info.selectors.fields_failed || info.selectors.labels_failed) return;
  if (!IsInt64(query, "limit") || !IsInt64(query, "timeoutSeconds")) return;
  for (const auto& term : info.selectors.fields) {
    if (term.field != "metadata.name" || term.negated) continue;
    const std::string& name = term.value;
    const bool segment =
        name != "." && name != ".." && name.find_first_of("/%") == std::string::npos;
    if (segment) info.name = name;
    return;
  }
}

void ParseResource(RequestInfo& info, std::vector<std::string> parts) {
  const bool by_path = parts.front() == "proxy" || parts.front() == "watch";
  if (by_path) {
    if (parts.size() < 2) {
      info.error = "unable to determine kind and namespace from url, ";
      return;
    }
    info.verb = parts.front();
    parts.erase(parts.begin());
  } else {
    info.verb = std::string(VerbOfMethod(info.method));
  }
  if (parts.front() == "namespaces" && parts.size() > 1) {
    info.name_space = parts[1];
    if (parts.size() > 2 && !IsNamespaceSubresource(parts[2])) {
      parts.erase(parts.begin(), parts.begin() + 2);
    }
  }
  info.parts = std::move(parts);
  info.resource = info.parts[0];
  if (info.parts.size() >= 2) info.name = info.parts[1];
  if (info.parts.size() >= 3 && info.verb != "proxy") info.subresource = info.parts[2];
  if (!info.name.empty() || by_path) return;
  const bool reads = info.verb == "get";
  if (reads) info.verb = info.query.GetBool("watch") ? "watch" : "list";
  if (info.verb == "delete") info.verb = "deletecollection";
  if (!reads && info.verb != "deletecollection") return;
  info.selectors =
      authz::ReadSelectors(info.query.Get("fieldSelector"), info.query.Get("labelSelector"));
  if (reads) NameBySelector(info);
}

}  // namespace

RequestInfo ParseRequestInfo(std::string_view method, std::string_view target) {
  RequestInfo info;
  info.method = std::string(method);
  const std::size_t question = target.find('?');
  const std::string_view raw_path = target.substr(0, question);
  if (question != std::string_view::npos) info.query = Query::Parse(target.substr(question + 1));
  if (!PercentDecode(raw_path, info.path)) info.path = std::string(raw_path);
  info.verb = base::ToLower(method);

  // Split when decoded: an encoded slash divides, here as on every route.
  std::vector<std::string> parts = SplitPath(info.path);
  if (parts.size() < 3) return info;
  if (parts[0] != "api" && parts[0] != "apis") return info;
  info.api_prefix = parts[0];
  std::size_t next = 1;
  if (parts[0] == "apis") {
    if (parts.size() < 4) return info;
    info.api_group = parts[next++];
  }
  info.api_version = parts[next++];
  info.is_resource = true;
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(next));
  ParseResource(info, std::move(parts));
  if (!info.error.empty()) info.error += target;
  return info;
}

}  // namespace portcullis::server
