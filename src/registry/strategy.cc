// SPDX-License-Identifier: Apache-2.0

#include "registry/strategy.h"

#include "api/selector/label_selector.h"
#include "json/value.h"
#include "registry/validation/semantic_equality.h"

namespace portcullis::registry {

json::Value Strategy::PrepareForCreate(const Context&, json::Value object) const { return object; }

json::Value Strategy::PrepareForUpdate(const Context&, json::Value object, json::Value) const {
  return object;
}

void Strategy::Validate(const Context&, json::Value, api::FieldErrors&) const {}

std::string_view Strategy::MetadataChecks(std::string_view) const { return "U"; }
void Strategy::ValidateUpdate(const Context& ctx, json::Value object, json::Value,
                              api::FieldErrors& errors) const {
  Validate(ctx, object, errors);
}

void Strategy::ValidateBetween(const Context&, json::Value, json::Value, api::FieldErrors&) const {}

void Strategy::Warnings(const Context&, json::Value, std::vector<std::string>&) const {}

void Strategy::UpdateWarnings(const Context&, json::Value, json::Value,
                              std::vector<std::string>&) const {}

json::Value Strategy::Canonicalize(const Context&, json::Value object) const { return object; }

json::Value Strategy::Complete(const Context&, json::Value object) const { return object; }

std::vector<std::string> Strategy::CheckName(const Context&, std::string_view name,
                                             bool is_prefix) const {
  return api::IsDns1123Subdomain(is_prefix ? api::MaskTrailingDash(name) : name);
}

base::Status Strategy::CheckDelete(const Context&) const { return base::OkStatus(); }

std::optional<std::int64_t> Strategy::GracePeriod(const Context&, json::Value,
                                                  const DeleteRequest&) const {
  return std::nullopt;
}

json::Value Strategy::PrepareForTermination(const Context&, json::Value object) const {
  return object;
}

std::vector<std::string_view> Strategy::ResetFields(const Context&) const { return {}; }

bool Strategy::HeldByOther(json::Value) const { return false; }

base::Result<json::Value> Strategy::Allocate(const Context&, json::Value object,
                                             json::Value) const {
  return object;
}

void Strategy::Release(const Context&, json::Value, json::Value) const {}

json::Value KeepStatus(json::Arena& arena, json::Value object, json::Value old) {
  const json::Value* status = old.Find("status");
  if (status != nullptr) return json::With(arena, object, "status", *status);
  return object.Has("status") ? json::Without(arena, object, "status") : object;
}

json::Value OnlyStatus(json::Arena& arena, json::Value object, json::Value old) {
  return json::With(arena, KeepStatus(arena, old, object), "metadata", object["metadata"]);
}

namespace {

// All of an object that counts as its specification.
bool SameSpecification(json::Value a, json::Value b) {
  const auto counts = [](std::string_view name) {
    return name != "metadata" && name != "status" && name != "apiVersion" && name != "kind";
  };
  for (const json::Member& member : a.members()) {
    if (!counts(member.name())) continue;
    if (!SemanticallyEqual(member.value, b[member.name()])) return false;
  }
  for (const json::Member& member : b.members()) {
    if (!counts(member.name()) || a.Has(member.name())) continue;
    if (!SemanticallyEqual(member.value, {})) return false;
  }
  return true;
}

}  // namespace

json::Value CountGeneration(json::Arena& arena, json::Value object, json::Value old) {
  const std::int64_t before = old["metadata"]["generation"].AsInt();
  const std::int64_t now = SameSpecification(object, old) ? before : before + 1;
  if (now == 0) return object;
  return json::SetPath(arena, object, {"metadata", "generation"}, json::Value::Int(now));
}

}  // namespace portcullis::registry
