// SPDX-License-Identifier: Apache-2.0

#include "registry/strategy.h"

#include <algorithm>

#include "api/selector/label_selector.h"
#include "json/value.h"
#include "json/writer.h"

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

// Parameters of a driver are raw JSON, which Go compares as the bytes it is: the order of members
// and those that are null count.
bool SameText(json::Value a, json::Value b) {
  json::WriteOptions plain;
  plain.splice_source = false;
  return json::ToString(a, plain) == json::ToString(b, plain);
}

// Equal but for lists that are empty in one and absent in the other: Go's semantic equality takes
// no difference between them.
bool SemanticallyEqual(json::Value a, json::Value b) {
  const auto nothing = [](json::Value value) {
    return value.is_null() || (value.is_array() && value.empty());
  };
  if (nothing(a) || nothing(b)) return nothing(a) && nothing(b);
  if (a.is_array() && b.is_array()) {
    const auto x = a.elements();
    const auto y = b.elements();
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), SemanticallyEqual);
  }
  if (!a.is_object() || !b.is_object()) return a == b;
  const bool of_driver = a.Has("driver");
  for (const json::Member& member : a.members()) {
    const bool raw = of_driver && member.name() == "parameters";
    const json::Value other = b[member.name()];
    if (!(raw ? SameText(member.value, other) : SemanticallyEqual(member.value, other))) {
      return false;
    }
  }
  for (const json::Member& member : b.members()) {
    if (!a.Has(member.name()) && !nothing(member.value)) return false;
  }
  return true;
}

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
