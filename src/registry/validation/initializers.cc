// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/initializers.h"

#include "api/names.h"
#include "api/view/initializers.h"
#include "base/strings.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {
namespace {

using api::FieldPath;
using api::view::Initializers;

FieldPath Place() { return FieldPath("metadata", "initializers"); }

void CheckResult(json::Value result, api::FieldErrors& errors) {
  const std::string_view status = result["status"].AsString();
  if (status == "Failure") return;
  errors.push_back(
      api::Invalid(Place().Child("result").Child("status"), status, "must be 'Failure'"));
}

}  // namespace

void CheckFullyQualifiedName(std::string_view name, const FieldPath& path,
                             const release::Release& release, api::FieldErrors& errors) {
  if (name.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  const auto problems = api::IsDns1123Subdomain(name);
  if (!problems.empty()) {
    errors.push_back(api::Invalid(path, name, base::Join(problems, ",")));
  } else if (base::Split(name, '.').size() < 3) {
    errors.push_back(
        api::Invalid(path, name,
                     release.Has("InitializersNeedTwoDots")
                         ? "should be a domain with at least two dots"
                         : "should be a domain with at least three segments separated by dots"));
  }
}

void CheckInitializers(json::Value object, const release::Release& release,
                       api::FieldErrors& errors) {
  const Initializers initializers(object);
  if (!initializers.present()) return;
  const bool any_name = release.Has("InitializersNeedTwoDots");
  std::size_t index = 0;
  for (const json::Value& pending : initializers.pending().elements()) {
    const FieldPath path = Place().Child("pending").Index(index++);
    const std::string_view name = pending["name"].AsString();
    if (any_name) {
      AddInvalid(path, name, api::IsQualifiedName(name), errors);
    } else {
      CheckFullyQualifiedName(name, path.Child("name"), release, errors);
    }
  }
  if (release.Has("InitializersMustNotBeEmpty") && initializers.empty()) {
    errors.push_back(
        api::Invalid(Place().Child("pending"), "null", "must be non-empty when result is not set"));
  }
  if (!initializers.result().is_null()) CheckResult(initializers.result(), errors);
}

void CheckInitializersUpdate(json::Value object, json::Value old, api::FieldErrors& errors) {
  const Initializers after(object);
  const Initializers before(old);
  if (!after.present()) return;
  if (!before.present()) {
    errors.push_back(
        api::Invalid(Place(), "null", "field is immutable once initialization has completed"));
    return;
  }
  const json::Value failed = before.result();
  if (!failed.is_null() && !(failed == after.result())) {
    errors.push_back(api::Invalid(Place().Child("result"), after.result(), "field is immutable"));
  }
}

}  // namespace portcullis::registry
