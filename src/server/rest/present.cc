#include "server/rest/present.h"

#include <functional>

#include "base/strings.h"
#include "engine/codec/codec.h"
#include "json/writer.h"
#include "server/reply.h"
#include "server/table/table.h"

namespace portcullis::server::rest {

using engine::ListMeta;

namespace {

json::Value ListMetadata(json::Arena& arena, const ListMeta& meta) {
  json::ObjectBuilder metadata(arena);
  metadata.Set("resourceVersion", meta.resource_version);
  if (!meta.continue_token.empty()) metadata.Set("continue", meta.continue_token);
  if (meta.remaining > 0) {
    metadata.Set("remainingItemCount", static_cast<std::int64_t>(meta.remaining));
  }
  return metadata.Build();
}

json::Value TableOf(Call& call, std::span<const json::Value> objects, json::Value metadata) {
  const auto include = table::ReadIncludeObject(call.info.query.Get("includeObject"));
  json::ArrayBuilder rows(call.arena);
  for (const json::Value& object : table::InOrder(*call.resource, objects)) {
    rows.Add(table::Row(call.arena, *call.resource, object, include, call.env.clock->Now()));
  }
  return table::Make(call.arena, call.accepted.form_version, metadata,
                     table::ColumnDefinitions(call.arena, *call.resource), rows.Build());
}

json::Value ScaleTable(Call& call, json::Value scale, const ListMeta& meta) {
  const auto include = table::ReadIncludeObject(call.info.query.Get("includeObject"));
  json::ArrayBuilder rows(call.arena);
  rows.Add(table::ScaleRow(call.arena, scale, include, call.env.clock->Now()));
  return table::Make(call.arena, call.accepted.form_version, ListMetadata(call.arena, meta),
                     table::ScaleColumns(call.arena), rows.Build());
}

// The stored bytes without kind and apiVersion, as items of a list of a built-in kind are written.
void AppendItem(const Call& call, std::string_view bytes, std::string_view prefix,
                std::string& out) {
  if (!call.resource->custom && bytes.substr(0, prefix.size()) == prefix) {
    out += '{';
    out.append(bytes.substr(prefix.size()));
  } else {
    out.append(bytes);
  }
}

std::string ListText(Call& call, const std::vector<store::ObjectPtr>& objects, const ListMeta& meta,
                     base::Status& failure) {
  const auto& kind = call.resource->kind;
  std::string text = base::StrCat("{\"kind\":\"", call.resource->list_kind, "\",\"apiVersion\":\"",
                                  engine::ApiVersion(kind), "\",\"metadata\":");
  json::Write(ListMetadata(call.arena, meta), text);
  text += ",\"items\":[";
  const std::string prefix = engine::KindPrefix(kind);
  std::string scratch;
  bool first = true;
  for (const store::ObjectPtr& object : objects) {
    auto bytes = BytesAs(call, object, scratch);
    if (!bytes.ok()) {
      failure = std::move(bytes).status();
      return {};
    }
    if (!first) text += ',';
    first = false;
    AppendItem(call, *bytes, prefix, text);
  }
  text += "]}";
  return text;
}

// The server's internal Go type of the kind, as %T prints it.
std::string GoTypeOf(const Call& call, std::string_view suffix) {
  if (call.resource->custom) return base::StrCat("*unstructured.Unstructured", suffix);
  const std::string_view group = call.resource->kind.group;
  const std::string_view package =
      group.empty() || group == "events.k8s.io" ? "core" : group.substr(0, group.find('.'));
  return base::StrCat("*", package, ".", call.resource->kind.kind, suffix);
}

base::Status WrongForm(const Call& call, std::string_view form, std::string_view is,
                       std::string_view suffix) {
  return base::Status(base::Reason::kNotAcceptable,
                      base::StrCat("you requested ", form, ", but the requested object is ", is,
                                   " (", GoTypeOf(call, suffix), ")"));
}

}  // namespace

json::Value PartialMetadata(json::Arena& arena, json::Value object, std::string_view version) {
  return json::MakeObject(
      arena, {{"kind", json::Value::StringView("PartialObjectMetadata")},
              {"apiVersion", json::String(arena, base::StrCat("meta.k8s.io/", version))},
              {"metadata", object["metadata"]}});
}

base::Result<Reply> PresentValue(Call& call, int http_status, json::Value object) {
  switch (call.accepted.form) {
    case Form::kTable: {
      ListMeta meta;
      meta.resource_version = std::string(object["metadata"]["resourceVersion"].AsString());
      if (call.kind().kind == "Scale") {
        return ValueReply(call, http_status, ScaleTable(call, object, meta));
      }
      return ValueReply(call, http_status,
                        TableOf(call, std::span(&object, 1), ListMetadata(call.arena, meta)));
    }
    case Form::kPartialObject:
      return ValueReply(call, http_status,
                        PartialMetadata(call.arena, object, call.accepted.form_version));
    case Form::kPartialObjectList:
      return WrongForm(call, "PartialObjectMetadataList", "not a list", "");
    default:
      return ValueReply(call, http_status, object);
  }
}

base::Result<Reply> OutcomeReply(Call& call, const engine::Outcome& outcome) {
  if (outcome.stored != nullptr) return ObjectReply(call, outcome.code, outcome.stored);
  if (outcome.plain) return ValueReply(call, outcome.code, outcome.object);
  return PresentValue(call, outcome.code, outcome.object);
}

base::Result<Reply> ObjectReply(Call& call, int http_status, const store::ObjectPtr& object) {
  if (call.accepted.form == Form::kObject) {
    std::string scratch;
    const std::string_view bytes = TRY(BytesAs(call, object, scratch));
    return JsonTextReply(call, http_status, std::string(bytes));
  }
  const json::Value value = TRY(FromStore(call, object));
  return PresentValue(call, http_status, value);
}

namespace {

// `list` ends with an empty array; its elements are made and written one by one, so that what one
// object takes is at hand again for the next.
base::Result<Reply> FilledReply(
    Call& call, json::Value list, const std::vector<store::ObjectPtr>& objects,
    const std::function<json::Value(json::Arena& arena, json::Value object)>& make) {
  std::string text = json::ToString(list);
  text.resize(text.size() - 2);
  constexpr std::size_t kSample = 16;
  std::size_t count = 0;
  for (const store::ObjectPtr& object : objects) {
    json::Arena arena;
    const json::Value value = TRY(engine::FromStore(arena, object, *call.resource));
    if (count != 0) text += ',';
    json::Write(make(arena, value), text);
    // Objects of a kind are much alike: room for all of them is made once.
    if (++count == kSample) text.reserve(text.size() / kSample * (objects.size() + 1));
  }
  text += "]}";
  return JsonTextReply(call, 200, std::move(text));
}

base::Result<Reply> TableReply(Call& call, const std::vector<store::ObjectPtr>& objects,
                               const ListMeta& meta) {
  const json::Value metadata = ListMetadata(call.arena, meta);
  if (table::IsSorted(*call.resource)) {
    std::vector<json::Value> values;
    values.reserve(objects.size());
    for (const store::ObjectPtr& object : objects) {
      values.push_back(TRY(FromStore(call, object)));
    }
    return ValueReply(call, 200, TableOf(call, values, metadata));
  }
  const auto include = table::ReadIncludeObject(call.info.query.Get("includeObject"));
  const base::WallTime now = call.env.clock->Now();
  return FilledReply(call,
                     table::Make(call.arena, call.accepted.form_version, metadata,
                                 table::ColumnDefinitions(call.arena, *call.resource),
                                 json::MakeArray(call.arena, {})),
                     objects, [&](json::Arena& arena, json::Value object) {
                       return table::Row(arena, *call.resource, object, include, now);
                     });
}

}  // namespace

base::Result<Reply> ListReply(Call& call, const std::vector<store::ObjectPtr>& objects,
                              const ListMeta& meta) {
  if (call.accepted.form == Form::kObject) {
    base::Status failure;
    std::string text = ListText(call, objects, meta, failure);
    if (!failure.ok()) return failure;
    return JsonTextReply(call, 200, std::move(text));
  }
  if (call.accepted.form == Form::kPartialObject) {
    return WrongForm(call, "PartialObjectMetadata", "a list", "List");
  }
  if (call.accepted.form == Form::kTable) return TableReply(call, objects, meta);
  return FilledReply(
      call,
      json::MakeObject(
          call.arena,
          {{"kind", json::Value::StringView("PartialObjectMetadataList")},
           {"apiVersion",
            json::String(call.arena, base::StrCat("meta.k8s.io/", call.accepted.form_version))},
           {"metadata", ListMetadata(call.arena, meta)},
           {"items", json::MakeArray(call.arena, {})}}),
      objects, [&](json::Arena& arena, json::Value object) {
        return PartialMetadata(arena, object, call.accepted.form_version);
      });
}

}  // namespace portcullis::server::rest
