// SPDX-License-Identifier: Apache-2.0

#include "server/rest/present.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "api/conversion/conversion_functions.h"
#include "api/schema/order.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/codec/hidden_fields.h"
#include "engine/codec/protobuf.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "json/writer.h"
#include "server/reply.h"
#include "server/rest/list_protobuf.h"
#include "server/rest/list_text.h"
#include "server/table/table.h"

namespace portcullis::server::rest {

using engine::ListMeta;

namespace {

json::Value ListMetadata(json::Arena& arena, const ListMeta& meta) {
  json::ObjectBuilder metadata(arena);
  if (!meta.resource_version.empty()) metadata.Set("resourceVersion", meta.resource_version);
  if (!meta.continue_token.empty()) metadata.Set("continue", meta.continue_token);
  if (meta.remaining > 0) {
    metadata.Set("remainingItemCount", static_cast<std::int64_t>(meta.remaining));
  }
  return metadata.Build();
}

base::Result<json::Value> TableOf(Call& call, json::Value object, json::Value metadata,
                                  const store::ObjectPtr& stored) {
  const auto include = TRY(table::ReadIncludeObject(call.info.query.Get("includeObject")));
  json::ArrayBuilder rows(call.arena);
  const table::RowPrinter printer(*call.resource, include, call.accepted.form_version);
  rows.Add(printer.Row(call.arena, object, call.env.clock->Now(),
                       table::ObjectOfCells(call.arena, *call.resource, stored)));
  return table::Make(call.arena, call.accepted.form_version, metadata,
                     table::ColumnDefinitions(call.arena, *call.resource), rows.Build());
}

base::Result<json::Value> ScaleTable(Call& call, json::Value scale, const ListMeta& meta) {
  const auto include = TRY(table::ReadIncludeObject(call.info.query.Get("includeObject")));
  json::ArrayBuilder rows(call.arena);
  rows.Add(table::ScaleRow(call.arena, *call.resource, scale, include, call.env.clock->Now(),
                           call.accepted.form_version));
  return table::Make(call.arena, call.accepted.form_version, ListMetadata(call.arena, meta),
                     table::ScaleColumns(call.arena, *call.resource), rows.Build());
}

// The stored bytes without kind and apiVersion, as items of a list of a built-in kind are written.
void AppendItem(const api::catalog::ResourceInfo& resource, std::string_view bytes,
                std::string_view prefix, std::string& out) {
  if (!resource.custom && bytes.substr(0, prefix.size()) == prefix) {
    out += '{';
    out.append(bytes.substr(prefix.size()));
  } else {
    out.append(bytes);
  }
}

// The server's internal Go type of the kind, as %T prints it.
std::string GoTypeOf(const Call& call, std::string_view suffix) {
  if (call.resource->custom) return base::StrCat("*unstructured.Unstructured", suffix);
  const api::GroupVersionKind& kind = call.kind();
  const std::string_view group = kind.group;
  const std::string_view package =
      group.empty() || group == "events.k8s.io" ? "core" : group.substr(0, group.find('.'));
  return base::StrCat("*", package, ".", kind.kind, suffix);
}

base::Status WrongForm(const Call& call, std::string_view form, std::string_view is,
                       std::string_view suffix) {
  return base::Status(base::Reason::kNotAcceptable,
                      base::StrCat("you requested ", form, ", but the requested object is ", is,
                                   " (", GoTypeOf(call, suffix), ")"));
}

}  // namespace

json::Value PartialMetadata(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                            json::Value object, std::string_view version) {
  json::Value metadata = object["metadata"];
  if (resource.custom && resource.schema != nullptr) {
    const api::schema::Field* typed = resource.schema->FindField("metadata");
    if (typed != nullptr && typed->schema != nullptr) {
      metadata = api::schema::InGoOrder(arena, *typed->schema, metadata);
    }
  }
  constexpr std::string_view kGeneration = "deprecated.daemonset.template.generation";
  if (metadata["annotations"].Has(kGeneration) && object["kind"].AsString() == "DaemonSet") {
    // This is the metadata of the internal type, which has a field instead of the annotation.
    const bool only = metadata["annotations"].size() == 1;
    metadata = only ? json::Without(arena, metadata, "annotations")
                    : json::RemovePath(arena, metadata, {"annotations", kGeneration});
  }
  if (object["kind"].AsString() == "HorizontalPodAutoscaler" && !resource.custom) {
    // The internal type has fields for what autoscaling/v1 has annotations for.
    metadata = api::WithoutAutoscalerAnnotations(arena, object)["metadata"];
  }
  return json::MakeObject(
      arena, {{"kind", json::Value::StringView("PartialObjectMetadata")},
              {"apiVersion", json::String(arena, base::StrCat("meta.k8s.io/", version))},
              {"metadata", metadata}});
}

base::Result<Reply> PresentValue(Call& call, int http_status, json::Value object,
                                 const store::ObjectPtr& stored) {
  switch (call.accepted.form) {
    case Form::kTable: {
      ListMeta meta;
      meta.resource_version = std::string(object["metadata"]["resourceVersion"].AsString());
      if (call.kind().kind == "Scale") {
        return ValueReply(call, http_status, TRY(ScaleTable(call, object, meta)));
      }
      return ValueReply(call, http_status,
                        TRY(TableOf(call, object, ListMetadata(call.arena, meta), stored)));
    }
    case Form::kPartialObject:
      return ValueReply(
          call, http_status,
          PartialMetadata(call.arena, *call.resource, object, call.accepted.form_version));
    case Form::kPartialObjectList:
      return WrongForm(call, "PartialObjectMetadataList", "not a list", "");
    default:
      return ValueReply(call, http_status, object);
  }
}

namespace {

// For an answer in protobuf to a write: what has been stored is at hand as a value, which need not be read of
// its bytes.
void KeepMessage(Call& call, const engine::Outcome& outcome) {
  const api::catalog::ResourceInfo& resource = *call.resource;
  const store::Object& stored = *outcome.stored;
  const bool wanted =
      call.accepted.type == MediaType::kProtobuf && call.accepted.form == Form::kObject;
  if (!wanted || !stored.encoding().empty() || !call.info.subresource.empty()) return;
  if (resource.definition != nullptr || resource.kind != resource.storage_kind) return;
  if (engine::ShowsOtherwise(resource)) return;
  const json::Value object =
      json::SetPath(call.arena, outcome.object, {"metadata", "resourceVersion"},
                    json::String(call.arena, std::to_string(stored.revision())));
  std::string message;
  if (object["apiVersion"].AsString() == engine::ApiVersion(resource.kind) &&
      engine::WriteProtobufMessage(object, message).ok()) {
    stored.KeepEncoding(std::move(message));
  }
}

}  // namespace

base::Result<Reply> OutcomeReply(Call& call, const engine::Outcome& outcome) {
  if (outcome.stored != nullptr) {
    KeepMessage(call, outcome);
    return ObjectReply(call, outcome.code, outcome.stored);
  }
  // A Status is never transformed, an answered review may be.
  if (outcome.plain && outcome.object["kind"].AsString() == "Status") {
    return ValueReply(call, outcome.code, outcome.object);
  }
  return PresentValue(call, outcome.code, outcome.object);
}

namespace {

// An object of a built-in resource. Its JSON is needed for the audit log alone.
base::Result<Reply> ProtobufReply(Call& call, int http_status, const store::ObjectPtr& object) {
  if (call.audit && call.audit->wants_response_object()) {
    return ValueReply(call, http_status, TRY(FromStore(call, object)));
  }
  std::string scratch;
  const std::string_view message = TRY(engine::ProtobufAs(object, *call.resource, scratch));
  const api::GroupVersionKind& kind = call.resource->kind;
  Reply reply;
  reply.status = http_status;
  reply.content_type = call.accepted.ContentType();
  engine::WriteProtobufEnvelope({engine::ApiVersion(kind), kind.kind, message}, reply.body);
  return reply;
}

}  // namespace

base::Result<Reply> ObjectReply(Call& call, int http_status, const store::ObjectPtr& object) {
  if (call.accepted.form == Form::kObject) {
    std::string scratch;
    if (call.accepted.type == MediaType::kProtobuf) {
      return ProtobufReply(call, http_status, object);
    }
    const std::string_view bytes = TRY(BytesAs(call, object, scratch));
    std::string text;
    text.reserve(bytes.size() + 1);  // a newline follows
    text = bytes;
    return JsonTextReply(call, http_status, std::move(text));
  }
  const json::Value value = TRY(FromStore(call, object));
  return PresentValue(call, http_status, value, object);
}

namespace {

using Make = std::function<json::Value(json::Arena& arena, json::Value object,
                                       const store::ObjectPtr& stored)>;

base::Result<Reply> ProtobufReply(Call& call, json::Value frame,
                                  std::vector<store::ObjectPtr> objects, ListProtobuf::Item item) {
  auto list = engine::ProtobufList::Of(frame);
  if (!list.ok()) return ErrorReply(call, list.status());
  return SourceReply(
      call, std::make_unique<ListProtobuf>(*std::move(list), std::move(objects), std::move(item)));
}

// A list whose items are made of the objects by `make`.
base::Result<Reply> MadeReply(Call& call, json::Value frame, std::vector<store::ObjectPtr> objects,
                              Make make) {
  if (call.accepted.type == MediaType::kProtobuf) {
    const auto message = [&call, make = std::move(make)](
                             const store::ObjectPtr& object,
                             std::string& scratch) -> base::Result<std::string_view> {
      json::Arena arena;
      const json::Value value = TRY(engine::FromStore(arena, object, *call.resource));
      TRY(engine::WriteProtobufMessage(make(arena, value, object), scratch));
      return std::string_view(scratch);
    };
    return ProtobufReply(call, frame, std::move(objects), message);
  }
  const auto item = [&call, make = std::move(make)](
                        json::Arena& arena, const store::ObjectPtr& object, std::string& out) {
    const json::Value value = TRY(engine::FromStore(arena, object, *call.resource));
    json::Write(make(arena, value, object), out);
    return base::OkStatus();
  };
  return SourceReply(call,
                     std::make_unique<ListText>(frame, call.accepted, std::move(objects), item));
}

// A list of the objects as they are.
base::Result<Reply> PlainReply(Call& call, std::vector<store::ObjectPtr> objects,
                               const ListMeta& meta) {
  const auto& resource = *call.resource;
  json::Value metadata = ListMetadata(call.arena, meta);
  // Go holds lists of custom resources as maps, too.
  if (resource.custom && meta.continue_token.empty()) {
    metadata = json::With(call.arena, metadata, "continue", json::Value::StringView(""));
  }
  if (!meta.shard.empty()) {
    const json::Value selector = json::String(call.arena, meta.shard);
    metadata = json::With(call.arena, metadata, "shardInfo",
                          json::MakeObject(call.arena, {{"selector", selector}}));
  }
  json::Value frame = json::ObjectBuilder(call.arena)
                          .Set("kind", std::string_view(resource.list_kind))
                          .Set("apiVersion", std::string_view(engine::ApiVersion(resource.kind)))
                          .Set("metadata", metadata)
                          .Set("items", json::MakeArray(call.arena, {}))
                          .Build();
  if (resource.custom) frame = json::Sorted(call.arena, frame);
  if (call.accepted.type == MediaType::kProtobuf) {
    return ProtobufReply(call, frame, std::move(objects),
                         [&resource](const store::ObjectPtr& object, std::string& scratch) {
                           return engine::ProtobufAs(object, resource, scratch);
                         });
  }
  const auto item = [&resource, prefix = engine::KindPrefix(resource.kind),
                     scratch = std::string()](json::Arena&, const store::ObjectPtr& object,
                                              std::string& out) mutable {
    AppendItem(resource, TRY(engine::BytesAs(object, resource, scratch)), prefix, out);
    return base::OkStatus();
  };
  return SourceReply(call,
                     std::make_unique<ListText>(frame, call.accepted, std::move(objects), item,
                                                resource.custom ? nullptr : resource.schema));
}

// Each is read by itself, so that a large list is never whole in memory.
base::Result<std::vector<store::ObjectPtr>> SortedByPrecedence(
    const Call& call, const std::vector<store::ObjectPtr>& objects) {
  std::vector<std::pair<std::int64_t, store::ObjectPtr>> keyed;
  keyed.reserve(objects.size());
  for (const store::ObjectPtr& object : objects) {
    json::Arena arena;
    const json::Value value = TRY(engine::FromStore(arena, object, *call.resource));
    keyed.emplace_back(table::Precedence(value), object);
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<store::ObjectPtr> sorted;
  sorted.reserve(keyed.size());
  for (auto& [precedence, object] : keyed) sorted.push_back(std::move(object));
  return sorted;
}

base::Result<Reply> TableReply(Call& call, std::vector<store::ObjectPtr> objects,
                               const ListMeta& meta) {
  const json::Value metadata = ListMetadata(call.arena, meta);
  if (table::IsSorted(*call.resource)) objects = TRY(SortedByPrecedence(call, objects));
  const auto include = TRY(table::ReadIncludeObject(call.info.query.Get("includeObject")));
  const auto printer = std::make_shared<const table::RowPrinter>(*call.resource, include,
                                                                 call.accepted.form_version);
  const base::WallTime now = call.env.clock->Now();
  const json::Value rows =
      objects.empty() ? table::NoRows(call.arena, *call.resource) : json::MakeArray(call.arena, {});
  return MadeReply(call,
                   table::Make(call.arena, call.accepted.form_version, metadata,
                               table::ColumnDefinitions(call.arena, *call.resource), rows),
                   std::move(objects),
                   [printer, now, &resource = *call.resource](
                       json::Arena& arena, json::Value object, const store::ObjectPtr& stored) {
                     return printer->Row(arena, object, now,
                                         table::ObjectOfCells(arena, resource, stored));
                   });
}

base::Result<Reply> FormReply(Call& call, std::vector<store::ObjectPtr> objects,
                              const ListMeta& meta) {
  if (call.accepted.form == Form::kObject) return PlainReply(call, std::move(objects), meta);
  if (call.accepted.form == Form::kPartialObject) {
    return WrongForm(call, "PartialObjectMetadata", "a list", "List");
  }
  if (call.accepted.form == Form::kTable) return TableReply(call, std::move(objects), meta);
  // Go's list of no items, which is null.
  const json::Value items = objects.empty() ? json::Value() : json::MakeArray(call.arena, {});
  return MadeReply(
      call,
      json::MakeObject(
          call.arena,
          {{"kind", json::Value::StringView("PartialObjectMetadataList")},
           {"apiVersion",
            json::String(call.arena, base::StrCat("meta.k8s.io/", call.accepted.form_version))},
           {"metadata", ListMetadata(call.arena, meta)},
           {"items", items}}),
      std::move(objects),
      [&resource = *call.resource, version = call.accepted.form_version](
          json::Arena& arena, json::Value object, const store::ObjectPtr&) {
        return PartialMetadata(arena, resource, object, version);
      });
}

}  // namespace

base::Result<Reply> ListReply(Call& call, std::vector<store::ObjectPtr> objects,
                              const ListMeta& meta) {
  const MediaType type = call.accepted.type;
  const bool audited = call.audit && call.audit->wants_response_object();
  if (type == MediaType::kJson || !audited) return FormReply(call, std::move(objects), meta);
  // The audit log holds the JSON of the answer.
  call.accepted.type = MediaType::kJson;
  Reply reply = TRY(FormReply(call, std::move(objects), meta));
  TRY(CompleteBody(reply));
  call.accepted.type = type;
  return ValueReply(call, reply.status, TRY(json::Parse(call.arena, reply.body)));
}

base::Result<Reply> ValuesReply(Call& call, const std::vector<json::Value>& objects) {
  json::Arena& arena = call.arena;
  const auto& resource = *call.resource;
  const std::string& version = call.accepted.form_version;
  json::ArrayBuilder items(arena);
  json::ObjectBuilder list(arena);
  switch (call.accepted.form) {
    case Form::kPartialObject:
      return WrongForm(call, "PartialObjectMetadata", "a list", "List");
    case Form::kTable: {
      const auto include = TRY(table::ReadIncludeObject(call.info.query.Get("includeObject")));
      const table::RowPrinter printer(resource, include, version);
      for (const json::Value object : objects) {
        items.Add(printer.Row(arena, object, call.env.clock->Now()));
      }
      const json::Value rows = objects.empty() ? table::NoRows(arena, resource) : items.Build();
      return ValueReply(call, 200,
                        table::Make(arena, version, json::MakeObject(arena, {}),
                                    table::ColumnDefinitions(arena, resource), rows));
    }
    case Form::kPartialObjectList:
      for (const json::Value object : objects) {
        items.Add(PartialMetadata(arena, resource, object, version));
      }
      list.Set("kind", "PartialObjectMetadataList");
      list.Set("apiVersion", json::String(arena, base::StrCat("meta.k8s.io/", version)));
      break;
    default:
      for (const json::Value object : objects) {
        items.Add(json::Without(arena, json::Without(arena, object, "kind"), "apiVersion"));
      }
      list.Set("kind", std::string_view(resource.list_kind));
      list.Set("apiVersion", std::string_view(engine::ApiVersion(resource.kind)));
  }
  list.Set("metadata", json::MakeObject(arena, {}));
  const bool is_null = objects.empty() && call.accepted.form == Form::kPartialObjectList;
  list.Set("items", is_null ? json::Value() : items.Build());
  return ValueReply(call, 200, list.Build());
}

}  // namespace portcullis::server::rest
