// SPDX-License-Identifier: Apache-2.0

// StrategyTable: the strategies of all resources, made of the rows of the table of kinds.
#pragma once

#include <memory>

#include "registry/strategy.h"

namespace portcullis::registry {

// The strategy of each resource. Thread-safe: immutable after construction.
class StrategyTable {
 public:
  StrategyTable();
  ~StrategyTable();
  StrategyTable(const StrategyTable&) = delete;
  StrategyTable& operator=(const StrategyTable&) = delete;

  // The row of the resource (any version), else one of the default strategies: what the catalog
  // says about a status subresource, and whether objects of the kind count generations.
  const Strategy& Find(const api::catalog::ResourceInfo& resource) const;

 private:
  struct Rows;
  std::unique_ptr<const Rows> rows_;
};

}  // namespace portcullis::registry
