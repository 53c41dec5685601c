// SPDX-License-Identifier: Apache-2.0

// Tables: how `kubectl get` shows objects (meta.k8s.io/v1 Table). Column definitions come from the
// catalog; cells are made by one function per kind (cells_*.cc), found through one table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/catalog/catalog.h"
#include "api/json_path.h"
#include "base/clock.h"
#include "base/status.h"
#include "json/value.h"
#include "store/object.h"

namespace portcullis::server::table {

enum class IncludeObject { kNone, kMetadata, kObject };

// The value of ?includeObject=; a BadRequest if it is none of the three.
base::Result<IncludeObject> ReadIncludeObject(std::string_view text);

// {"name", "type", "format", "description", "priority"} for each column of the resource.
json::Value ColumnDefinitions(json::Arena& arena, const api::catalog::ResourceInfo& resource);

// Tables list objects as they come, but for FlowSchemas: these are sorted by their precedence, equals
// staying in their order.
bool IsSorted(const api::catalog::ResourceInfo& resource);
std::int64_t Precedence(json::Value flow_schema);

// Whether the status subresource of a built-in resource is shown as a table, too.
bool ShowsStatus(const api::catalog::ResourceInfo& resource);

// What the cells show instead of the object in the resource's version, which does not have all of it:
// autoscalers in autoscaling/v1 as they are stored. Null for other resources.
json::Value ObjectOfCells(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                          const store::ObjectPtr& object);

struct CellWriter;
using Printer = void (*)(CellWriter& writer, json::Value object);

// Makes the rows of tables of one resource. What is the same for all rows is found once: the printer of the
// kind, or the paths of the columns. Immutable.
class RowPrinter {
 public:
  // `resource` outlives it. `version`: of meta.k8s.io, as in "v1".
  RowPrinter(const api::catalog::ResourceInfo& resource, IncludeObject include,
             std::string_view version);

  // {"cells": […], "conditions": […], "object": …} of one object in the resource's version. `stored`: that
  // of ObjectOfCells().
  json::Value Row(json::Arena& arena, json::Value object, base::WallTime now,
                  json::Value stored = {}) const;

 private:
  void PrintGeneric(CellWriter& writer, json::Value object) const;

  const api::catalog::ResourceInfo& resource_;
  const IncludeObject include_;
  const std::string version_;
  const Printer printer_;             // null: by columns
  std::vector<api::JsonPath> paths_;  // of each column; without nodes where it has none
};

// The same of the Scale that a subresource answers, whatever it scales.
json::Value ScaleColumns(json::Arena& arena, const api::catalog::ResourceInfo& resource);
json::Value ScaleRow(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                     json::Value scale, IncludeObject include, base::WallTime now,
                     std::string_view version);

// The rows of a list of no objects: null for kinds that have no columns of their own.
json::Value NoRows(json::Arena& arena, const api::catalog::ResourceInfo& resource);

json::Value Make(json::Arena& arena, std::string_view version, json::Value list_metadata,
                 json::Value columns, json::Value rows);

}  // namespace portcullis::server::table
