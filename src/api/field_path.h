// SPDX-License-Identifier: Apache-2.0

// The place of a field in an object, as in `spec.containers[0].env[NAME].value`
// (k8s.io/apimachinery field.Path). Value type.
//
//   api::FieldPath containers = api::FieldPath("spec").Child("containers");
//   errors.push_back(api::Required(containers.Index(0).Child("name"), ""));
//
// A path is made for every field that is looked at and printed for the few that are wrong, so it
// keeps views of the names, which must live as long as it: literals, names of schemas and members
// of documents do.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/inline_vector.h"

namespace portcullis::api {

class FieldPath {
 public:
  FieldPath() = default;  // the object itself; prints as "<nil>"
  explicit FieldPath(std::string_view root) { Add(Step::Kind::kName, root); }
  template <std::same_as<std::string> Temporary>
  explicit FieldPath(Temporary&& root) = delete;
  // Short for FieldPath(root).Child(child)…
  template <typename... More>
  FieldPath(std::string_view root, std::string_view child, const More&... more)
      : FieldPath(FieldPath(root).Child(child, more...)) {}

  FieldPath Child(std::string_view name) const { return With(Step::Kind::kName, name); }
  template <std::same_as<std::string> Temporary>
  FieldPath Child(Temporary&& name) const = delete;
  template <typename... More>
  FieldPath Child(std::string_view name, std::string_view next, const More&... more) const {
    return Child(name).Child(next, more...);
  }
  FieldPath Index(std::size_t index) const;                                          // "[3]"
  FieldPath Key(std::string_view key) const { return With(Step::Kind::kKey, key); }  // "[key]"
  template <std::same_as<std::string> Temporary>
  FieldPath Key(Temporary&& key) const = delete;

  bool empty() const { return steps_.empty(); }
  std::string ToString() const { return empty() ? "<nil>" : text(); }
  std::string text() const;  // "" for the object itself

 private:
  struct Step {
    enum class Kind : std::uint8_t { kName, kKey, kIndex };
    const char* data;
    std::uint32_t size;  // or the index
    Kind kind;
  };

  void Add(Step::Kind kind, std::string_view text) {
    steps_.push_back({text.data(), static_cast<std::uint32_t>(text.size()), kind});
  }
  FieldPath With(Step::Kind kind, std::string_view text) const;

  base::InlineVector<Step, 10> steps_;
};

}  // namespace portcullis::api
