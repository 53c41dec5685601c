// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/object_meta.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "api/view/metadata.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {
namespace {

void CheckOwnerReferences(json::Value owners, const FieldPath& path, api::FieldErrors& errors) {
  std::string controller;
  for (const json::Value& owner : owners.elements()) {
    const std::string_view api_version = owner["apiVersion"].AsString();
    const auto parsed = api::ParseGroupVersion(api_version);
    if (!parsed.ok() || parsed->version.empty()) {
      errors.push_back(
          api::Invalid(path.Child("apiVersion"), api_version, "version must not be empty"));
    }
    if (owner["kind"].AsString().empty()) {
      errors.push_back(
          api::Invalid(path.Child("kind"), owner["kind"].AsString(), "must not be empty"));
    }
    if (owner["name"].AsString().empty()) {
      errors.push_back(
          api::Invalid(path.Child("name"), owner["name"].AsString(), "must not be empty"));
    }
    if (owner["uid"].AsString().empty()) {
      errors.push_back(
          api::Invalid(path.Child("uid"), owner["uid"].AsString(), "must not be empty"));
    }
    if (api_version == "v1" && owner["kind"].AsString() == "Event") {
      errors.push_back(
          api::Invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"));
    }
    if (!owner["controller"].AsBool()) continue;
    std::string name = base::StrCat(owner["kind"].AsString(), "/", owner["name"].AsString());
    if (!controller.empty()) {
      errors.push_back(api::Invalid(
          path, owners,
          base::StrCat("Only one reference can have Controller set to true. Found \"true\" in "
                       "references for ",
                       controller, " and ", name)));
    } else {
      controller = std::move(name);
    }
  }
}

bool Contains(json::Value list, std::string_view text) {
  const auto items = list.elements();
  return std::any_of(items.begin(), items.end(),
                     [&](const json::Value& item) { return item.AsString() == text; });
}

void CheckFinalizers(json::Value finalizers, const FieldPath& path, api::FieldErrors& errors) {
  for (const json::Value& finalizer : finalizers.elements()) {
    AddInvalid(path, finalizer.AsString(), api::IsQualifiedName(finalizer.AsString()), errors);
  }
  if (Contains(finalizers, "orphan") && Contains(finalizers, "foregroundDeletion")) {
    errors.push_back(api::Invalid(path, finalizers,
                                  "finalizer orphan and foregroundDeletion cannot be both set"));
  }
}

void CheckManagedFields(json::Value entries, const FieldPath& path, api::FieldErrors& errors) {
  constexpr std::size_t kMaxSubresource = 256;
  std::size_t index = 0;
  for (const json::Value& entry : entries.elements()) {
    const FieldPath at = path.Index(index++);
    const auto must_be_one_of = [&](std::string_view field, std::string_view one,
                                    std::string_view other, std::string_view text) {
      const std::string_view value = entry[field].AsString();
      if (value != one && value != other) {
        errors.push_back(api::Invalid(at.Child(field), value, text));
      }
    };
    must_be_one_of("operation", "Apply", "Update", "must be `Apply` or `Update`");
    must_be_one_of("fieldsType", "", "FieldsV1", "must be `FieldsV1`");
    CheckFieldManager(entry["manager"].AsString(), at.Child("manager"), errors);
    if (entry["subresource"].AsString().size() > kMaxSubresource) {
      errors.push_back(api::TooLong(at.Child("subresource"), static_cast<int>(kMaxSubresource)));
    }
  }
}

// `check_name` is how names of the kind are checked: (name, is_prefix) -> texts.
template <typename CheckName>
void CheckMetadata(const api::view::Metadata& metadata, bool namespaced,
                   const CheckName& check_name, const FieldPath& path, api::FieldErrors& errors) {
  if (!metadata.generate_name().empty()) {
    AddInvalid(path.Child("generateName"), metadata.generate_name(),
               check_name(metadata.generate_name(), true), errors);
  }
  if (metadata.name().empty()) {
    errors.push_back(api::Required(path.Child("name"), "name or generateName is required"));
  } else {
    AddInvalid(path.Child("name"), metadata.name(), check_name(metadata.name(), false), errors);
  }
  if (namespaced) {
    if (metadata.namespace_name().empty()) {
      errors.push_back(api::Required(path.Child("namespace"), ""));
    } else {
      AddInvalid(path.Child("namespace"), metadata.namespace_name(),
                 api::IsDns1123Label(metadata.namespace_name()), errors);
    }
  } else if (!metadata.namespace_name().empty()) {
    errors.push_back(api::Forbidden(path.Child("namespace"), "not allowed on this type"));
  }
  if (metadata.generation() < 0) {
    errors.push_back(api::Invalid(path.Child("generation"), metadata.generation(),
                                  "must be greater than or equal to 0"));
  }
  CheckLabels(metadata.labels(), path.Child("labels"), errors);
  CheckAnnotations(metadata.annotations(), path.Child("annotations"), errors);
  CheckOwnerReferences(metadata.owner_references(), path.Child("ownerReferences"), errors);
  CheckFinalizers(metadata.finalizers(), path.Child("finalizers"), errors);
  CheckManagedFields(metadata.value()["managedFields"], path.Child("managedFields"), errors);
}

}  // namespace

void CheckMetadataUpdate(json::Value object, json::Value old, api::FieldErrors& errors) {
  const api::view::Metadata metadata(object);
  const api::view::Metadata before(old);
  const FieldPath path("metadata");
  if (before.is_being_deleted()) {
    std::vector<std::string> added;
    for (const json::Value& finalizer : metadata.finalizers().elements()) {
      if (!Contains(before.finalizers(), finalizer.AsString())) {
        added.emplace_back(finalizer.AsString());
      }
    }
    std::sort(added.begin(), added.end());
    if (!added.empty()) {
      std::string list;
      for (const std::string& name : added) {
        if (!list.empty()) list += ", ";
        list += base::GoQuote(name);
      }
      errors.push_back(api::Forbidden(
          path.Child("finalizers"),
          base::StrCat("no new finalizers can be added if the object is being deleted, found new "
                       "finalizers []string{",
                       list, "}")));
    }
  }
  if (metadata.resource_version().empty()) {
    errors.push_back(api::Invalid(path.Child("resourceVersion"), "",
                                  "must be specified for an "
                                  "update"));
  }
  if (metadata.generation() < before.generation()) {
    errors.push_back(
        api::Invalid(path.Child("generation"), metadata.generation(), "must not be decremented"));
  }
  for (std::string_view name : {"name", "namespace", "uid", "creationTimestamp",
                                "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const json::Value now = metadata.value()[name];
    if (now == before.value()[name]) continue;
    const bool no_name = now.is_null() && name == "name";
    errors.push_back(api::Invalid(path.Child(name), no_name ? json::Value::StringView("") : now,
                                  "field is immutable"));
  }
  CheckLabels(metadata.labels(), path.Child("labels"), errors);
  CheckAnnotations(metadata.annotations(), path.Child("annotations"), errors);
  CheckOwnerReferences(metadata.owner_references(), path.Child("ownerReferences"), errors);
  CheckManagedFields(metadata.value()["managedFields"], path.Child("managedFields"), errors);
}

void CheckFieldManager(std::string_view manager, const FieldPath& path, api::FieldErrors& errors) {
  constexpr std::size_t kMaxLength = 128;
  if (manager.size() > kMaxLength) {
    errors.push_back(api::TooLong(path, static_cast<int>(kMaxLength)));
  }
  const bool plain =
      std::all_of(manager.begin(), manager.end(), [](char c) { return c >= ' ' && c <= '~'; });
  for (std::size_t at = plain ? manager.size() : 0; at < manager.size();) {
    std::size_t size = 1;
    const char32_t rune = base::DecodeRune(manager.substr(at), size);
    if (!base::IsPrintable(rune)) {
      std::array<char, 12> code{};
      std::snprintf(code.data(), code.size(), "U+%04X", static_cast<unsigned>(rune));
      errors.push_back(api::Invalid(path, manager,
                                    base::StrCat("invalid character ", code.data(),
                                                 " (at position ", std::to_string(at), ")")));
    }
    at += size;
  }
}

void ValidateObjectMeta(const Context& ctx, json::Value object, bool namespaced,
                        const Strategy& strategy, api::FieldErrors& errors) {
  const auto check = [&](std::string_view name, bool is_prefix) {
    return strategy.CheckName(ctx, name, is_prefix);
  };
  CheckMetadata(api::view::Metadata(object), namespaced, check, FieldPath("metadata"), errors);
}

void ValidateEmbeddedObjectMeta(json::Value object, const FieldPath& path,
                                api::FieldErrors& errors) {
  const api::view::Metadata metadata(object);
  const bool namespaced = !metadata.namespace_name().empty();
  json::Arena arena;
  // A name may be missing where nothing is stored by it.
  const json::Value named =
      metadata.name().empty()
          ? json::SetPath(arena, object, {"metadata", "name"}, json::String(arena, "fakename"))
          : object;
  CheckMetadata(api::view::Metadata(named), namespaced, IsPathSegmentName, path, errors);
}

void CheckFinalizersQualified(json::Value object, api::FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& finalizer : object["metadata"]["finalizers"].elements()) {
    const api::FieldPath at = api::FieldPath("metadata", "finalizers").Index(index++);
    const std::string_view name = finalizer.AsString();
    const bool standard = name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
    if (standard || name.find('/') != std::string_view::npos) continue;
    errors.push_back(api::Invalid(
        at, name, "name is neither a standard finalizer name nor is it fully qualified"));
  }
}

void ValidateNames(json::Value object, api::FieldErrors& errors) {
  for (const std::string_view field : {"generateName", "name"}) {
    const std::string_view name = object["metadata"][field].AsString();
    AddInvalid(FieldPath("metadata", field), name, IsPathSegmentName(name, field != "name"),
               errors);
  }
}

void ValidateObjectMetaUpdate(const Context& ctx, const Strategy& strategy, bool namespaced,
                              json::Value object, json::Value old, api::FieldErrors& errors) {
  CheckMetadata(api::view::Metadata(object), namespaced, IsPathSegmentName, FieldPath("metadata"),
                errors);
  CheckMetadataUpdate(object, old, errors);
  bool is_first = true;
  for (const char check : strategy.MetadataChecks(ctx.subresource)) {
    if (check == 'U' || check == 'u') {
      CheckMetadataUpdate(object, old, errors);
    } else {
      ValidateObjectMeta(ctx, object, namespaced, strategy, errors);
    }
    if (check == 'U' || check == 'F') CheckFinalizersQualified(object, errors);
    if (is_first) strategy.ValidateBetween(ctx, object, old, errors);
    is_first = false;
  }
}

}  // namespace portcullis::registry
