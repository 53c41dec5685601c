// SPDX-License-Identifier: Apache-2.0

// Any text as a JSONPath: reading it never crashes; no path has more nodes than characters, nodes lie
// within each other, and what stands behind a path changes nothing.
#include <cstdlib>
#include <span>
#include <string>

#include "api/json_path.h"

namespace api = portcullis::api;

namespace {

using Kind = api::JsonPathNode::Kind;
using Nodes = std::span<const api::JsonPathNode>;

// Takes one path off; the paths of a filter and a union end where the node says.
void CheckPath(Nodes& nodes) {
  bool is_last = false;
  while (!is_last && !nodes.empty()) {
    const api::JsonPathNode& node = nodes.front();
    if (node.size >= nodes.size()) std::abort();
    Nodes within = nodes.subspan(1, node.size);
    std::size_t paths = 0;
    while (!within.empty()) {
      CheckPath(within);
      ++paths;
    }
    const std::size_t in_filter = node.text.empty() ? 1 : 2;
    if (node.kind == Kind::kUnion ? paths < 2
                                  : paths != (node.kind == Kind::kFilter ? in_filter : 0)) {
      std::abort();
    }
    if (node.kind == Kind::kInt) (void)api::IntOf(node);
    if (node.kind == Kind::kFloat) (void)api::FloatOf(node);
    if (node.kind == Kind::kSlice) (void)api::BoundsOf(node);
    is_last = node.ends_path;
    nodes = nodes.subspan(1 + node.size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto path = api::ParseJsonPath(text);
  if (!path.ok()) {
    if (path.status().message().empty()) std::abort();
    return 0;
  }
  if (path->nodes.size() > size) std::abort();
  Nodes nodes = path->nodes;
  CheckPath(nodes);
  if (!nodes.empty()) std::abort();
  const std::string longer = text + "} and {.more}";
  const auto again = api::ParseJsonPath(longer);
  if (!again.ok() || again->nodes != path->nodes) std::abort();
  return 0;
}
