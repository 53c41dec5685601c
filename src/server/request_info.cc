#include "server/request_info.h"

#include "base/strings.h"

namespace portcullis::server {
namespace {

std::vector<std::string> SplitPath(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  if (path.empty()) return parts;
  for (std::string_view piece : base::Split(path, '/')) {
    std::string decoded;
    if (!PercentDecode(piece, decoded)) decoded = std::string(piece);
    parts.push_back(std::move(decoded));
  }
  return parts;
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

// metadata.name=x as the only requirement of a field selector names the object for authorization.
std::string NameFromFieldSelector(std::string_view selector) {
  for (std::string_view prefix :
       {std::string_view("metadata.name=="), std::string_view("metadata.name=")}) {
    if (selector.substr(0, prefix.size()) == prefix &&
        selector.find(',') == std::string_view::npos) {
      return std::string(selector.substr(prefix.size()));
    }
  }
  return {};
}

void ParseResource(RequestInfo& info, std::vector<std::string> parts) {
  if (parts.front() == "proxy" || parts.front() == "watch") {
    if (parts.size() < 2) return;
    info.verb = parts.front();
    parts.erase(parts.begin());
  } else {
    info.verb = std::string(VerbOfMethod(info.method));
  }
  if (parts.front() == "namespaces") {
    if (parts.size() > 1) {
      info.name_space = parts[1];
      if (parts.size() > 2 && !IsNamespaceSubresource(parts[2])) {
        parts.erase(parts.begin(), parts.begin() + 2);
      }
    }
  }
  info.parts = std::move(parts);
  info.resource = info.parts[0];
  if (info.parts.size() >= 2) info.name = info.parts[1];
  if (info.parts.size() >= 3 && info.verb != "proxy" && info.verb != "watch") {
    info.subresource = info.parts[2];
  }
  const bool watches = info.query.GetBool("watch");
  if (info.name.empty() && info.verb == "get") {
    info.verb = watches ? "watch" : "list";
    info.name = NameFromFieldSelector(info.query.Get("fieldSelector"));
  } else if (info.name.empty() && info.verb == "delete") {
    info.verb = "deletecollection";
  }
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

  std::vector<std::string> parts = SplitPath(raw_path);
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
  return info;
}

}  // namespace portcullis::server
