// SPDX-License-Identifier: Apache-2.0

#include "registry/custom_resources/embedded_objects.h"

#include "api/names.h"
#include "base/strings.h"
#include "registry/validation/object_meta.h"

namespace portcullis::registry {

using json::Value;

void CheckEmbeddedObject(Value value, const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view name : {"apiVersion", "kind"}) {
    const Value* given = value.Find(name);
    const FieldPath at = path.Child(name);
    if (given == nullptr) {
      errors.push_back(api::Required(at, ""));
    } else if (!given->is_string()) {
      errors.push_back(api::Invalid(at, *given, "must be a string"));
    } else if (given->AsString().empty()) {
      errors.push_back(api::Invalid(at, "", "must not be empty"));
    } else if (name == "apiVersion") {
      const auto version = api::ParseGroupVersion(given->AsString());
      if (!version.ok()) {
        errors.push_back(api::Invalid(at, *given, version.status().message()));
      }
    } else if (const auto wrong = api::IsDns1035Label(base::ToLower(given->AsString()));
               !wrong.empty()) {
      errors.push_back(
          api::Invalid(at, *given,
                       base::StrCat("may have mixed case, but should otherwise match: ",
                                    base::Join(wrong, ","))));
    }
  }
  if (value["metadata"].is_object()) {
    ValidateEmbeddedObjectMeta(value, path.Child("metadata"), errors);
  }
}

void CheckEmbeddedObjects(Value props, Value value, const FieldPath& path, FieldErrors& errors) {
  if (!props.is_object()) return;
  if (value.is_array()) {
    const Value items = props["items"];
    if (!items.is_object()) return;
    std::size_t index = 0;
    for (const Value& element : value.elements()) {
      CheckEmbeddedObjects(items, element, path.Index(index++), errors);
    }
    return;
  }
  if (!value.is_object()) return;
  if (props[kEmbedded].AsBool()) CheckEmbeddedObject(value, path, errors);
  const Value properties = props["properties"];
  const Value additional = props["additionalProperties"];
  if (properties.empty() && !additional.is_object()) return;
  for (const json::Member& member : value.members()) {
    if (const Value* property = properties.Find(member.name())) {
      CheckEmbeddedObjects(*property, member.value, path.Child(member.name()), errors);
    } else if (additional.is_object()) {
      CheckEmbeddedObjects(additional, member.value, path.Key(member.name()), errors);
    }
  }
}

}  // namespace portcullis::registry
