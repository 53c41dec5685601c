// SPDX-License-Identifier: Apache-2.0

#include "authz/selectors.h"

#include <optional>
#include <string>
#include <utility>

#include "api/selector/label_parser.h"

namespace portcullis::authz {
namespace {

void ReadFields(std::string_view text, Selectors& out) {
  auto selector = api::FieldSelector::Parse(text);
  out.fields_failed = !selector.ok();
  out.fields = selector.ok() ? selector->terms() : std::vector<api::FieldSelector::Term>{};
}

void ReadLabels(std::string_view text, Selectors& out) {
  auto requirements = api::ParseRequirements(text);
  out.labels_failed = !requirements.ok();
  out.labels =
      requirements.ok() ? *std::move(requirements) : std::vector<api::LabelSelector::Requirement>{};
}

void AddField(json::Value requirement, Selectors& out) {
  const std::string_view op = requirement["operator"].AsString();
  const json::Value values = requirement["values"];
  if ((op != "In" && op != "NotIn") || values.size() != 1) {
    out.fields_failed = true;
    return;
  }
  out.fields.push_back({std::string(requirement["key"].AsString()),
                        std::string(values[0].AsString()), op == "NotIn"});
}

std::optional<api::LabelSelector::Operator> OperatorOf(std::string_view name) {
  using Operator = api::LabelSelector::Operator;
  if (name == "In") return Operator::kIn;
  if (name == "NotIn") return Operator::kNotIn;
  if (name == "Exists") return Operator::kExists;
  if (name == "DoesNotExist") return Operator::kDoesNotExist;
  return std::nullopt;
}

void AddLabel(json::Value requirement, Selectors& out) {
  std::vector<std::string> values;
  for (json::Value value : requirement["values"].elements()) values.emplace_back(value.AsString());
  const auto op = OperatorOf(requirement["operator"].AsString());
  if (!op) {
    out.labels_failed = true;
    return;
  }
  auto made = api::MakeRequirement(requirement["key"].AsString(), *op, std::move(values));
  if (made.ok()) {
    out.labels.push_back(*std::move(made));
  } else {
    out.labels_failed = true;
  }
}

}  // namespace

Selectors ReadSelectors(std::string_view fields, std::string_view labels) {
  Selectors out;
  if (!fields.empty()) ReadFields(fields, out);
  if (!labels.empty()) ReadLabels(labels, out);
  return out;
}

Selectors ReadSelectors(json::Value resource_attributes) {
  const json::Value fields = resource_attributes["fieldSelector"];
  const json::Value labels = resource_attributes["labelSelector"];
  Selectors out = ReadSelectors(fields["rawSelector"].AsString(), labels["rawSelector"].AsString());
  for (json::Value requirement : fields["requirements"].elements()) AddField(requirement, out);
  for (json::Value requirement : labels["requirements"].elements()) AddLabel(requirement, out);
  return out;
}

}  // namespace portcullis::authz
