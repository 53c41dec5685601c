// SPDX-License-Identifier: Apache-2.0

#include "server/routes.h"

#include "base/inline_vector.h"
#include "base/strings.h"

namespace portcullis::server {
namespace {

using Path = RouteMatch::Path;
using Parts = base::InlineVector<std::string_view, 8>;

// What follows /api/<version>/ or /apis/<group>/<version>/, split at each slash; parts may be
// empty, but slashes at the end do not count. None if the path does not begin so: RequestInfo does
// not mind two slashes at its beginning.
Parts PartsAfterVersion(const RequestInfo& info) {
  Parts parts;
  std::string_view rest = info.path;
  const auto skip = [&rest](std::string_view part) {
    if (rest.size() < part.size() + 2 || rest[0] != '/' || rest[part.size() + 1] != '/')
      return false;
    if (rest.substr(1, part.size()) != part) return false;
    rest.remove_prefix(part.size() + 1);
    return true;
  };
  const bool core = info.api_prefix == "api";
  if (!core && info.api_group.empty()) return parts;
  if (!skip(info.api_prefix) || !(core || skip(info.api_group)) || !skip(info.api_version)) {
    return parts;
  }
  while (rest.ends_with('/')) rest.remove_suffix(1);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view part = rest.substr(0, rest.find('/'));
    parts.push_back(part);
    rest.remove_prefix(part.size());
  }
  return parts;
}

// A path by what it says about one resource.
struct Shape {
  bool watch = false;           // below /watch/
  bool all_namespaces = false;  // the collection of a namespaced resource, without a namespace
  bool item = false;
  bool subresource = false;
  bool more = false;  // something follows the subresource
};

// Fills `shape`; false if no path of this resource looks so.
bool ReadShape(const Parts& parts, const api::catalog::ResourceInfo& resource, Shape& shape) {
  std::size_t at = 0;
  if (parts.size() > 1 && parts[0] == "watch") {
    shape.watch = true;
    at = 1;
  }
  if (resource.namespaced) {
    if (parts.size() > at + 2 && parts[at] == "namespaces") {
      at += 2;
    } else {
      shape.all_namespaces = true;
    }
  }
  if (parts.size() <= at || parts[at] != resource.resource.resource) return false;
  const std::size_t following = parts.size() - at - 1;
  shape.item = following == 1;
  shape.subresource = following > 1;
  shape.more = following > 2;
  return following == 0 || !shape.all_namespaces;
}

std::string_view Either(bool has, std::string_view verb) { return has ? verb : std::string_view(); }

// The verb that a method means on the path, empty if the method is not for it.
struct Verbs {
  std::string_view get, post, put, patch, remove;

  std::string_view Of(std::string_view method) const {
    if (method == "GET") return get;
    if (method == "POST") return post;
    if (method == "PUT") return put;
    if (method == "PATCH") return patch;
    return method == "DELETE" ? remove : std::string_view();
  }
  bool empty() const {
    return get.empty() && post.empty() && put.empty() && patch.empty() && remove.empty();
  }
};

template <typename Served>
Verbs VerbsOfItem(const Served& served) {
  const auto verb = [&](std::string_view name) { return Either(served.HasVerb(name), name); };
  return {verb("get"), {}, verb("update"), verb("patch"), verb("delete")};
}

Verbs VerbsOf(const Shape& shape, const RequestInfo& info,
              const api::catalog::ResourceInfo& resource) {
  const auto verb = [&](std::string_view name) { return Either(resource.HasVerb(name), name); };
  Verbs verbs;
  if (shape.watch) {
    if (!shape.subresource && (shape.item || !verb("list").empty())) verbs.get = verb("watch");
    return verbs;
  }
  if (shape.item) return VerbsOfItem(resource);
  verbs.get = verb("list");
  if (!verbs.get.empty() && info.verb == "watch") verbs.get = "watch";
  if (shape.all_namespaces) return verbs;
  verbs.post = verb("create");
  verbs.remove = verb("deletecollection");
  return verbs;
}

bool IsConnect(std::string_view subresource) {
  return subresource == "exec" || subresource == "attach" || subresource == "portforward" ||
         subresource == "proxy";
}

RouteMatch RouteOf(std::string_view verb) {
  return {verb.empty() ? Path::kNoMethod : Path::kFound, verb};
}

RouteMatch FindSubresourceRoute(const RequestInfo& info, const Shape& shape,
                                const api::catalog::SubresourceInfo& subresource) {
  const std::string_view name = subresource.name;
  if (shape.watch || (shape.more && name != "proxy")) return {};
  if (name == "proxy") return {Path::kFound, "connect"};
  const bool streams = info.method == "GET" || info.method == "POST";
  if (IsConnect(name)) return RouteOf(Either(streams, "connect"));
  Verbs verbs = VerbsOfItem(subresource);
  verbs.post = Either(subresource.HasVerb("create"), "create");
  return RouteOf(verbs.Of(info.method));
}

// Custom resources have no table of routes: what RequestInfo says is what counts, HEAD reads, a
// create may have a name and an update none (it is refused later).
RouteMatch FindCustomRoute(const RequestInfo& info, const api::catalog::ResourceInfo& resource,
                           const api::catalog::SubresourceInfo* subresource) {
  if (!info.path.starts_with(base::StrCat("/apis/", info.api_group, "/"))) {
    return {Path::kNoServer, {}};
  }
  const bool reads_all = info.verb == "list" || info.verb == "watch";
  if (resource.namespaced ? info.name_space.empty() && !reads_all : !info.name_space.empty()) {
    return {Path::kNoServer, {}};
  }
  if (subresource == nullptr && !info.subresource.empty()) return {};
  const bool has =
      subresource != nullptr ? subresource->HasVerb(info.verb) : resource.HasVerb(info.verb);
  return RouteOf(Either(has, info.verb));
}

}  // namespace

RouteMatch FindRoute(const RequestInfo& info, const api::catalog::ResourceInfo& resource,
                     const api::catalog::SubresourceInfo* subresource) {
  if (resource.custom) return FindCustomRoute(info, resource, subresource);
  const Parts parts = PartsAfterVersion(info);
  if (parts.empty()) return {Path::kNoServer, {}};
  Shape shape;
  if (!ReadShape(parts, resource, shape)) return {};
  if (shape.subresource != (subresource != nullptr)) return {};
  if (subresource != nullptr) return FindSubresourceRoute(info, shape, *subresource);
  const Verbs verbs = VerbsOf(shape, info, resource);
  if (verbs.empty()) return {};
  return RouteOf(verbs.Of(info.method));
}

bool ServesBuiltIn(const api::catalog::Catalog& catalog, std::string_view name) {
  const api::catalog::GroupInfo* group = catalog.FindGroup(name);
  if (group == nullptr) return false;
  for (const auto& version : group->versions) {
    for (const auto* resource : version.resources) {
      if (!resource->custom) return true;
    }
  }
  return false;
}

}  // namespace portcullis::server
