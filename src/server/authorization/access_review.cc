// SPDX-License-Identifier: Apache-2.0

#include "server/authorization/access_review.h"

namespace portcullis::server::authorization {
namespace {

void SetText(json::ObjectBuilder& object, std::string_view name, std::string_view text) {
  if (!text.empty()) object.Set(name, text);
}

json::Value Strings(json::Arena& arena, const std::vector<std::string>& texts) {
  json::ArrayBuilder out(arena);
  for (const std::string& text : texts) out.Add(text);
  return out.Build();
}

json::Value Requirement(json::Arena& arena, std::string_view key, std::string_view op,
                        json::Value values) {
  json::ObjectBuilder out(arena);
  out.Set("key", key).Set("operator", op);
  if (!values.empty()) out.Set("values", values);
  return out.Build();
}

json::Value FieldRequirements(json::Arena& arena, const authz::Selectors& selectors) {
  json::ArrayBuilder out(arena);
  for (const auto& term : selectors.fields) {
    out.Add(Requirement(arena, term.field, term.negated ? "NotIn" : "In",
                        json::MakeArray(arena, {json::String(arena, term.value)})));
  }
  return out.Build();
}

json::Value LabelRequirements(json::Arena& arena, const authz::Selectors& selectors) {
  using Operator = api::LabelSelector::Operator;
  json::ArrayBuilder out(arena);
  for (const auto& requirement : selectors.labels) {
    std::string_view op;
    switch (requirement.op) {
      case Operator::kIn:
      case Operator::kEquals:
      case Operator::kDoubleEquals:
        op = "In";
        break;
      case Operator::kNotIn:
      case Operator::kNotEquals:
        op = "NotIn";
        break;
      case Operator::kExists:
        op = "Exists";
        break;
      case Operator::kDoesNotExist:
        op = "DoesNotExist";
        break;
      case Operator::kGreaterThan:
      case Operator::kLessThan:
        continue;  // has no form in a review
    }
    out.Add(Requirement(arena, requirement.key, op, Strings(arena, requirement.values)));
  }
  return out.Build();
}

void SetSelector(json::ObjectBuilder& object, json::Arena& arena, std::string_view name,
                 json::Value requirements) {
  if (requirements.empty()) return;
  object.Set(name, json::ObjectBuilder(arena).Set("requirements", requirements).Build());
}

json::Value ResourceAttributes(json::Arena& arena, const authz::Attributes& a) {
  json::ObjectBuilder out(arena);
  SetText(out, "namespace", a.ns);
  SetText(out, "verb", a.verb);
  SetText(out, "group", a.group);
  SetText(out, "version", a.version);
  SetText(out, "resource", a.resource);
  SetText(out, "subresource", a.subresource);
  SetText(out, "name", a.name);
  if (a.selectors != nullptr) {
    SetSelector(out, arena, "fieldSelector", FieldRequirements(arena, *a.selectors));
    SetSelector(out, arena, "labelSelector", LabelRequirements(arena, *a.selectors));
  }
  return out.Build();
}

}  // namespace

json::Value ReviewSpec(json::Arena& arena, const authz::Attributes& attributes) {
  json::ObjectBuilder spec(arena);
  if (attributes.resource_request) {
    spec.Set("resourceAttributes", ResourceAttributes(arena, attributes));
  } else {
    json::ObjectBuilder path(arena);
    SetText(path, "path", attributes.path);
    SetText(path, "verb", attributes.verb);
    spec.Set("nonResourceAttributes", path.Build());
  }
  const api::UserInfo& user = *attributes.user;
  SetText(spec, "user", user.name);
  if (!user.groups.empty()) spec.Set("groups", Strings(arena, user.groups));
  if (!user.extra.empty()) {
    json::ObjectBuilder extra(arena);
    for (const auto& [key, values] : user.extra) extra.Set(key, Strings(arena, values));
    spec.Set("extra", extra.Build());
  }
  SetText(spec, "uid", user.uid);
  return spec.Build();
}

json::Value ConditionSpec(json::Arena& arena, json::Value spec) {
  const auto filled = [&](json::Value object, std::initializer_list<std::string_view> names) {
    json::ObjectBuilder out(arena, object);
    for (std::string_view name : names) {
      if (out.Find(name) == nullptr) out.Set(name, "");
    }
    return out.Build();
  };
  json::ObjectBuilder out(arena, filled(spec, {"user", "uid"}));
  if (out.Find("groups") == nullptr) out.Set("groups", json::MakeArray(arena, {}));
  if (out.Find("extra") == nullptr) out.Set("extra", json::MakeObject(arena, {}));
  if (const json::Value attributes = spec["resourceAttributes"]; attributes.is_object()) {
    out.Set("resourceAttributes", filled(attributes, {"namespace", "verb", "group", "version",
                                                      "resource", "subresource", "name"}));
  }
  if (const json::Value attributes = spec["nonResourceAttributes"]; attributes.is_object()) {
    out.Set("nonResourceAttributes", filled(attributes, {"path", "verb"}));
  }
  return out.Build();
}

}  // namespace portcullis::server::authorization
