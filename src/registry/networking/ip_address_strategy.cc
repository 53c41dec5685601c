// SPDX-License-Identifier: Apache-2.0

// IPAddresses (pkg/apis/networking/validation).

#include "registry/kind_table.h"
#include "registry/validation/addresses.h"

namespace portcullis::registry {
namespace {

// Their names are addresses.
class IpAddresses final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  std::vector<std::string> CheckName(const Context&, std::string_view name, bool) const override {
    FieldErrors errors;
    CheckCanonicalIp(name, FieldPath("name"), errors);
    std::vector<std::string> texts;
    for (const api::FieldError& error : errors) texts.push_back(error.detail);
    return texts;
  }
};

void ValidateIpAddress(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value parent = object["spec"]["parentRef"];
  const FieldPath path("spec", "parentRef");
  if (parent.is_null()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  if (const std::string_view group = parent["group"].AsString(); !group.empty()) {
    CheckSubdomain(group, path.Child("group"), errors);
  }
  for (const std::string_view field : {"resource", "name", "namespace"}) {
    const std::string_view text = parent[field].AsString();
    if (text.empty()) {
      if (field != "namespace") errors.push_back(api::Required(path.Child(field), ""));
    } else {
      AddInvalid(path.Child(field), text, IsPathSegmentName(text, false), errors);
    }
  }
}

void CheckParentChange(const Context&, json::Value object, json::Value old, FieldErrors& errors) {
  const json::Value parent = object["spec"]["parentRef"];
  if (parent == old["spec"]["parentRef"]) return;
  const auto field = [&](std::string_view name) { return Quoted(parent[name].AsString()); };
  const std::string told = parent.is_null() ? "null"
                                            : StructJson({{"Group", field("group")},
                                                          {"Resource", field("resource")},
                                                          {"Namespace", field("namespace")},
                                                          {"Name", field("name")}});
  errors.push_back(
      api::Invalid(FieldPath("spec", "parentRef"), api::BadValue::Raw(told), "field is immutable"));
}

}  // namespace

void AddIpAddressStrategy(KindTable& table) {
  table.Add({.group = "networking.k8s.io",
             .resource = "ipaddresses",
             .validate = &ValidateIpAddress,
             .validate_between = &AsNew<&ValidateIpAddress>,
             .validate_update = &CheckParentChange,
             .metadata = {.update = "FU"},
             .make = &Make<IpAddresses>});
}

}  // namespace portcullis::registry
