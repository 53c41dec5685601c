// SPDX-License-Identifier: Apache-2.0

// Slices of the devices that drivers offer (pkg/apis/resource/validation).

#include <algorithm>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/semver.h"
#include "json/sorted.h"
#include "registry/devices/device_checks.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/resource_names.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostDevices = 128;
constexpr std::size_t kMostAdvancedDevices = 64;  // with taints, counters or lists
constexpr std::size_t kMostProperties = 32;       // attributes and capacities of a device
constexpr std::size_t kMostAttributeValues = 48;  // of a device, those of lists included
constexpr std::size_t kMostTaints = 16;
constexpr std::size_t kMostCounterSets = 8;
constexpr std::size_t kMostCounters = 32;
constexpr std::size_t kMostConsumptions = 2;
constexpr std::size_t kLongestValue = 64;

constexpr std::string_view kNodeResources = "nodeAllocatableResourceMappings";

// Attributes that are lists, with the gate DRAListTypeAttributes.
constexpr std::string_view kLists[] = {"bools", "ints", "strings", "versions"};

// As Go prints the internal type.
std::string AttributeText(json::Value attribute) {
  return StructJson({{"IntValue", Json(attribute["int"])},
                     {"BoolValue", Json(attribute["bool"])},
                     {"StringValue", Json(attribute["string"])},
                     {"VersionValue", Json(attribute["version"])},
                     {"IntValues", Json(attribute["ints"])},
                     {"BoolValues", Json(attribute["bools"])},
                     {"StringValues", Json(attribute["strings"])},
                     {"VersionValues", Json(attribute["versions"])}});
}

std::size_t ValuesOf(json::Value attribute) {
  std::size_t count = 0;
  for (const std::string_view list : kLists) count += attribute[list].size();
  return count;
}

bool HasList(json::Value attribute) {
  return std::any_of(std::begin(kLists), std::end(kLists),
                     [&](std::string_view list) { return attribute.Has(list); });
}

bool HasLists(json::Value device) {
  const auto attributes = device["attributes"].members();
  return std::any_of(attributes.begin(), attributes.end(),
                     [](const json::Member& attribute) { return HasList(attribute.value); });
}

bool AnyHasLists(json::Value spec) {
  const auto devices = spec["devices"].elements();
  return std::any_of(devices.begin(), devices.end(), HasLists);
}

// The spec with the empty lists that were sent as values of attributes: to Go they are values.
json::Value WithEmptyLists(json::Arena& arena, json::Value spec, json::Value sent) {
  SentElements elements(sent["devices"]);
  std::vector<json::Value> devices;
  for (const json::Value& device : spec["devices"].elements()) {
    const json::Value from = elements.Find(devices.size(), device["name"])["attributes"];
    json::ObjectBuilder attributes(arena, device["attributes"]);
    for (const json::Member& attribute : device["attributes"].members()) {
      json::ObjectBuilder lists(arena, attribute.value);
      for (const std::string_view list : kLists) {
        const json::Value value = from[attribute.name()][list];
        if (IsSentEmpty(value) && !attribute.value.Has(list)) lists.Set(list, value);
      }
      attributes.Set(attribute.name(), lists.Build());
    }
    devices.push_back(device.Has("attributes")
                          ? json::With(arena, device, "attributes", attributes.Build())
                          : device);
  }
  if (devices.empty()) return spec;
  return json::With(arena, spec, "devices", json::MakeArray(arena, devices));
}

void CheckText(json::Value text, const FieldPath& path, FieldErrors& errors) {
  if (text.AsString().size() <= kLongestValue) return;
  errors.push_back(api::TooLong(path, static_cast<int>(kLongestValue)));
}

void CheckVersion(json::Value version, const FieldPath& path, FieldErrors& errors) {
  if (!golang::ParseSemver(version.AsString()).ok()) {
    errors.push_back(
        api::Invalid(path, version, "must be a string compatible with semver.org spec 2.0.0"));
  }
  CheckText(version, path, errors);
}

void CheckNotEmpty(json::Value attribute, std::string_view list, const FieldPath& path,
                   FieldErrors& errors) {
  const json::Value values = attribute[list];
  if (!IsSentEmpty(values)) return;
  errors.push_back(api::Invalid(path.Child(list), values, "must not be empty if specified"));
}

void CheckAttribute(json::Value attribute, const FieldPath& path, FieldErrors& errors) {
  CheckText(attribute["string"], path.Child("string"), errors);
  if (const json::Value version = attribute["version"]; !version.is_null()) {
    CheckVersion(version, path.Child("version"), errors);
  }
  for (const std::string_view list : {"bools", "ints"})
    CheckNotEmpty(attribute, list, path, errors);
  CheckNotEmpty(attribute, "strings", path, errors);
  std::size_t index = 0;
  for (const json::Value& text : attribute["strings"].elements()) {
    CheckText(text, path.Child("strings").Index(index++), errors);
  }
  CheckNotEmpty(attribute, "versions", path, errors);
  index = 0;
  for (const json::Value& version : attribute["versions"].elements()) {
    CheckVersion(version, path.Child("versions").Index(index++), errors);
  }
  if (attribute.size() == 1) return;
  errors.push_back(api::Invalid(
      path, attribute.empty() ? api::BadValue("") : api::BadValue::Raw(AttributeText(attribute)),
      "exactly one value must be specified"));
}

void CheckCounters(json::Value set, std::string_view name_field, const FieldPath& path,
                   FieldErrors& errors) {
  const std::string_view name = set[name_field].AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path.Child(name_field), ""));
  } else {
    CheckDnsLabel(name, path.Child(name_field), errors);
  }
  if (set["counters"].empty()) {
    errors.push_back(api::Required(path.Child("counters"), ""));
  } else if (CheckSize(set["counters"], kMostCounters, path.Child("counters"), errors)) {
    for (const json::Member* counter : json::MembersByName(set["counters"])) {
      CheckDnsLabel(counter->name(), path.Child("counters"), errors);
    }
  }
}

// Which of the ways to say where devices are were used; each is checked. `slice`: the context of a slice;
// null for a device.
std::string CheckPlaces(json::Value owner, const Context* slice, const FieldPath& path,
                        std::size_t& count, FieldErrors& errors) {
  std::string used;
  const auto use = [&](std::string_view field) {
    used += base::StrCat(used.empty() ? "" : ", ", "`", field, "`");
    ++count;
  };
  if (const json::Value node = owner["nodeName"]; !node.is_null()) {
    if (node.AsString().empty()) {
      errors.push_back(api::Invalid(path.Child("nodeName"), "",
                                    slice != nullptr
                                        ? "must be either unset or set to a non-empty string"
                                        : "must not be empty"));
    } else {
      use("nodeName");
      CheckSubdomain(node.AsString(), path.Child("nodeName"), errors);
    }
  }
  if (const json::Value selector = owner["nodeSelector"]; !selector.is_null()) {
    use("nodeSelector");
    CheckNodeSelector(selector, path.Child("nodeSelector"), errors);
    const json::Value terms = selector["nodeSelectorTerms"];
    if (slice != nullptr && terms.size() != 1) {
      errors.push_back(
          api::Invalid(path.Child("nodeSelector", "nodeSelectorTerms"),
                       GoValue(*slice, "io.k8s.api.core.v1.NodeSelectorTerm", terms,
                               slice->sent["spec"]["nodeSelector"]["nodeSelectorTerms"]),
                       "must have exactly one node selector term"));
    }
  }
  for (const std::string_view flag : {"allNodes", "perDeviceNodeSelection"}) {
    const json::Value value = owner[flag];
    if (value.is_null()) continue;
    if (value.AsBool()) {
      use(flag);
    } else {
      errors.push_back(
          api::Invalid(path.Child(flag), false, "must be either unset or set to true"));
    }
  }
  return used;
}

void CheckDevicePlaces(json::Value device, bool each, const FieldPath& path, FieldErrors& errors) {
  if (!each) {
    if (!device.Has("nodeName") && !device.Has("nodeSelector") && !device.Has("allNodes")) return;
    errors.push_back(api::Invalid(
        path, json::Value(),
        "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is "
        "set to true in the ResourceSlice spec"));
    return;
  }
  constexpr std::string_view kOne =
      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
      "`perDeviceNodeSelection` is set to true in the ResourceSlice spec";
  std::size_t count = 0;
  const std::string used = CheckPlaces(device, nullptr, path, count, errors);
  if (count == 0) errors.push_back(api::Required(path, kOne));
  if (count > 1) errors.push_back(api::Invalid(path, base::StrCat("{", used, "}"), kOne));
}

void CheckNumberOfValues(json::Value device, const FieldPath& path, FieldErrors& errors) {
  std::size_t values = 0;
  for (const json::Member& attribute : device["attributes"].members()) {
    values += std::max<std::size_t>(ValuesOf(attribute.value), 1);
  }
  if (values <= kMostAttributeValues) return;
  errors.push_back(
      api::Invalid(path, static_cast<int>(values),
                   base::StrCat("the total number of attribute values must not exceed ",
                                std::to_string(kMostAttributeValues))));
}

// What of the node's own resources an allocated device takes.
void CheckNodeResources(json::Value device, const FieldPath& path, FieldErrors& errors) {
  for (const json::Member* mapping : json::MembersByName(device[kNodeResources])) {
    const FieldPath at = path.Child(kNodeResources).Key(mapping->name());
    if (!IsNativeResource(mapping->name())) {
      errors.push_back(
          api::Invalid(at, mapping->name(), "must be a node allocatable resource name"));
    }
    const json::Value multiplier = mapping->value["allocationMultiplier"];
    const json::Value* capacity = mapping->value.Find("capacityKey");
    if (multiplier.is_null() && capacity == nullptr) {
      errors.push_back(
          api::Invalid(at, "", "at least one of allocationMultiplier or capacityKey must be set"));
    }
    if (!multiplier.is_null() && QuantityOf(multiplier).Sign() <= 0) {
      errors.push_back(api::Invalid(at.Child("allocationMultiplier"), multiplier.AsString(),
                                    "must be positive"));
    }
    if (capacity == nullptr) continue;
    const std::string_view key = capacity->AsString();
    if (key.empty()) {
      errors.push_back(
          api::Invalid(at.Child("capacityKey"), "", "capacityKey must not be an empty string"));
    } else if (!device["capacity"].Has(key)) {
      errors.push_back(api::NotFound(at.Child("capacityKey"), key));
    }
  }
}

void CheckDevice(json::Value device, json::Value spec, const FieldPath& path, FieldErrors& errors) {
  CheckDnsLabel(device["name"].AsString(), path.Child("name"), errors);
  const std::size_t properties = device["attributes"].size() + device["capacity"].size();
  if (properties > kMostProperties) {
    errors.push_back(
        api::Invalid(path, static_cast<int>(properties),
                     base::StrCat("the total number of attributes and capacities must not exceed ",
                                  std::to_string(kMostProperties))));
  }
  CheckNumberOfValues(device, path, errors);
  for (const json::Member* attribute : json::MembersByName(device["attributes"])) {
    const FieldPath at = path.Child("attributes").Key(attribute->name());
    CheckAttributeName(attribute->name(), false, path.Child("attributes"), errors);
    CheckAttribute(attribute->value, at, errors);
  }
  const bool shared = device["allowMultipleAllocations"].AsBool();
  for (const json::Member* capacity : json::MembersByName(device["capacity"])) {
    const FieldPath at = path.Child("capacity").Key(capacity->name());
    CheckAttributeName(capacity->name(), false, path.Child("capacity"), errors);
    const json::Value policy = capacity->value["requestPolicy"];
    if (policy.is_null()) continue;
    if (shared) {
      CheckRequestPolicy(policy, QuantityOf(capacity->value["value"]), at.Child("requestPolicy"),
                         errors);
    } else {
      errors.push_back(
          api::Forbidden(at.Child("requestPolicy"), "allowMultipleAllocations must be true"));
    }
  }
  if (CheckSize(device["taints"], kMostTaints, path.Child("taints"), errors)) {
    std::size_t index = 0;
    for (const json::Value& taint : device["taints"].elements()) {
      CheckDeviceTaint(taint, {}, path.Child("taints").Index(index++), errors);
    }
  }
  const FieldPath consumes = path.Child("consumesCounters");
  if (CheckSize(device["consumesCounters"], kMostConsumptions, consumes, errors)) {
    std::size_t index = 0;
    for (const json::Value& consumption : device["consumesCounters"].elements()) {
      CheckCounters(consumption, "counterSet", consumes.Index(index++), errors);
    }
    CheckUnique(device["consumesCounters"], "counterSet", consumes, errors);
  }
  CheckDevicePlaces(device, spec["perDeviceNodeSelection"].AsBool(), path, errors);
  CheckBindingConditions(device, path, errors);
  CheckNodeResources(device, path, errors);
}

// `old` is null of a new slice.
void CheckSlice(const Context& ctx, json::Value spec, json::Value old, FieldErrors& errors) {
  const FieldPath path("spec");
  const json::Value sent = ctx.sent["spec"];
  if (ctx.release->GateEnabled("DRAListTypeAttributes") || AnyHasLists(old)) {
    spec = WithEmptyLists(ctx.arena, spec, sent);
  }
  CheckDriverName(spec["driver"], path.Child("driver"), errors);
  const json::Value pool = spec["pool"];
  CheckPoolName(pool["name"], path.Child("pool", "name"), errors);
  if (const std::int64_t count = pool["resourceSliceCount"].AsInt(); count <= 0) {
    errors.push_back(
        api::Invalid(path.Child("pool", "resourceSliceCount"), count, "must be greater than zero"));
  }
  if (const std::int64_t generation = pool["generation"].AsInt(); generation < 0) {
    errors.push_back(api::Invalid(path.Child("pool", "generation"), generation,
                                  "must be greater than or equal to zero"));
  }
  if (!old.is_null()) {
    CheckImmutable(pool["name"], old["pool"]["name"], path.Child("pool", "name"), errors);
    CheckImmutable(spec["driver"], old["driver"], path.Child("driver"), errors);
    CheckImmutable(spec["nodeName"], old["nodeName"], path.Child("nodeName"), errors);
  }
  constexpr std::string_view kOne =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  std::size_t places = 0;
  const std::string used = CheckPlaces(spec, &ctx, path, places, errors);
  if (places == 0) errors.push_back(api::Required(path, kOne));
  if (places > 1) {
    errors.push_back(api::Invalid(path, base::StrCat("{", used, "}"),
                                  base::StrCat(kOne, ", but multiple fields are set")));
  }
  // An empty list that the gate drops is none.
  const bool has_counters =
      !spec["sharedCounters"].is_null() ||
      (ctx.release->GateEnabled("DRAPartitionableDevices") && IsSentEmpty(sent["sharedCounters"]));
  if (has_counters && (!spec["devices"].is_null() || IsSentEmpty(sent["devices"]))) {
    errors.push_back(
        api::Invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"));
  }
  std::size_t most = kMostDevices;
  for (const json::Value& device : spec["devices"].elements()) {
    if (!device["taints"].empty() || !device["consumesCounters"].empty() || HasLists(device)) {
      most = kMostAdvancedDevices;
    }
  }
  if (CheckSize(spec["devices"], most, path.Child("devices"), errors)) {
    std::size_t index = 0;
    for (const json::Value& device : spec["devices"].elements()) {
      json::Value quoted = device;
      for (const std::string_view list : {"bindingConditions", "bindingFailureConditions"}) {
        quoted = WithSentEmpty(ctx.arena, quoted, sent["devices"][index], list);
      }
      CheckDevice(quoted, spec, path.Child("devices").Index(index++), errors);
    }
    CheckUnique(spec["devices"], "name", path.Child("devices"), errors);
  }
  const FieldPath counters = path.Child("sharedCounters");
  if (!CheckSize(spec["sharedCounters"], kMostCounterSets, counters, errors)) return;
  std::size_t index = 0;
  for (const json::Value& set : spec["sharedCounters"].elements()) {
    CheckCounters(set, "name", counters.Index(index++), errors);
  }
  CheckUnique(spec["sharedCounters"], "name", counters, errors);
}

void ValidateSlice(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckSlice(ctx, object["spec"], {}, errors);
}

constexpr DisabledField kDisabledOfSlices[] = {
    {"DRANodeAllocatableResources", "spec.devices[].nodeAllocatableResourceMappings"},
    {"DRADeviceTaints", "spec.devices[].taints"},
    {"DRAPartitionableDevices", "spec.sharedCounters"},
    {"DRAPartitionableDevices", "spec.perDeviceNodeSelection"},
    {"DRAPartitionableDevices", "spec.devices[].consumesCounters"},
    {"DRAPartitionableDevices", "spec.devices[].nodeName"},
    {"DRAPartitionableDevices", "spec.devices[].nodeSelector"},
    {"DRAPartitionableDevices", "spec.devices[].allNodes"},
    {"DRADeviceBindingConditions", "spec.devices[].bindingConditions"},
    {"DRADeviceBindingConditions", "spec.devices[].bindingFailureConditions"},
    {"DRADeviceBindingConditions", "spec.devices[].bindsToNode"},
    {"DRAConsumableCapacity", "spec.devices[].allowMultipleAllocations"},
    {"DRAConsumableCapacity", "spec.devices[].capacity{}.requestPolicy"},
    {"DRAListTypeAttributes", "spec.devices[].attributes{}.bools"},
    {"DRAListTypeAttributes", "spec.devices[].attributes{}.ints"},
    {"DRAListTypeAttributes", "spec.devices[].attributes{}.strings"},
    {"DRAListTypeAttributes", "spec.devices[].attributes{}.versions"}};

void ValidateSliceUpdate(const Context& ctx, json::Value object, json::Value old,
                         FieldErrors& errors) {
  CheckSlice(ctx, object["spec"], old["spec"], errors);
}

void WarnOfSlice(const Context&, json::Value object, json::Value,
                 std::vector<std::string>& warnings) {
  const std::string_view driver = object["spec"]["driver"].AsString();
  if (driver == base::ToLower(driver)) return;
  warnings.push_back(base::StrCat("spec.driver: driver names should be lowercase; ",
                                  base::GoQuote(driver), " contains uppercase characters"));
}

}  // namespace

void AddResourceSliceStrategy(KindTable& table) {
  table.Add({.group = "resource.k8s.io",
             .resource = "resourceslices",
             .validate = &ValidateSlice,
             .validate_update = &ValidateSliceUpdate,
             .warn = &WarnOfSlice,
             .judged_in = "v1",
             .traits = {.counts_generation = true, .returns_deleted = true, .counts_dropped = true},
             .disabled = kDisabledOfSlices});
}

}  // namespace portcullis::registry
