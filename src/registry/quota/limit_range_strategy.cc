// SPDX-License-Identifier: Apache-2.0

// LimitRanges (pkg/apis/core/validation, ValidateLimitRange).

#include <set>

#include "base/random.h"
#include "base/strings.h"
#include "json/sorted.h"
#include "registry/kind_table.h"
#include "registry/validation/resource_names.h"

namespace portcullis::registry {
namespace {

using api::Quantity;

std::string Ratio(const Quantity& quantity) { return quantity.ToString(); }

struct LimitItem {
  json::Value item;
  FieldPath path;

  const json::Value* Find(std::string_view list, std::string_view resource) const {
    return item[list].Find(resource);
  }
  FieldPath At(std::string_view list, std::string_view resource) const {
    return path.Child(list).Key(resource);
  }
};

// An amount that must not be greater than another one, and where that is said.
struct Order {
  std::string_view low, low_name;
  std::string_view high, high_name;
  std::string_view blamed;
};

constexpr Order kOrders[] = {
    {"min", "min", "max", "max", "min"},
    {"min", "min", "defaultRequest", "default request", "defaultRequest"},
    {"defaultRequest", "default request", "max", "max", "defaultRequest"},
    {"defaultRequest", "default request", "default", "default limit", "defaultRequest"},
    {"min", "min", "default", "default", "default"},
    {"default", "default", "max", "max", "default"},
};

void CheckOrder(const LimitItem& item, std::string_view resource, const Order& order,
                FieldErrors& errors) {
  const json::Value* low = item.Find(order.low, resource);
  const json::Value* high = item.Find(order.high, resource);
  if (low == nullptr || high == nullptr) return;
  const Quantity x = QuantityOf(*low);
  const Quantity y = QuantityOf(*high);
  if (x <= y) return;
  // Kubernetes shows the other value where it blames the default limit.
  const bool shows_low = (order.blamed == order.low) != (order.blamed == "default");
  errors.push_back(
      api::Invalid(item.At(order.blamed, resource), (shows_low ? x : y).ToString(),
                   base::StrCat(order.low_name, " value ", x.ToString(), " is greater than ",
                                order.high_name, " value ", y.ToString())));
}

void CheckRatio(const LimitItem& item, std::string_view resource, FieldErrors& errors) {
  const json::Value* value = item.Find("maxLimitRequestRatio", resource);
  if (value == nullptr) return;
  const Quantity ratio = QuantityOf(*value);
  const FieldPath path = item.At("maxLimitRequestRatio", resource);
  if (ratio < Quantity::FromInt(1)) {
    errors.push_back(
        api::Invalid(path, Ratio(ratio), base::StrCat("ratio ", Ratio(ratio), " is less than 1")));
  }
  const json::Value* low = item.Find("min", resource);
  const json::Value* high = item.Find("max", resource);
  if (low == nullptr || high == nullptr) return;
  const double limit = QuantityOf(*high).AsDouble() / QuantityOf(*low).AsDouble();
  if (ratio.AsDouble() > limit) {
    std::string text = std::to_string(limit);
    errors.push_back(
        api::Invalid(path, Ratio(ratio),
                     base::StrCat("ratio ", Ratio(ratio), " is greater than max/min = ", text)));
  }
}

// What cannot be overcommitted is requested as it is limited.
void CheckDefaultsAgree(const LimitItem& item, std::string_view resource, FieldErrors& errors) {
  const json::Value* limit = item.Find("default", resource);
  const json::Value* request = item.Find("defaultRequest", resource);
  if (IsOvercommitAllowed(resource) || limit == nullptr || request == nullptr) return;
  const Quantity x = QuantityOf(*limit);
  const Quantity y = QuantityOf(*request);
  if (x == y) return;
  errors.push_back(api::Invalid(
      item.At("defaultRequest", resource), y.ToString(),
      base::StrCat("default value ", x.ToString(), " must equal to defaultRequest value ",
                   y.ToString(), " in ", resource)));
}

void CheckLimitItem(const LimitItem& item, FieldErrors& errors) {
  const std::string_view type = item.item["type"].AsString();
  const auto check_name =
      type == "Pod" || type == "Container" ? &CheckNameOfContainerResource : &CheckNameOfResource;
  std::set<std::string_view> names;
  for (const std::string_view list :
       {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"}) {
    if (type == "Pod" && list.starts_with("default")) {
      if (!item.item[list].empty()) {
        errors.push_back(
            api::Forbidden(item.path.Child(list), "may not be specified when `type` is 'Pod'"));
      }
      continue;
    }
    for (const json::Member* member : json::MembersByName(item.item[list])) {
      check_name(member->name(), item.path.Child(list).Key(member->name()), errors);
      names.insert(member->name());
    }
  }
  if (type == "PersistentVolumeClaim" && item.Find("min", "storage") == nullptr &&
      item.Find("max", "storage") == nullptr) {
    errors.push_back(api::Required(item.path.Child("limits"),
                                   "either minimum or maximum storage value is required, but "
                                   "neither was provided"));
  }
  for (const std::string_view name : names) {
    for (const Order& order : kOrders) CheckOrder(item, name, order, errors);
    CheckRatio(item, name, errors);
    CheckDefaultsAgree(item, name, errors);
  }
}

void ValidateLimitRange(const Context&, json::Value object, FieldErrors& errors) {
  const FieldPath limits("spec", "limits");
  std::set<std::string_view> types;
  std::size_t index = 0;
  for (const json::Value& limit : object["spec"]["limits"].elements()) {
    const LimitItem item{limit, limits.Index(index++)};
    const std::string_view type = limit["type"].AsString();
    const FieldPath type_path = item.path.Child("type");
    const auto texts = api::IsQualifiedName(type);
    AddInvalid(type_path, type, texts, errors);
    if (texts.empty() && type.find('/') == std::string_view::npos && type != "Pod" &&
        type != "Container" && type != "PersistentVolumeClaim") {
      errors.push_back(
          api::Invalid(type_path, type, "must be a standard limit type or fully qualified"));
    }
    if (!types.insert(type).second) errors.push_back(api::Duplicate(type_path, type));
    CheckLimitItem(item, errors);
  }
}

// A LimitRange needs no name of the client's.
class LimitRanges final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    if (!object["metadata"]["name"].AsString().empty()) return object;
    return json::SetPath(ctx.arena, object, {"metadata", "name"},
                         json::String(ctx.arena, base::Uuid()));
  }
};

}  // namespace

void AddLimitRangeStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "limitranges",
             .validate = &ValidateLimitRange,
             .traits = {.created_by_put = true},
             .metadata = {.update = "F"},
             .make = &Make<LimitRanges>});
}

}  // namespace portcullis::registry
