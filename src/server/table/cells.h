// SPDX-License-Identifier: Apache-2.0

// Cells: what printers of kinds are made of. Private to this folder.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "server/table/table.h"

namespace portcullis::server::table {

// The cells of one object in the order of the columns.
struct CellWriter {
  json::Arena& arena;
  base::WallTime now;
  std::vector<json::Value> cells;
  // The phase a pod has ended in, "Succeeded" or "Failed": the row tells it as a condition.
  std::string_view ended;

  CellWriter& Text(std::string_view text) {
    cells.push_back(json::String(arena, text));
    return *this;
  }
  CellWriter& Int(std::int64_t number) {
    cells.push_back(json::Value::Int(number));
    return *this;
  }
  CellWriter& Bool(bool value) {
    cells.push_back(json::Value::Bool(value));
    return *this;
  }
  // The text, or `otherwise` if it is empty.
  CellWriter& TextOr(std::string_view text, std::string_view otherwise) {
    return Text(text.empty() ? otherwise : text);
  }
  CellWriter& Name(json::Value object) { return Text(object["metadata"]["name"].AsString()); }
  CellWriter& Age(json::Value object) {
    return Since(object["metadata"]["creationTimestamp"].AsString());
  }
  // The time as it is, which is Go's zero for an object that has none.
  CellWriter& Creation(json::Value object) {
    return TextOr(object["metadata"]["creationTimestamp"].AsString(), "0001-01-01T00:00:00Z");
  }
  // How long ago a time was, as kubectl writes it; <unknown> for none.
  CellWriter& Since(std::string_view timestamp);
};

// k8s.io/apimachinery/pkg/util/duration.HumanDuration: "5m", "3h25m", "2d".
std::string HumanDuration(std::int64_t seconds);
// Seconds from `timestamp` (RFC 3339) to `now`; false if it is none.
bool SecondsSince(std::string_view timestamp, base::WallTime now, std::int64_t& seconds);
// "a=b,c=d" sorted by key, <none> if empty.
std::string LabelsText(json::Value labels);
// A LabelSelector: "a=b,c in (d,e)", <none> if empty.
std::string SelectorText(json::Value selector);
// Names and images of the containers of a PodSpec, joined by commas.
void ContainerCells(CellWriter& writer, json::Value pod_spec);

// The addresses of a Service's or Ingress' load balancer, sorted, each once.
std::vector<std::string_view> LoadBalancerAddresses(json::Value object);

// "a,b,c + 2 more...": a cell of many values shows a few.
class ShortList {
 public:
  explicit ShortList(std::size_t most = 3, std::string_view separator = ",")
      : most_(most), separator_(separator) {}
  void Add(std::string_view text);
  // "" if nothing was added.
  std::string ToString() const;

 private:
  const std::size_t most_;
  const std::string_view separator_;
  std::string text_;
  std::size_t count_ = 0;
};

void PodAutoscaler(CellWriter& writer, json::Value object);
enum class StatusTable { kShown, kRefused };
struct PrinterRow {
  std::string_view group;
  std::string_view resource;
  Printer print;  // null: as of kinds without a row
  StatusTable status = StatusTable::kShown;
};
std::span<const PrinterRow> WorkloadPrinters();  // pods, apps, batch
std::span<const PrinterRow> CorePrinters();      // the rest of the core group
std::span<const PrinterRow> GroupPrinters();     // the other groups

}  // namespace portcullis::server::table
