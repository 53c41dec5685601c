#include "api/field_path.h"

#include "base/strings.h"

namespace portcullis::api {

FieldPath FieldPath::Child(std::string_view name) const {
  FieldPath child;
  child.text_ = text_.empty() ? std::string(name) : base::StrCat(text_, ".", name);
  return child;
}

FieldPath FieldPath::Index(std::size_t index) const { return Key(std::to_string(index)); }

FieldPath FieldPath::Key(std::string_view key) const {
  FieldPath child;
  child.text_ = base::StrCat(text_, "[", key, "]");
  return child;
}

}  // namespace portcullis::api
