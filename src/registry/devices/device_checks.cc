// SPDX-License-Identifier: Apache-2.0

#include "registry/devices/device_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/named_value.h"
#include "base/strings.h"
#include "json/writer.h"
#include "registry/devices/device_selector.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/semantic_equality.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostRequests = 32;
constexpr std::size_t kMostAlternatives = 8;
constexpr std::size_t kMostSelectors = 32;
constexpr std::size_t kMostBindingConditions = 4;
constexpr std::size_t kLongestExpression = 10 * 1024;
constexpr std::size_t kLongestParameters = 10 * 1024;
constexpr std::size_t kLongestDriver = 63;
constexpr std::size_t kLongestId = 32;
constexpr std::string_view kNoRequest =
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'";

void CheckIdentifier(std::string_view id, const FieldPath& path, FieldErrors& errors) {
  if (id.size() > kLongestId) errors.push_back(api::TooLong(path, static_cast<int>(kLongestId)));
  const auto letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const bool good = !id.empty() && letter(id[0]) && std::all_of(id.begin(), id.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
  if (good) return;
  errors.push_back(api::Invalid(
      path, id,
      "a valid C identifier must start with alphabetic character or '_', followed by a string of "
      "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
      "validation is '[A-Za-z_][A-Za-z0-9_]*')"));
}

void CheckToleration(json::Value toleration, const FieldPath& path, FieldErrors& errors) {
  const std::string_view op = toleration["operator"].AsString();
  const std::string_view value = toleration["value"].AsString();
  if (const std::string_view key = toleration["key"].AsString(); !key.empty()) {
    CheckLabelName(key, path.Child("key"), errors);
  }
  if (op == "Exists") {
    if (!value.empty()) {
      errors.push_back(
          api::Invalid(path.Child("value"), value, "must be empty for operator `Exists`"));
    }
  } else if (op == "Equal") {
    AddInvalid(path.Child("value"), value, api::IsValidLabelValue(value), errors);
  } else if (op.empty()) {
    errors.push_back(api::Required(path.Child("operator"), ""));
  } else {
    errors.push_back(
        api::NotSupported(path.Child("operator"), api::NamedValue(op), {"Equal", "Exists"}));
  }
  if (!toleration["effect"].AsString().empty()) {
    CheckDeviceEffect(toleration["effect"], path.Child("effect"), errors);
  }
}

// What an exact request and an alternative have in common.
void CheckRequestBody(const Context& ctx, json::Value request, const FieldPath& path,
                      FieldErrors& errors) {
  const std::string_view name = request["deviceClassName"].AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path.Child("deviceClassName"), ""));
  } else {
    CheckSubdomain(name, path.Child("deviceClassName"), errors);
  }
  CheckDeviceSelectors(ctx, request["selectors"], path.Child("selectors"), errors);
  const std::string_view mode = request["allocationMode"].AsString();
  const std::int64_t count = request["count"].AsInt();
  if (mode == "All") {
    if (count != 0) {
      errors.push_back(api::Invalid(path.Child("count"), count,
                                    "must not be specified when allocationMode is 'All'"));
    }
  } else if (mode == "ExactCount") {
    if (count <= 0) {
      errors.push_back(api::Invalid(path.Child("count"), count, "must be greater than zero"));
    }
  } else {
    errors.push_back(api::NotSupported(path.Child("allocationMode"), api::NamedValue(mode),
                                       {"All", "ExactCount"}));
  }
  std::size_t index = 0;
  for (const json::Value& toleration : request["tolerations"].elements()) {
    CheckToleration(toleration, path.Child("tolerations").Index(index++), errors);
  }
}

void CheckRequest(const Context& ctx, json::Value request, const FieldPath& path,
                  FieldErrors& errors) {
  CheckDnsLabel(request["name"].AsString(), path.Child("name"), errors);
  const json::Value alternatives = request["firstAvailable"];
  const bool exactly = !request["exactly"].is_null();
  constexpr std::string_view kOne = "exactly one of `exactly` or `firstAvailable` is required";
  if (!exactly && alternatives.empty()) {
    errors.push_back(api::Required(path, kOne));
  } else if (exactly && !alternatives.empty()) {
    errors.push_back(
        api::Invalid(path, json::Value(), base::StrCat(kOne, ", but multiple fields are set")));
  } else if (exactly) {
    CheckRequestBody(ctx, request["exactly"], path.Child("exactly"), errors);
  } else {
    const FieldPath list = path.Child("firstAvailable");
    if (!CheckSize(alternatives, kMostAlternatives, list, errors)) return;
    std::size_t index = 0;
    for (const json::Value& alternative : alternatives.elements()) {
      const FieldPath at = list.Index(index++);
      CheckDnsLabel(alternative["name"].AsString(), at.Child("name"), errors);
      CheckRequestBody(ctx, alternative, at, errors);
    }
    CheckUnique(alternatives, "name", list, errors);
  }
}

}  // namespace

RequestNames GatherRequests(json::Value requests) {
  RequestNames names;
  for (const json::Value& request : requests.elements()) {
    auto& alternatives = names[request["name"].AsString()];
    for (const json::Value& alternative : request["firstAvailable"].elements()) {
      alternatives.insert(alternative["name"].AsString());
    }
  }
  return names;
}

void CheckRequestReference(std::string_view name, const RequestNames& known, const FieldPath& path,
                           FieldErrors& errors) {
  const auto parts = base::Split(name, '/');
  if (parts.size() > 2) {
    errors.push_back(api::Invalid(path, name, kNoRequest));
    return;
  }
  for (const std::string_view part : parts) CheckDnsLabel(part, path, errors);
  const auto request = known.find(parts[0]);
  const bool found =
      request != known.end() && (parts.size() == 1 || request->second.contains(parts[1]));
  if (!found) errors.push_back(api::Invalid(path, name, kNoRequest));
}

void CheckRequestReferences(json::Value names, const RequestNames& known, const FieldPath& path,
                            FieldErrors& errors) {
  if (!CheckSize(names, kMostRequests, path, errors)) return;
  std::size_t index = 0;
  for (const json::Value& name : names.elements()) {
    CheckRequestReference(name.AsString(), known, path.Index(index++), errors);
  }
  CheckUnique(names, "", path, errors);
}

void CheckUnchanged(const Context& ctx, std::string_view type, const Replaced& field,
                    const FieldPath& path, FieldErrors& errors) {
  if (SemanticallyEqual(field.value, field.old)) return;
  errors.push_back(
      api::Invalid(path, GoValue(ctx, type, field.value, field.sent), "field is immutable"));
}

void CheckDriverName(json::Value value, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = value.AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  if (name.size() > kLongestDriver) {
    errors.push_back(api::TooLong(path, static_cast<int>(kLongestDriver)));
  }
  AddInvalid(path, name, api::IsDns1123Subdomain(base::ToLower(name)), errors);
}

void CheckPoolName(json::Value value, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = value.AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  if (name.size() > 253) errors.push_back(api::TooLong(path, 253));
  for (const std::string_view part : base::Split(name, '/')) CheckSubdomain(part, path, errors);
}

void CheckAttributeName(std::string_view name, bool full, const FieldPath& path,
                        FieldErrors& errors) {
  const auto parts = base::Split(name, '/');
  if (parts.size() == 1) {
    CheckIdentifier(parts[0], path, errors);
  } else if (parts.size() == 2) {
    if (parts[0].empty()) {
      errors.push_back(api::Invalid(path, "", "the domain must not be empty"));
    } else {
      CheckDriverName(json::Value::StringView(parts[0]), path, errors);
    }
    if (parts[1].empty()) {
      errors.push_back(api::Invalid(path, "", "the name must not be empty"));
    } else {
      CheckIdentifier(parts[1], path, errors);
    }
  }
  if (full && parts.size() == 1) {
    errors.push_back(api::Invalid(
        path, name, "a fully qualified name must be a domain and a name separated by a slash"));
  }
}

bool CheckSize(json::Value list, std::size_t limit, const FieldPath& path, FieldErrors& errors) {
  if (list.size() <= limit) return true;
  errors.push_back(api::TooMany(path, static_cast<int>(list.size()), static_cast<int>(limit)));
  return false;
}

void CheckUnique(json::Value list, std::string_view key, const FieldPath& path,
                 FieldErrors& errors) {
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const json::Value& element : list.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view text = key.empty() ? element.AsString() : element[key].AsString();
    if (!seen.insert(text).second) errors.push_back(api::Duplicate(at, text));
  }
}

void CheckLabelName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(path, name, api::IsQualifiedName(name), errors);
}

void CheckDeviceEffect(json::Value effect, const FieldPath& path, FieldErrors& errors) {
  CheckOneOf(effect, path, {"NoExecute", "NoSchedule", "None"}, errors);
}

void CheckDeviceTaint(json::Value taint, json::Value old, const FieldPath& path,
                      FieldErrors& errors) {
  CheckLabelName(taint["key"].AsString(), path.Child("key"), errors);
  if (const std::string_view value = taint["value"].AsString(); !value.empty()) {
    AddInvalid(path.Child("value"), value, api::IsValidLabelValue(value), errors);
  }
  const std::string_view effect = taint["effect"].AsString();
  if (!old.is_null() && effect == old["effect"].AsString()) return;
  if (effect.empty()) {
    errors.push_back(api::Required(path.Child("effect"), ""));
  } else {
    CheckDeviceEffect(taint["effect"], path.Child("effect"), errors);
  }
}

void CheckDeviceSelectors(const Context& ctx, json::Value selectors, const FieldPath& path,
                          FieldErrors& errors) {
  if (!CheckSize(selectors, kMostSelectors, path, errors)) return;
  std::size_t index = 0;
  for (const json::Value& selector : selectors.elements()) {
    const FieldPath at = path.Index(index++).Child("cel");
    if (selector["cel"].is_null()) {
      errors.push_back(api::Required(at, ""));
      continue;
    }
    const std::string_view text = selector["cel"]["expression"].AsString();
    if (text.size() > kLongestExpression) {
      errors.push_back(api::TooLong(at.Child("expression"), static_cast<int>(kLongestExpression)));
      continue;
    }
    CheckDeviceExpression(ctx, text, at.Child("expression"), errors);
  }
}

void CheckDeviceConfiguration(json::Value config, const FieldPath& path, FieldErrors& errors) {
  const json::Value opaque = config["opaque"];
  const FieldPath at = path.Child("opaque");
  if (opaque.is_null()) {
    errors.push_back(api::Required(at, ""));
    return;
  }
  CheckDriverName(opaque["driver"], at.Child("driver"), errors);
  const json::Value parameters = opaque["parameters"];
  const FieldPath parameters_path = at.Child("parameters");
  if (parameters.is_null()) {
    errors.push_back(api::Required(parameters_path, ""));
  } else if (json::ToString(parameters).size() > kLongestParameters) {
    errors.push_back(api::TooLong(parameters_path, static_cast<int>(kLongestParameters)));
  } else if (!parameters.is_object()) {
    errors.push_back(
        api::Invalid(parameters_path, "<value omitted>", "must be a valid JSON object"));
  }
}

void CheckDeviceClaim(const Context& ctx, json::Value devices, const FieldPath& path,
                      FieldErrors& errors) {
  const json::Value requests = devices["requests"];
  const RequestNames names = GatherRequests(requests);
  if (CheckSize(requests, kMostRequests, path.Child("requests"), errors)) {
    std::size_t index = 0;
    for (const json::Value& request : requests.elements()) {
      CheckRequest(ctx, request, path.Child("requests").Index(index++), errors);
    }
    CheckUnique(requests, "name", path.Child("requests"), errors);
  }
  if (CheckSize(devices["constraints"], kMostRequests, path.Child("constraints"), errors)) {
    std::size_t index = 0;
    for (const json::Value& constraint : devices["constraints"].elements()) {
      const FieldPath at = path.Child("constraints").Index(index++);
      CheckRequestReferences(constraint["requests"], names, at.Child("requests"), errors);
      if (!constraint["matchAttribute"].is_null()) {
        CheckAttributeName(constraint["matchAttribute"].AsString(), true,
                           at.Child("matchAttribute"), errors);
      } else if (!constraint["distinctAttribute"].is_null()) {
        CheckAttributeName(constraint["distinctAttribute"].AsString(), true,
                           at.Child("distinctAttribute"), errors);
      } else if (!ctx.release->GateEnabled("DRAConsumableCapacity")) {
        errors.push_back(api::Required(at.Child("matchAttribute"), ""));
      } else {
        errors.push_back(api::Required(
            at,
            "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but "
            "multiple fields are set"));
      }
    }
  }
  if (!CheckSize(devices["config"], kMostRequests, path.Child("config"), errors)) return;
  std::size_t index = 0;
  for (const json::Value& config : devices["config"].elements()) {
    const FieldPath at = path.Child("config").Index(index++);
    CheckRequestReferences(config["requests"], names, at.Child("requests"), errors);
    CheckDeviceConfiguration(config, at, errors);
  }
}

void CheckBindingConditions(json::Value owner, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kLists[] = {"bindingConditions", "bindingFailureConditions"};
  for (const std::string_view list : kLists) {
    if (!CheckSize(owner[list], kMostBindingConditions, path.Child(list), errors)) continue;
    std::size_t index = 0;
    for (const json::Value& condition : owner[list].elements()) {
      CheckLabelName(condition.AsString(), path.Child(list).Index(index++), errors);
    }
  }
  const json::Value good = owner[kLists[0]];
  const json::Value bad = owner[kLists[1]];
  CheckUnique(good, "", path.Child(kLists[0]), errors);
  std::set<std::string_view> others;
  for (const json::Value& each : good.elements()) others.insert(each.AsString());
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const FieldPath at = path.Child(kLists[1]).Index(i);
    if (!seen.insert(bad[i].AsString()).second) {
      errors.push_back(api::Duplicate(at, bad[i].AsString()));
    }
    if (others.contains(bad[i].AsString())) {
      errors.push_back(api::Invalid(
          at, bad[i], "bindingFailureConditions must not overlap with bindingConditions"));
    }
  }
  for (const auto& [missing, present] : {std::pair{kLists[0], kLists[1]}, {kLists[1], kLists[0]}}) {
    if (!owner[missing].empty() || owner[present].empty()) continue;
    errors.push_back(api::Invalid(path.Child(missing), owner[missing],
                                  base::StrCat(missing, " are required to use ", present)));
  }
}

}  // namespace portcullis::registry
