// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/openapi.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "server/aggregation/aggregation.h"
#include "server/aggregation/merged_open_api.h"
#include "server/discovery/documents.h"
#include "server/discovery/openapi_protobuf.h"
#include "server/reply.h"
#include "store/store.h"

namespace portcullis::server {
namespace {

// Schemas of custom resources, from their stored definitions.
api::catalog::SchemaText SchemaOf(const Call& call) {
  return [store = call.env.store](json::Arena& arena,
                                  const api::catalog::ResourceInfo& resource) -> json::Value {
    const std::string name = base::StrCat(resource.resource.resource, ".", resource.resource.group);
    const store::ObjectPtr definition =
        store->Get({"apiextensions.k8s.io", "customresourcedefinitions", "", name});
    if (definition == nullptr) return {};
    const auto parsed = json::Parse(arena, definition->bytes());
    if (!parsed.ok()) return {};
    for (const json::Value& version : (*parsed)["spec"]["versions"].elements()) {
      if (version["name"].AsString() == resource.resource.version) {
        return version["schema"]["openAPIV3Schema"];
      }
    }
    return {};
  };
}

}  // namespace

// Written as Go writes a file without an extension: whatever a client accepts, and whichever its verb.
Reply Documents::ServeOpenApiPaths(Call& call) {
  auto document = Cached(call, call.info.path, [&]() -> base::Result<std::string> {
    std::map<std::string, std::string> urls;
    for (const auto& entry : TRY(api::catalog::OpenApiV3Paths(*call.catalog)))
      urls.emplace(entry.path, entry.url);
    for (const auto& [version, service] : *env_.aggregation->all()) {
      auto its = env_.aggregation->OpenApiOf(service->name);
      // Its own version is not served here. Of what is served here, the document is that of here.
      if (const auto own = its.find("apis/" + version); own != its.end())
        urls.insert_or_assign(own->first, own->second);
      urls.merge(its);
    }
    std::string text = "{\"paths\":{";
    bool first = true;
    for (const auto& [path, url] : urls) {
      if (!first) text += ',';
      first = false;
      json::WriteString(path, text);
      text += ":{\"serverRelativeURL\":";
      json::WriteString(url, text, false);
      text += '}';
    }
    return text + "}}\n";
  });
  if (!document.ok()) return ErrorReply(call, document.status());
  return SharedReply(*document, "text/plain; charset=utf-8");
}

base::Result<std::string> Documents::OpenApiV3Url(Call& call, std::string_view document) {
  // Hashes are of whole documents: they are made once.
  const auto make = [&]() -> base::Result<std::string> {
    for (const auto& entry : TRY(api::catalog::OpenApiV3Paths(*call.catalog)))
      if (entry.path == document) return entry.url;
    return std::string();
  };
  return *TRY(Cached(call, base::StrCat("/openapi/v3/", document, "#url"), make));
}

// With that of aggregated servers.
base::Result<std::string> Documents::OpenApiV2With(Call& call) const {
  std::string own = TRY(api::catalog::OpenApiV2(*call.catalog, SchemaOf(call)));
  const auto parts = env_.aggregation->OpenApiV2Parts();
  return parts.empty() ? std::move(own) : MergedOpenApiV2(own, parts);
}

Reply Documents::ServeOpenApi(Call& call) {
  const std::string& path = call.info.path;
  if (path == "/openapi/v3") return ServeOpenApiPaths(call);
  const std::string_view accept = call.headers().Get("Accept");
  // kubectl before 1.24 checks files against the document in this form and no other.
  if (path == "/openapi/v2" && accept.find(kOpenApiProtobuf) != std::string_view::npos) {
    auto document = Cached(call, path + "#protobuf", [&]() -> base::Result<std::string> {
      json::Arena arena;
      return EncodeOpenApiV2(TRY(json::Parse(arena, TRY(OpenApiV2With(call)))));
    });
    if (!document.ok()) return ErrorReply(call, document.status());
    return SharedReply(*document, kOpenApiProtobufContentType);
  }
  const bool json = accept.empty() || accept.find("*/*") != std::string_view::npos ||
                    accept.find("json") != std::string_view::npos;
  if (!json) return Reply{.status = 406, .content_type = {}};
  if (path == "/openapi/v2") {
    auto document = Cached(call, path, [&] { return OpenApiV2With(call); });
    if (!document.ok()) return ErrorReply(call, document.status());
    return SharedReply(*document, "application/json");
  }
  const std::string name = path.substr(std::string_view("/openapi/v3/").size());
  if (name.empty()) return Reply{.status = 404, .content_type = {}};
  auto document = Cached(
      call, path, [&] { return api::catalog::OpenApiV3(*call.catalog, name, SchemaOf(call)); });
  if (!document.ok()) {
    if (document.status().reason() == base::Reason::kNotFound)
      return Reply{.status = 404, .content_type = {}};
    return ErrorReply(call, document.status());
  }
  Reply reply = SharedReply(*document, "application/json");
  const std::string hash = std::string(call.info.query.Get("hash"));
  if (hash.empty()) return reply;
  const auto url = OpenApiV3Url(call, name);
  // A client keeps what it is told is immutable under the hash that it has asked for.
  if (url.ok() && *url != base::StrCat(path, "?hash=", hash)) {
    Reply moved{.status = 301, .content_type = "application/json"};
    moved.headers.Set("Location", *url);
    return moved;
  }
  reply.headers.Set("Cache-Control", "public, immutable");
  return reply;
}

}  // namespace portcullis::server
