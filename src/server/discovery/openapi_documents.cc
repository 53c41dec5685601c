// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <ctime>
#include <span>

#include "api/catalog/openapi.h"
#include "base/clock.h"
#include "base/strings.h"
#include "golang/http_time.h"
#include "json/reader.h"
#include "json/writer.h"
#include "server/accept_header.h"
#include "server/aggregation/aggregation.h"
#include "server/aggregation/merged_open_api.h"
#include "server/discovery/documents.h"
#include "server/discovery/openapi_protobuf.h"
#include "server/discovery/served_content.h"
#include "server/filters/streamed_answer.h"
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

constexpr std::string_view kJsonType = "application/json";
constexpr std::size_t kSmallestCompressed = 1400;  // bytes of a part

struct Form {
  std::string_view name;  // as clients ask for it
  std::string_view type;  // as the answer is labelled
};
// The first one of each for a client that takes anything, too.
constexpr Form kFormsV3[] = {{kJsonType, kJsonType},
                             {kOpenApiV3Protobuf, kOpenApiV3ProtobufContentType},
                             {kOpenApiV3ProtobufContentType, kOpenApiV3ProtobufContentType}};
constexpr Form kForms[] = {{kJsonType, kJsonType},
                           {kOpenApiProtobuf, kOpenApiProtobufContentType},
                           {kOpenApiProtobufContentType, kOpenApiProtobufContentType}};

using Types = std::vector<std::pair<std::string_view, std::string_view>>;

Types AcceptedBy(const Call& call) {
  const std::string_view accept = call.headers().Get("Accept");
  return AcceptedTypes(accept.empty() ? "*/*" : accept);
}

// How the answer is labelled; "": no form is accepted.
std::string_view TypeFor(const Types& accepted, std::span<const Form> forms) {
  constexpr std::string_view kPrefix = "application/";
  for (const auto& [type, subtype] : accepted) {
    if (type != "*" && type != "application") continue;
    for (const Form& form : forms) {
      if (subtype == "*" || subtype == form.name.substr(kPrefix.size())) return form.type;
    }
  }
  return "";
}

std::int64_t SecondsOf(base::WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::string YearAfter(base::WallTime time) {
  const std::time_t seconds = SecondsOf(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  ++parts.tm_year;
  return golang::FormatHttpTime(timegm(&parts), "UTC");
}

}  // namespace

// As a file without an extension, whose time is that of the request: whatever a client accepts.
Reply Documents::ServeOpenApiPaths(Call& call) {
  auto document = Cached(call, call.info.path, [&]() -> base::Result<std::string> {
    std::map<std::string, std::string> urls;
    for (const auto& entry : TRY(api::catalog::OpenApiV3Paths(*call.catalog)))
      urls.emplace(entry.path, entry.url);
    const auto services = env_.aggregation->all();
    for (const auto& [version, service] : *services) {
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
  return ServeContent(call.request(),
                      {*document, "text/plain; charset=utf-8", "", SecondsOf(env_.clock->Now())},
                      {});
}

base::Result<std::string> Documents::OpenApiV3Url(Call& call, std::string_view document) {
  // Hashes are of whole documents: they are made once, of all. A line for each, which ends in its path.
  const auto make = [&]() -> base::Result<std::string> {
    std::string lines;
    for (const auto& entry : TRY(api::catalog::OpenApiV3Paths(*call.catalog)))
      lines += base::StrCat(entry.url, " ", entry.path, "\n");
    return lines;
  };
  const auto urls = TRY(Cached(call, "/openapi/v3#urls", make));
  const auto end = urls->find(base::StrCat(" ", document, "\n"));
  if (end == std::string::npos || document.find_first_of(" \n") != std::string_view::npos)
    return std::string();
  const auto begin = urls->rfind('\n', end) + 1;  // 0 of the first line
  return urls->substr(begin, end - begin);
}

// With that of aggregated servers.
base::Result<std::string> Documents::OpenApiV2With(Call& call) const {
  std::string own = TRY(api::catalog::OpenApiV2(*call.catalog, SchemaOf(call)));
  const auto parts = env_.aggregation->OpenApiV2Parts();
  return parts.empty() ? std::move(own) : MergedOpenApiV2(own, parts);
}

base::Result<std::shared_ptr<const Documents::Document>> Documents::InForm(
    Call& call, bool is_json, const Maker& json, std::string (*encode)(json::Value)) {
  const std::string& path = call.info.path;
  if (is_json) return Made(call, path, json);
  return Made(call, path + "#protobuf", [&]() -> base::Result<std::string> {
    json::Arena arena;
    return encode(TRY(json::Parse(arena, *TRY(Cached(call, path, json)))));
  });
}

Reply Documents::ServeOpenApiV2(Call& call) {
  Reply reply{.status = 406, .content_type = {}};
  reply.headers = {{"Vary", "Accept"}, {"Vary", "Accept-Encoding"}};
  const std::string& path = call.info.path;
  const std::string_view type = TypeFor(AcceptedBy(call), kForms);
  if (type.empty()) return reply;
  const auto json = [&] { return OpenApiV2With(call); };
  // kubectl before 1.24 checks files against the document in protobuf alone.
  const auto document = InForm(call, type == kJsonType, json, EncodeOpenApiV2);
  if (!document.ok()) return ErrorReply(call, document.status());
  // One for both forms: Vary tells them apart.
  const auto tag = Cached(call, path + "#tag", [&]() -> base::Result<std::string> {
    return TagOf(*TRY(Cached(call, path, json)));
  });
  if (!tag.ok()) return ErrorReply(call, tag.status());
  const std::shared_ptr<const std::string> text(*document, &(*document)->text);
  reply = ServeContent(call.request(), {text, std::string(type), **tag, (*document)->made},
                       std::move(reply));
  if (!reply.headers.Has("Accept-Ranges") || call.info.method == "HEAD" ||
      !call.headers().HasToken("Accept-Encoding", "gzip"))
    return reply;
  if (reply.shared_body) {
    auto compressed =
        Cached(call, base::StrCat(path, "#gzip ", type),
               [&]() -> base::Result<std::string> { return filters::Compress(*text); });
    if (!compressed.ok()) return ErrorReply(call, compressed.status());
    reply.shared_body = *std::move(compressed);
  } else if (reply.body.size() >= kSmallestCompressed) {
    reply.body = filters::Compress(reply.body);
  } else {
    return reply;
  }
  reply.headers.Set("Content-Encoding", "gzip");
  return reply;
}

Reply Documents::ServeOpenApiV3(Call& call) {
  const std::string& path = call.info.path;
  const std::string name = path.substr(std::string_view("/openapi/v3/").size());
  const auto url = name.empty() ? std::string() : OpenApiV3Url(call, name);
  if (!url.ok()) return ErrorReply(call, url.status());
  if (url->empty()) return Reply{.status = 404, .content_type = {}};
  const auto accepted = AcceptedBy(call);
  if (accepted.empty()) return Reply{.content_type = {}};
  Reply reply{.status = 406, .content_type = {}};
  reply.headers.Set("Vary", "Accept");
  const std::string_view type = TypeFor(accepted, kFormsV3);
  if (type.empty()) return reply;
  const std::string hash = url->substr(url->find('=') + 1);
  const std::string tag = base::StrCat("\"", hash, "\"");
  const std::string_view asked = call.info.query.Get("hash");
  if (!asked.empty() && asked != hash) {
    reply.status = 301;
    reply.content_type = std::string(type);
    reply.headers.Set("ETag", tag);
    reply.headers.Set("Location", *url);
    return reply;
  }
  // A client keeps what it is told is immutable under the hash that it has asked for.
  if (!asked.empty()) {
    reply.headers.Set("Cache-Control", "public, immutable");
    reply.headers.Set("Expires", YearAfter(env_.clock->Now()));
  }
  const auto json = [&] { return api::catalog::OpenApiV3(*call.catalog, name, SchemaOf(call)); };
  const auto document = InForm(call, type == kJsonType, json, EncodeOpenApiV3);
  if (!document.ok()) return ErrorReply(call, document.status());
  const std::shared_ptr<const std::string> text(*document, &(*document)->text);
  return ServeContent(call.request(), {text, std::string(type), tag, (*document)->made},
                      std::move(reply));
}

Reply Documents::ServeOpenApi(Call& call) {
  if (call.info.path == "/openapi/v2") return ServeOpenApiV2(call);
  return call.info.path == "/openapi/v3" ? ServeOpenApiPaths(call) : ServeOpenApiV3(call);
}

}  // namespace portcullis::server
