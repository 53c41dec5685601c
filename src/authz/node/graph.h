// SPDX-License-Identifier: Apache-2.0

// Graph: which objects the pods, volumes and other objects of the store relate to which node. It is
// kept up to date by the store's commits: what a write relates, or no longer relates, counts before
// the write is acknowledged. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "authz/node/relations.h"
#include "store/store.h"

namespace portcullis::authz::node {

class Graph {
 public:
  virtual ~Graph() = default;
  // Whether the node needs the object.
  virtual bool Relates(std::string_view node, Kind kind, std::string_view ns,
                       std::string_view name) const = 0;
  // How many relations of nodes to objects are held.
  virtual std::size_t size() const = 0;

  // Reads what is stored, then follows. `store` must outlive the graph. `initializers`:
  // what has initializers left relates nothing (docs/legacy.md).
  static std::unique_ptr<Graph> Open(store::Store& store, bool initializers = false);
};

}  // namespace portcullis::authz::node
