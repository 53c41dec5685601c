// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>

#include "api/api_status.h"
#include "api/catalog/discovery.h"
#include "base/strings.h"
#include "json/writer.h"
#include "metrics/apiserver_metrics.h"
#include "server/aggregation/aggregation.h"
#include "server/aggregation/merged_discovery.h"
#include "server/discovery/documents.h"
#include "server/negotiation.h"
#include "server/reply.h"
#include "server/routes.h"

namespace portcullis::server {
namespace {

// Whether the document is that of a version of built-in resources: it is served in what they are.
bool IsOfBuiltInVersion(const Call& call, const std::vector<std::string>& parts) {
  if (parts[0] == "api") return parts.size() == 2;
  return parts.size() == 3 && ServesBuiltIn(*call.catalog, parts[1]);
}

// What is accepted besides the aggregated form in its first version.
std::string WithoutFirstForm(std::string_view accept) {
  std::vector<std::string_view> clauses = base::Split(accept, ',');
  std::erase_if(clauses, [](std::string_view clause) {
    return clause.find("v=v2beta1") != std::string_view::npos;
  });
  return base::Join(clauses, ",");
}

}  // namespace

// Why discovery answers no document here, if so. What is served by the web service of a version is
// got and nothing else; the documents of /apis, of groups and of custom resources do not look at
// the method, but at each slash.
std::optional<Reply> Documents::RefuseDiscovery(Call& call, const std::vector<std::string>& parts,
                                                bool found, const base::Status& negotiated) {
  const bool core = parts[0] == "api";
  const bool built_in = core || (parts.size() > 1 && ServesBuiltIn(*call.catalog, parts[1]));
  const bool doubled = call.info.path.find("//") != std::string::npos;
  if (!built_in && (!found || doubled)) return PageNotFound();
  if (!found) return ErrorReply(call, api::UnknownResourceStatus());
  const bool by_method = core || (built_in && (doubled || parts.size() > 2));
  if (by_method && call.info.method != "GET")
    return ErrorReply(call, api::MethodNotAllowedStatus());
  if (by_method) {
    const base::Status accepted =
        CheckAcceptedTypes(call.headers().Get("Accept"), OutputTypes(call.takes_cbor));
    if (!accepted.ok()) return ErrorReply(call, accepted);
  }
  if (!negotiated.ok()) return ErrorReply(call, negotiated);
  return std::nullopt;
}

json::Value Documents::AggregatedDocument(Call& call, json::Arena& arena, bool core,
                                          std::string_view version) const {
  const json::Value value = api::catalog::AggregatedDiscovery(arena, *call.catalog, core, version);
  const bool merges = !core && env_.aggregation->any();
  return merges ? WithAggregated(arena, value, *env_.store, *env_.aggregation) : value;
}

Reply Documents::ServeAggregatedDiscovery(Call& call, bool core) {
  const std::string name = base::StrCat("aggregated ", core ? "api" : "apis", " ");
  // Of what all forms have in common, as Go writes it.
  auto tag = Cached(call, name, [&]() -> base::Result<std::string> {
    env_.request_metrics->discovery_aggregations.Increment();
    json::Arena arena;
    const json::Value value = AggregatedDocument(call, arena, core, "v2");
    return TagOf(
        json::ToString(json::Without(arena, json::Without(arena, value, "kind"), "apiVersion")));
  });
  if (!tag.ok()) return ErrorReply(call, tag.status());
  Reply reply;
  reply.headers = {{"ETag", **tag}, {"Vary", "Accept"}, {"Cache-Control", "public"}};
  reply.content_type.clear();
  reply.status = 304;
  if (call.headers().Get("If-None-Match") == **tag) return reply;
  const std::string type = base::StrCat(call.accepted.ContentType(),
                                        ";g=apidiscovery.k8s.io;v=", call.accepted.form_version,
                                        ";as=APIGroupDiscoveryList");
  auto document =
      Cached(call, base::StrCat(name, call.accepted.pretty ? "p" : "", type),
             [&]() -> base::Result<std::string> {
               json::Arena arena;
               return ValueReply(call, 200,
                                 AggregatedDocument(call, arena, core, call.accepted.form_version))
                   .body;
             });
  if (!document.ok()) return ErrorReply(call, document.status());
  reply.status = 200;
  reply.content_type = type;
  reply.shared_body = *std::move(document);
  return reply;
}

Reply Documents::ServeDiscovery(Call& call) {
  const auto parts = Parts(call.info.path);
  const std::string_view accept = call.headers().Get("Accept");
  call.takes_cbor = call.env.cbor && IsOfBuiltInVersion(call, parts);
  const auto negotiate = [&](std::string_view accepts, Offers offers) {
    return NegotiateOutput(accepts, call.info.query.Get("pretty"), call.headers().Get("User-Agent"),
                           offers, call.takes_cbor);
  };
  const bool has_first_form = !env_.release->GateEnabled("AggregatedDiscoveryRemoveBetaType");
  auto accepted = negotiate(has_first_form ? std::string(accept) : WithoutFirstForm(accept),
                            Offers::kAggregatedDiscovery);
  const bool aggregated = parts.size() == 1 && accepted.ok();
  if (!aggregated) accepted = negotiate(accept, Offers::kObjectOnly);
  const base::Status negotiated = accepted.status();
  if (negotiated.ok()) call.accepted = *std::move(accepted);
  if (aggregated) {
    if (auto refused = RefuseDiscovery(call, parts, true, negotiated)) return *std::move(refused);
    return ServeAggregatedDiscovery(call, parts[0] == "api");
  }
  const std::string name =
      base::StrCat("discovery ", base::Join(parts, "/"), " ", call.accepted.pretty ? "p" : "",
                   call.accepted.ContentType());
  auto document = Cached(call, name, [&]() -> base::Result<std::string> {
    json::Arena arena;
    json::Value value;
    const bool core = parts[0] == "api";
    const bool merges = !core && env_.aggregation->any();
    if (merges && parts.size() == 1) {
      value = MergedGroupList(arena, *env_.store);
    } else if (parts.size() == 1) {
      value = core ? api::catalog::LegacyApiVersions(arena, *call.catalog, env_.server_address)
                   : api::catalog::LegacyGroupList(arena, *call.catalog);
    } else if (core) {
      value = api::catalog::LegacyResourceList(arena, *call.catalog, "", parts[1]);
    } else if (parts.size() == 2) {
      if (merges) value = MergedGroup(arena, *env_.store, *env_.aggregation, parts[1]);
      if (value.is_null()) value = api::catalog::LegacyGroup(arena, *call.catalog, parts[1]);
    } else {
      value = api::catalog::LegacyResourceList(arena, *call.catalog, parts[1], parts[2]);
    }
    // Empty: there is no such document.
    return value.is_null() ? std::string() : ValueReply(call, 200, value).body;
  });
  if (!document.ok()) return ErrorReply(call, document.status());
  if (auto refused = RefuseDiscovery(call, parts, !(*document)->empty(), negotiated)) {
    return *std::move(refused);
  }
  return SharedReply(*document, call.accepted.ContentType());
}

}  // namespace portcullis::server
