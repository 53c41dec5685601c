// SPDX-License-Identifier: Apache-2.0

#include "server/table/table.h"

#include <algorithm>
#include <ctime>
#include <set>

#include "api/field_error.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "server/rest/present.h"
#include "server/table/cells.h"
#include "server/table/json_path.h"

namespace portcullis::server::table {
namespace {

const PrinterRow* FindRow(std::string_view group, std::string_view resource) {
  for (std::span<const PrinterRow> rows : {WorkloadPrinters(), CorePrinters(), GroupPrinters()}) {
    for (const PrinterRow& row : rows) {
      if (row.resource == resource && row.group == group) return &row;
    }
  }
  return nullptr;
}

// Objects of another group's kind (docs/legacy.md) are printed as that group's.
Printer FindPrinter(const api::catalog::ResourceInfo& resource) {
  if (resource.custom) return nullptr;
  const std::string_view name = resource.resource.resource;
  const PrinterRow* row = FindRow(resource.resource.group, name);
  if (row == nullptr) row = FindRow(resource.storage_kind.group, name);
  return row != nullptr ? row->print : nullptr;
}

// The cell of a custom resource's column: the first value its path leads to.
json::Value CustomCell(CellWriter& writer, const api::catalog::ColumnInfo& column,
                       const std::vector<json::Value>& found) {
  if (found.empty()) return {};
  const json::Value value = found.front();
  if (column.type == "string") {
    if (value.is_string()) return value;
    if (value.is_null()) return json::Value::StringView("<no value>");
    return json::String(writer.arena, json::ToString(value, {.sort_keys = true}));
  }
  if (column.type == "integer" && value.is_number()) {
    return json::Value::Int(value.is_int() ? value.AsInt()
                                           : static_cast<std::int64_t>(value.AsDouble()));
  }
  if (column.type == "number" && value.is_number()) return value;
  if (column.type == "boolean" && value.is_bool()) return value;
  if (column.type == "date" && value.is_string()) {
    const std::string_view text = value.AsString();
    if (text.empty() || text == "null") return json::Value::StringView("<unknown>");
    std::int64_t seconds = 0;
    if (!SecondsSince(text, writer.now, seconds)) {
      return json::Value::StringView("<invalid>");
    }
    return json::String(writer.arena, HumanDuration(seconds));
  }
  return {};
}

// Tells clients of a table that a pod has run to its end.
json::Value EndedCondition(json::Arena& arena, std::string_view phase) {
  json::ArrayBuilder conditions(arena);
  conditions.Add(json::ObjectBuilder(arena)
                     .Set("type", "Completed")
                     .Set("status", "True")
                     .Set("reason", phase)
                     .Set("message", phase == "Succeeded" ? "The pod has completed successfully."
                                                          : "The pod failed.")
                     .Build());
  return conditions.Build();
}

// The column that Kubernetes gives, beside the name, to kinds that have none of their own.
bool IsCreatedAt(const api::catalog::ColumnInfo& column) { return column.name == "Created At"; }

json::Value RowOf(const CellWriter& writer, const api::catalog::ResourceInfo& resource,
                  json::Value object, IncludeObject include, std::string_view version) {
  json::Arena& arena = writer.arena;
  json::Value shown;
  if (include == IncludeObject::kObject) shown = object;
  if (include == IncludeObject::kMetadata) {
    shown = rest::PartialMetadata(arena, resource, object, version);
  }
  json::ObjectBuilder row(arena);
  row.Set("cells", json::MakeArray(arena, writer.cells));
  if (!writer.ended.empty()) row.Set("conditions", EndedCondition(arena, writer.ended));
  return row.Set("object", shown).Build();
}

}  // namespace

base::Result<IncludeObject> ReadIncludeObject(std::string_view text) {
  if (text == "None") return IncludeObject::kNone;
  if (text == "Object") return IncludeObject::kObject;
  if (text.empty() || text == "Metadata") return IncludeObject::kMetadata;
  const api::FieldError error = api::Invalid(api::FieldPath("includeObject"), text,
                                             "must be 'Metadata', 'Object', 'None', or empty");
  return base::BadRequest(
      base::StrCat("Unable to convert to Table as requested: ", error.ToString()));
}

json::Value ColumnDefinitions(json::Arena& arena, const api::catalog::ResourceInfo& resource) {
  json::ArrayBuilder columns(arena);
  for (const api::catalog::ColumnInfo& column : resource.columns) {
    columns.Add(json::ObjectBuilder(arena)
                    .Set("name", column.name)
                    .Set("type", column.type)
                    .Set("format", column.format)
                    .Set("description", column.description)
                    .Set("priority", column.priority)
                    .Build());
  }
  return columns.Build();
}

bool IsSorted(const api::catalog::ResourceInfo& resource) {
  return resource.resource.resource == "flowschemas" && !resource.custom;
}

std::int64_t Precedence(json::Value flow_schema) {
  return flow_schema["spec"]["matchingPrecedence"].AsInt();
}

bool ShowsStatus(const api::catalog::ResourceInfo& resource) {
  const PrinterRow* row = FindRow(resource.resource.group, resource.resource.resource);
  return row == nullptr || row->status == StatusTable::kShown;
}

RowPrinter::RowPrinter(const api::catalog::ResourceInfo& resource, IncludeObject include,
                       std::string_view version)
    : resource_(resource), include_(include), version_(version), printer_(FindPrinter(resource)) {
  if (printer_ != nullptr) return;
  for (const api::catalog::ColumnInfo& column : resource.columns) {
    auto path = api::ParseJsonPath(column.json_path);
    paths_.push_back(path.ok() ? *std::move(path) : api::JsonPath());
  }
}

json::Value ObjectOfCells(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                          const store::ObjectPtr& object) {
  const bool differs = resource.resource.group == "autoscaling" && !resource.custom &&
                       resource.kind != resource.storage_kind;
  if (!differs || object == nullptr) return {};
  arena.Retain(object);
  const auto stored = json::Parse(arena, object->bytes(), {.borrow_text = true});
  return stored.ok() ? *stored : json::Value();
}

json::Value RowPrinter::Row(json::Arena& arena, json::Value object, base::WallTime now,
                            json::Value stored) const {
  CellWriter writer{arena, now, {}, {}};
  if (printer_ != nullptr) {
    printer_(writer, stored.is_null() ? object : stored);
  } else {
    PrintGeneric(writer, object);
  }
  return RowOf(writer, resource_, object, include_, version_);
}

// By the path of the column, or what its name tells.
void RowPrinter::PrintGeneric(CellWriter& writer, json::Value object) const {
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const api::catalog::ColumnInfo& column = resource_.columns[i];
    if (!column.json_path.empty()) {
      writer.cells.push_back(
          CustomCell(writer, column, FindJsonPath(writer.arena, object, paths_[i])));
    } else if (column.name == "Name") {
      writer.Name(object);
    } else if (column.name == "Age") {
      writer.Age(object);
    } else if (IsCreatedAt(column)) {
      writer.Creation(object);
    } else if (column.type == "integer") {
      writer.Int(0);
    } else if (column.type == "boolean") {
      writer.Bool(false);
    } else {
      writer.Text("<none>");
    }
  }
}

json::Value ScaleColumns(json::Arena& arena, const api::catalog::ResourceInfo& resource) {
  const std::pair<std::string_view, std::string_view> columns_of_scales[] = {
      {"Name", "string"},
      {"Desired", "integer"},
      {"Available", "integer"},
      {"Age", resource.custom ? "date" : "string"}};
  json::ArrayBuilder columns(arena);
  for (const auto& [name, type] : columns_of_scales) {
    columns.Add(json::ObjectBuilder(arena)
                    .Set("name", name)
                    .Set("type", type)
                    .Set("format", resource.custom && name == "Name" ? "name" : "")
                    .Set("description", "")
                    .Set("priority", 0)
                    .Build());
  }
  return columns.Build();
}

json::Value ScaleRow(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                     json::Value scale, IncludeObject include, base::WallTime now,
                     std::string_view version) {
  CellWriter writer{arena, now, {}, {}};
  writer.Name(scale)
      .Int(scale["spec"]["replicas"].AsInt())
      .Int(scale["status"]["replicas"].AsInt())
      .Age(scale);
  return RowOf(writer, resource, scale, include, version);
}

json::Value NoRows(json::Arena& arena, const api::catalog::ResourceInfo& resource) {
  const auto& columns = resource.columns;
  const bool own = resource.custom || std::none_of(columns.begin(), columns.end(), IsCreatedAt);
  return own ? json::MakeArray(arena, {}) : json::Value();
}

json::Value Make(json::Arena& arena, std::string_view version, json::Value list_metadata,
                 json::Value columns, json::Value rows) {
  return json::MakeObject(
      arena, {{"kind", json::Value::StringView("Table")},
              {"apiVersion", json::String(arena, base::StrCat("meta.k8s.io/", version))},
              {"metadata", list_metadata},
              {"columnDefinitions", columns},
              {"rows", rows}});
}

CellWriter& CellWriter::Since(std::string_view timestamp) {
  std::int64_t seconds = 0;
  if (!SecondsSince(timestamp, now, seconds)) return Text("<unknown>");
  return Text(HumanDuration(seconds));
}

bool SecondsSince(std::string_view timestamp, base::WallTime now, std::int64_t& seconds) {
  std::tm parts{};
  const std::string text(timestamp.substr(0, 19));
  if (text.size() != 19 || strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) {
    return false;
  }
  const std::time_t then = timegm(&parts);
  seconds = static_cast<std::int64_t>(std::chrono::system_clock::to_time_t(now) - then);
  return true;
}

std::string HumanDuration(std::int64_t seconds) {
  const auto unit = [](std::int64_t number, const char* name) {
    return std::to_string(number) + name;
  };
  // Two units up to a limit, then one; the limits are those of the library kubectl shows ages with.
  const auto two = [&](std::int64_t large, const char* large_name, std::int64_t small,
                       const char* small_name) {
    return small == 0 ? unit(large, large_name) : unit(large, large_name) + unit(small, small_name);
  };
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return unit(seconds, "s");
  const std::int64_t minutes = seconds / 60;
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return unit(minutes, "m");
  const std::int64_t hours = minutes / 60;
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return unit(hours, "h");
  const std::int64_t days = hours / 24;
  if (days < 8) return two(days, "d", hours % 24, "h");
  if (days < 730) return unit(days, "d");
  const std::int64_t years = days / 365;
  if (years < 8) return two(years, "y", days % 365, "d");
  return unit(years, "y");
}

std::string LabelsText(json::Value labels) {
  std::vector<std::string> pairs;
  for (const json::Member& member : labels.members()) {
    pairs.push_back(base::StrCat(member.name(), "=", member.value.AsString()));
  }
  if (pairs.empty()) return "<none>";
  std::sort(pairs.begin(), pairs.end());
  return base::Join(pairs, ",");
}

std::string SelectorText(json::Value selector) {
  const auto parsed = api::LabelSelector::FromJson(selector);
  if (!parsed.ok()) return "<error>";
  const std::string text = parsed->ToString();
  return text.empty() ? "<none>" : text;
}

std::vector<std::string_view> LoadBalancerAddresses(json::Value object) {
  std::set<std::string_view> addresses;
  for (const json::Value& entry : object["status"]["loadBalancer"]["ingress"].elements()) {
    const std::string_view ip = entry["ip"].AsString();
    const std::string_view address = ip.empty() ? entry["hostname"].AsString() : ip;
    if (!address.empty()) addresses.insert(address);
  }
  return {addresses.begin(), addresses.end()};
}

void ShortList::Add(std::string_view text) {
  if (count_ < most_) {
    if (count_ > 0) text_ += separator_;
    text_ += text;
  }
  ++count_;
}

std::string ShortList::ToString() const {
  if (count_ <= most_) return text_;
  return base::StrCat(text_, " + ", std::to_string(count_ - most_), " more...");
}

void ContainerCells(CellWriter& writer, json::Value pod_spec) {
  std::vector<std::string_view> names;
  std::vector<std::string_view> images;
  for (const json::Value& container : pod_spec["containers"].elements()) {
    names.push_back(container["name"].AsString());
    images.push_back(container["image"].AsString());
  }
  writer.Text(base::Join(names, ",")).Text(base::Join(images, ","));
}

}  // namespace portcullis::server::table
