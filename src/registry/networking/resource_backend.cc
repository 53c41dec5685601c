#include "registry/networking/resource_backend.h"

#include "base/strings.h"

namespace portcullis::registry {

void CheckResourceBackend(json::Value resource, const FieldPath& path, FieldErrors& errors) {
  if (const json::Value group = resource["apiGroup"]; !group.is_null()) {
    CheckSubdomain(group.AsString(), path.Child("apiGroup"), errors);
  }
  for (const std::string_view field : {"kind", "name"}) {
    const std::string_view text = resource[field].AsString();
    if (text.empty()) {
      errors.push_back(api::Required(path.Child(field), base::StrCat(field, " is required")));
    } else {
      AddInvalid(path.Child(field), text, IsPathSegmentName(text, false), errors);
    }
  }
}

}  // namespace portcullis::registry
