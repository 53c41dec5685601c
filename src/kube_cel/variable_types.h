// SPDX-License-Identifier: Apache-2.0

// VariableTypes: the variables of a policy that an expression may use. Each variable's expression
// sees those before it, so a policy of n variables has n of these sets; a set shares what it has
// with the one it was copied from, and all of them together take n log n memory and time.
//
// A value type. Copies may be used by several threads.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis::kube_cel {

// A variable as later expressions see it: its name and type (TypeString()).
struct VariableType {
  std::string name;
  std::string type = "dyn";
};

class VariableTypes {
 public:
  VariableTypes() = default;
  VariableTypes(std::initializer_list<VariableType> variables);

  // Of several with the same name the last one counts.
  void Add(VariableType variable);
  const VariableType* Find(std::string_view name) const;
  bool empty() const { return blocks_.empty(); }
  // Equal where the same variables were added in the same order.
  const std::string& digest() const { return digest_; }

 private:
  // Sorted by name, each name once.
  using Block = std::vector<std::shared_ptr<const VariableType>>;
  static std::shared_ptr<const Block> Merge(const Block& older, const Block& newer);

  // Newer blocks stand behind older ones and are smaller: adding merges blocks as a binary counter
  // carries.
  std::vector<std::shared_ptr<const Block>> blocks_;
  std::string digest_;
};

}  // namespace portcullis::kube_cel
