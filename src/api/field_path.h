// The place of a field in an object, as in `spec.containers[0].env[NAME].value`
// (k8s.io/apimachinery field.Path). Value type.
//
//   api::FieldPath containers = api::FieldPath("spec").Child("containers");
//   errors.push_back(api::Required(containers.Index(0).Child("name"), ""));
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace portcullis::api {

class FieldPath {
 public:
  FieldPath() = default;  // the object itself; prints as "<nil>"
  explicit FieldPath(std::string_view root) : text_(root) {}
  // Short for FieldPath(root).Child(child)…
  template <typename... More>
  FieldPath(std::string_view root, std::string_view child, const More&... more)
      : FieldPath(FieldPath(root).Child(child, more...)) {}

  FieldPath Child(std::string_view name) const;
  template <typename... More>
  FieldPath Child(std::string_view name, std::string_view next, const More&... more) const {
    return Child(name).Child(next, more...);
  }
  FieldPath Index(std::size_t index) const;   // "[3]"
  FieldPath Key(std::string_view key) const;  // "[key]"

  bool empty() const { return text_.empty(); }
  std::string ToString() const { return text_.empty() ? "<nil>" : text_; }
  const std::string& text() const { return text_; }  // "" for the object itself

 private:
  std::string text_;
};

}  // namespace portcullis::api
