// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/variable_types.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/strings.h"

namespace portcullis::kube_cel {

VariableTypes::VariableTypes(std::initializer_list<VariableType> variables) {
  for (const VariableType& variable : variables) Add(variable);
}

std::shared_ptr<const VariableTypes::Block> VariableTypes::Merge(const Block& older,
                                                                 const Block& newer) {
  auto out = std::make_shared<Block>();
  out->reserve(older.size() + newer.size());
  auto next = older.begin();
  for (const auto& variable : newer) {
    while (next != older.end() && (*next)->name < variable->name) out->push_back(*next++);
    if (next != older.end() && (*next)->name == variable->name) ++next;
    out->push_back(variable);
  }
  out->insert(out->end(), next, older.end());
  return out;
}

void VariableTypes::Add(VariableType variable) {
  digest_ = base::Sha256Hex(base::StrCat(digest_, variable.name, ":", variable.type));
  auto block = std::make_shared<const Block>(
      Block{std::make_shared<const VariableType>(std::move(variable))});
  while (!blocks_.empty() && blocks_.back()->size() <= block->size()) {
    block = Merge(*blocks_.back(), *block);
    blocks_.pop_back();
  }
  blocks_.push_back(std::move(block));
}

const VariableType* VariableTypes::Find(std::string_view name) const {
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    const auto found = std::lower_bound(
        (*block)->begin(), (*block)->end(), name,
        [](const auto& variable, std::string_view wanted) { return variable->name < wanted; });
    if (found != (*block)->end() && (*found)->name == name) return found->get();
  }
  return nullptr;
}

}  // namespace portcullis::kube_cel
