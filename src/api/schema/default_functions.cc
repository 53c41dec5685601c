// SPDX-License-Identifier: Apache-2.0

#include "api/schema/default_functions.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "api/quantity.h"
#include "base/strings.h"
#include "json/edit.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";

// The tag of an image reference: what follows the last colon of its last part; "latest" if there is
// neither tag nor digest.
std::string_view TagOf(std::string_view image) {
  const std::size_t digest = image.find('@');
  const bool has_digest = digest != std::string_view::npos;
  const std::string_view name = image.substr(0, digest);
  const std::string_view last = name.substr(name.rfind('/') + 1);
  const std::size_t colon = last.rfind(':');
  if (colon != std::string_view::npos) return last.substr(colon + 1);
  return has_digest ? std::string_view() : std::string_view("latest");
}

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsWordChar(char c) { return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

// Lower case letters and digits with separators between them: ".", "_", "__" or hyphens.
bool IsPathComponent(std::string_view text) {
  std::size_t at = 0;
  while (true) {
    const std::size_t start = at;
    while (at < text.size() && IsLowerOrDigit(text[at])) ++at;
    if (at == start) return false;
    if (at == text.size()) return true;
    const char separator = text[at];
    std::size_t count = 0;
    while (at < text.size() && text[at] == separator) ++at, ++count;
    if (separator != '.' && separator != '_' && separator != '-') return false;
    if ((separator == '.' && count > 1) || (separator == '_' && count > 2)) return false;
  }
}

// A host with an optional port.
bool IsRegistry(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && text.back() != ']') {
    const std::string_view port = text.substr(colon + 1);
    if (port.empty() || port.find_first_not_of("0123456789") != std::string_view::npos)
      return false;
    text = text.substr(0, colon);
  }
  if (text.starts_with('[')) return text.ends_with(']');
  while (true) {
    const std::string_view label = text.substr(0, text.find('.'));
    const bool known = std::all_of(label.begin(), label.end(),
                                   [](char c) { return (IsWordChar(c) && c != '_') || c == '-'; });
    if (label.empty() || !known || label.front() == '-' || label.back() == '-') return false;
    if (label.size() == text.size()) return true;
    text.remove_prefix(label.size() + 1);
  }
}

// Whether an image is a reference as container registries know it (distribution/reference).
bool IsImageReference(std::string_view image) {
  // The id of an image is none.
  const bool hexadecimal = std::all_of(image.begin(), image.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (hexadecimal && image.size() == 64) return false;
  bool in_docker_hub = true;
  const std::size_t slash = image.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view first = image.substr(0, slash);
    const bool upper =
        std::any_of(first.begin(), first.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    if (first.find_first_of(".:") != std::string_view::npos || first == "localhost" || upper) {
      if (!IsRegistry(first)) return false;
      in_docker_hub = first == "docker.io" || first == "index.docker.io";
      image.remove_prefix(slash + 1);
    }
  }
  std::string_view name = image.substr(0, image.find('@'));
  if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) {
    const std::string_view tag = name.substr(colon + 1);
    const bool known = std::all_of(tag.begin(), tag.end(),
                                   [](char c) { return IsWordChar(c) || c == '.' || c == '-'; });
    if (tag.empty() || tag.size() > 128 || !known || !IsWordChar(tag.front())) return false;
    name = name.substr(0, colon);
  }
  // A name without a path is one of Docker Hub's library.
  const bool in_library = in_docker_hub && name.find('/') == std::string_view::npos;
  constexpr std::size_t kLongestName = 255;
  constexpr std::string_view kLibrary = "library/";
  if (name.size() + (in_library ? kLibrary.size() : 0) > kLongestName) return false;
  while (true) {
    const std::string_view component = name.substr(0, name.find('/'));
    if (!IsPathComponent(component)) return false;
    if (component.size() == name.size()) return true;
    name.remove_prefix(component.size() + 1);
  }
}

std::string_view PolicyFor(std::string_view image) {
  // An image name that does not parse has no tag, not even the default one.
  return TagOf(image) == "latest" && IsImageReference(image) ? "Always" : "IfNotPresent";
}

Value ImagePullPolicy(json::Arena& arena, Value container) {
  if (!container["imagePullPolicy"].AsString().empty()) return container;
  const std::string_view policy = PolicyFor(container["image"].AsString());
  return json::With(arena, container, "imagePullPolicy", Value::StringView(policy));
}

Value ImageVolumePullPolicy(json::Arena& arena, Value image) {
  if (!image["pullPolicy"].AsString().empty()) return image;
  const std::string_view policy = PolicyFor(image["reference"].AsString());
  return json::With(arena, image, "pullPolicy", Value::StringView(policy));
}

Value VolumeSource(json::Arena& arena, Value volume) {
  const auto members = volume.members();
  const bool has_source =
      std::any_of(members.begin(), members.end(), [](const json::Member& member) {
        return member.name() != "name" && !member.value.is_null();
      });
  if (has_source) return volume;
  return json::With(arena, volume, "emptyDir", json::MakeObject(arena, {}));
}

// Quantities finer than a thousandth are rounded up to it.
Value RoundMilli(json::Arena& arena, Value list) {
  return json::EditMembers(arena, list, [&](const json::Member& member) {
    const std::string_view text = member.value.AsString();
    // Finer is only what has a fraction, a negative exponent, or one of the suffixes n and u.
    const auto is_fine = [](char c) { return c == '.' || c == '-' || c == 'n' || c == 'u'; };
    if (std::none_of(text.begin(), text.end(), is_fine)) return member.value;
    const auto quantity = Quantity::Parse(text);
    if (!quantity.ok() || quantity->IsMilli()) return member.value;
    return json::String(arena, quantity->RoundedToMilli().ToString());
  });
}

// With the members of `source` that object[name] lacks.
Value FillMember(json::Arena& arena, Value object, std::string_view name, Value source) {
  const Value target = object[name];
  std::optional<json::ObjectBuilder> filled;
  for (const json::Member& member : source.members()) {
    if (target.Find(member.name(), member.hash) != nullptr) continue;
    if (!filled) filled.emplace(arena, target);
    filled->Set(member.name(), member.value);
  }
  return filled ? json::With(arena, object, name, filled->Build()) : object;
}

Value RequestsFromLimits(json::Arena& arena, Value resources) {
  return FillMember(arena, resources, "requests", resources["limits"]);
}

// The default selector of workloads whose early versions did not require one.
Value SelectorFromTemplate(json::Arena& arena, Value object) {
  const Value spec = object["spec"];
  const Value labels = spec["template"]["metadata"]["labels"];
  if (labels.is_null() || !spec["selector"].is_null()) return object;
  return json::SetPath(arena, object, {"spec", "selector"},
                       json::MakeObject(arena, {{"matchLabels", labels}}));
}

Value HostPorts(json::Arena& arena, Value container) {
  const Value ports = json::EditElements(arena, container["ports"], [&](Value port) {
    if (port["hostPort"].AsInt() != 0) return port;
    return json::With(arena, port, "hostPort", port["containerPort"]);
  });
  if (ports.IsSameAs(container["ports"])) return container;
  return json::With(arena, container, "ports", ports);
}

Value LimitRangeItem(json::Arena& arena, Value item) {
  if (item["type"].AsString() != "Container") return item;
  item = FillMember(arena, item, "default", item["max"]);
  item = FillMember(arena, item, "defaultRequest", item["default"]);
  return FillMember(arena, item, "defaultRequest", item["min"]);
}

// stringData is written only: each text replaces the entry of `data`.
Value SecretStringData(json::Arena& arena, Value secret) {
  const Value texts = secret["stringData"];
  if (texts.empty()) return secret;
  json::ObjectBuilder data(arena, secret["data"]);
  for (const json::Member& text : texts.members()) {
    data.Set(text.name(), base::Base64Encode(text.value.AsString()));
  }
  return json::With(arena, json::Without(arena, secret, "stringData"), "data", data.Build());
}

// Kubernetes holds the generation of a DaemonSet's template in a field that v1 shows as an annotation:
// every DaemonSet has it, with "0" until the server has counted.
Value DaemonSetGeneration(json::Arena& arena, Value daemon_set) {
  if (daemon_set["metadata"]["annotations"].Has(kTemplateGeneration)) return daemon_set;
  return json::SetPath(arena, daemon_set, {"metadata", "annotations", kTemplateGeneration},
                       json::String(arena, "0"));
}

// podIP and podIPs, podCIDR and podCIDRs are one list to the server: the single value is the first
// of the list. Where they differ the single pod IP counts, but the list of ranges.
Value PodIps(json::Arena& arena, Value status) {
  const std::string_view single = status["podIP"].AsString();
  const Value list = status["podIPs"];
  const std::string_view first = list[std::size_t{0}]["ip"].AsString();
  if (single == first) return status;
  if (single.empty()) return json::With(arena, status, "podIP", list[std::size_t{0}]["ip"]);
  const Value entry = json::MakeObject(arena, {{"ip", status["podIP"]}});
  return json::With(arena, status, "podIPs", json::MakeArray(arena, {entry}));
}

Value PodCidrs(json::Arena& arena, Value spec) {
  const Value list = spec["podCIDRs"];
  const Value first = list[std::size_t{0}];
  if (spec["podCIDR"].AsString().empty()) {
    return list.empty() ? spec : json::With(arena, spec, "podCIDR", first);
  }
  // Where both are given, the older field counts.
  if (spec["podCIDR"] == first) return spec;
  return json::With(arena, spec, "podCIDRs", json::MakeArray(arena, {spec["podCIDR"]}));
}

Value CrdNames(json::Arena& arena, Value names) {
  const std::string_view kind = names["kind"].AsString();
  if (names["singular"].AsString().empty()) {
    names = json::With(arena, names, "singular", json::String(arena, base::ToLower(kind)));
  }
  if (names["listKind"].AsString().empty() && !kind.empty()) {
    const std::string list = base::StrCat(kind, "List");
    names = json::With(arena, names, "listKind", json::String(arena, list));
  }
  return names;
}

Value CrdStoredVersions(json::Arena& arena, Value definition) {
  if (!definition["status"]["storedVersions"].empty()) return definition;
  for (const Value& version : definition["spec"]["versions"].elements()) {
    if (!version["storage"].AsBool()) continue;
    const Value stored = json::MakeArray(arena, {version["name"]});
    return json::SetPath(arena, definition, {"status", "storedVersions"}, stored);
  }
  return definition;
}

// --- Pod-level resources (KEP-2837). ---

bool IsHugePage(std::string_view resource) { return resource.starts_with("hugepages-"); }

bool IsPodLevel(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || IsHugePage(resource);
}

using Amounts = std::map<std::string_view, Quantity>;

void AddAll(Amounts& sum, const Amounts& more) {
  for (const auto& [resource, amount] : more) {
    const auto [place, added] = sum.emplace(resource, amount);
    if (!added) place->second.Add(amount);
  }
}

void MaxAll(Amounts& most, const Amounts& other) {
  for (const auto& [resource, amount] : other) {
    const auto [place, added] = most.emplace(resource, amount);
    if (!added && place->second < amount) place->second = amount;
  }
}

Amounts AmountsOf(Value container, std::string_view list) {
  Amounts amounts;
  for (const json::Member& member : container["resources"][list].members()) {
    const auto quantity = Quantity::Parse(member.value.AsString());
    if (quantity.ok()) amounts.emplace(member.name(), *quantity);
  }
  return amounts;
}

// What all containers together need at most: the regular ones and the sidecars at once, or an init
// container with the sidecars started before it.
Amounts AggregateContainers(Value spec, std::string_view list) {
  Amounts total;
  for (const Value& container : spec["containers"].elements()) {
    AddAll(total, AmountsOf(container, list));
  }
  Amounts sidecars;
  Amounts starting;
  for (const Value& container : spec["initContainers"].elements()) {
    Amounts needed = AmountsOf(container, list);
    if (container["restartPolicy"].AsString() == "Always") {
      AddAll(total, needed);
      AddAll(sidecars, needed);
      needed = sidecars;
    } else {
      AddAll(needed, sidecars);
    }
    MaxAll(starting, needed);
  }
  MaxAll(total, starting);
  return total;
}

template <typename Wanted>
Value FillAmounts(json::Arena& arena, Value resources, std::string_view list,
                  const Amounts& amounts, Wanted wanted) {
  json::ObjectBuilder filled(arena, resources[list]);
  bool changed = false;
  for (const auto& [resource, amount] : amounts) {
    if (filled.Find(resource) != nullptr || !wanted(resource)) continue;
    filled.Set(resource, std::string_view(amount.ToString()));
    changed = true;
  }
  return changed ? json::With(arena, resources, list, filled.Build()) : resources;
}

// The limits that a pod as a whole may have.
Value PodLevelAmounts(json::Arena& arena, Value resources) {
  json::ObjectBuilder amounts(arena);
  for (const json::Member& limit : resources["limits"].members()) {
    if (IsPodLevel(limit.name())) amounts.Add(limit.name(), limit.value);
  }
  return amounts.Build();
}

Value PodLevelResources(json::Arena& arena, Value spec) {
  Value resources = spec["resources"];
  if (!resources.is_object()) return spec;
  if (!resources["limits"].empty() || !resources["requests"].empty()) {
    resources = FillAmounts(arena, resources, "limits", AggregateContainers(spec, "limits"),
                            [&](std::string_view resource) {
                              return IsHugePage(resource) && !resources["requests"].Has(resource);
                            });
  }
  if (!resources["limits"].empty()) {
    resources = FillAmounts(
        arena, resources, "requests", AggregateContainers(spec, "requests"),
        [](std::string_view resource) { return IsPodLevel(resource) && !IsHugePage(resource); });
    resources = FillMember(arena, resources, "requests", PodLevelAmounts(arena, resources));
  }
  return resources.IsSameAs(spec["resources"]) ? spec
                                               : json::With(arena, spec, "resources", resources);
}

// A device takes as much of the node's resources as is mapped to it, once.
Value AllocationMultipliers(json::Arena& arena, Value device) {
  constexpr std::string_view kMappings = "nodeAllocatableResourceMappings";
  constexpr std::string_view kMultiplier = "allocationMultiplier";
  const Value mappings =
      json::EditMembers(arena, device[kMappings], [&](const json::Member& mapping) {
        return mapping.value[kMultiplier].is_null()
                   ? json::With(arena, mapping.value, kMultiplier, Value::StringView("1"))
                   : mapping.value;
      });
  return mappings.IsSameAs(device[kMappings]) ? device
                                              : json::With(arena, device, kMappings, mappings);
}

struct Entry {
  std::string_view name;
  DefaultFunction function;
};
constexpr std::array<Entry, 16> kFunctions = {{
    {"allocationMultipliers", &AllocationMultipliers},
    {"crdNames", &CrdNames},
    {"crdStoredVersions", &CrdStoredVersions},
    {"daemonSetGeneration", &DaemonSetGeneration},
    {"hostPorts", &HostPorts},
    {"imagePullPolicy", &ImagePullPolicy},
    {"imageVolumePullPolicy", &ImageVolumePullPolicy},
    {"limitRangeItem", &LimitRangeItem},
    {"podCidrs", &PodCidrs},
    {"podIps", &PodIps},
    {"podLevelResources", &PodLevelResources},
    {"requestsFromLimits", &RequestsFromLimits},
    {"roundMilli", &RoundMilli},
    {"secretStringData", &SecretStringData},
    {"selectorFromTemplate", &SelectorFromTemplate},
    {"volumeSource", &VolumeSource},
}};

}  // namespace

Value TimeAdded(json::Arena& arena, Value taint, const base::Clock& clock) {
  if (!taint["timeAdded"].is_null()) return taint;
  return json::With(arena, taint, "timeAdded", json::String(arena, base::FormatTime(clock.Now())));
}

DefaultFunction FindDefaultFunction(std::string_view name) {
  for (const Entry& entry : kFunctions) {
    if (entry.name == name) return entry.function;
  }
  return nullptr;
}

}  // namespace portcullis::api::schema
