// SPDX-License-Identifier: Apache-2.0

#include "registry/strategy_table.h"

#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "api/catalog/catalog.h"
#include "api/names.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

std::unique_ptr<Strategy> MakeStrategy(const Kind& kind) {
  return kind.make != nullptr ? kind.make(kind) : std::make_unique<DefaultStrategy>(kind);
}

// Without and with a status subresource; which it is the catalog says.
struct Pair {
  std::unique_ptr<Strategy> strategies[2];
};

}  // namespace

struct StrategyTable::Rows {
  using Name = std::pair<std::string_view, std::string_view>;  // group, resource
  struct Hash {
    std::size_t operator()(const Name& name) const {
      return api::HashNames(name.first, {}, name.second);
    }
  };

  std::deque<Kind> kinds;  // those of the table, each without and with a status subresource
  std::unordered_map<Name, Pair, Hash> by_resource;
  Pair custom;
  Pair others;

  Pair Add(Kind kind) {
    Pair pair;
    for (const bool has_status : {false, true}) {
      kind.traits.has_status = has_status;
      kinds.push_back(kind);
      pair.strategies[has_status ? 1 : 0] = MakeStrategy(kinds.back());
    }
    return pair;
  }
};

StrategyTable::StrategyTable() {
  auto rows = std::make_unique<Rows>();
  for (const Kind& kind : KindTable::BuiltIn().kinds()) {
    rows->by_resource[{kind.group, kind.resource}] = rows->Add(kind);
  }
  rows->others = rows->Add({});
  rows->custom = rows->Add(KindTable::BuiltIn().custom_resources());
  rows_ = std::move(rows);
}

StrategyTable::~StrategyTable() = default;

const Strategy& StrategyTable::Find(const api::catalog::ResourceInfo& resource) const {
  const bool has_status = resource.FindSubresource("status") != nullptr;
  const Pair* pair = &rows_->others;
  if (resource.custom) {
    pair = &rows_->custom;
  } else {
    const auto row =
        rows_->by_resource.find({resource.storage_kind.group, resource.resource.resource});
    if (row != rows_->by_resource.end()) pair = &row->second;
  }
  return *pair->strategies[has_status ? 1 : 0];
}

}  // namespace portcullis::registry
