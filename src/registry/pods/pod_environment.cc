// SPDX-License-Identifier: Apache-2.0

// Variables of containers and the references in them.

#include <algorithm>
#include <array>
#include <map>

#include "base/strings.h"
#include "registry/pods/pod_parts.h"

namespace portcullis::registry {
namespace {

// A printable ASCII text without '='.
void CheckVariableName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  const bool good = std::all_of(name.begin(), name.end(),
                                [](char c) { return c >= 0x20 && c < 0x7F && c != '='; });
  if (good) return;
  errors.push_back(api::Invalid(
      path, name,
      "a valid environment variable name must consist only of printable ASCII characters other "
      "than '='"));
}

void CheckKeySelector(json::Value selector, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = selector["name"].AsString();
  const std::string_view key = selector["key"].AsString();
  CheckSubdomain(name, path.Child("name"), errors);
  if (key.empty()) {
    errors.push_back(api::Required(path.Child("key"), ""));
  } else {
    AddInvalid(path.Child("key"), key, IsConfigMapKey(key), errors);
  }
}

void CheckFileKeyRef(json::Value selector, const FieldPath& path, FieldErrors& errors) {
  if (const std::string_view key = selector["key"].AsString(); key.empty()) {
    errors.push_back(api::Required(path.Child("key"), ""));
  } else {
    CheckVariableName(key, path.Child("key"), errors);
  }
  if (RequireField(selector, "volumeName", path, errors)) {
    CheckDnsLabel(selector["volumeName"].AsString(), path.Child("volumeName"), errors);
  }
  if (RequireField(selector, "path", path, errors)) {
    CheckNoBacksteps(selector["path"].AsString(), path.Child("path"), errors);
  }
}

void CheckValueFrom(json::Value variable, bool has_files, const FieldPath& path,
                    FieldErrors& errors) {
  const json::Value from = variable["valueFrom"];
  std::size_t sources = 0;
  const auto visit = [&](std::string_view name, const auto& check) {
    if (from[name].is_null()) return;
    ++sources;
    check(from[name], path.Child(name));
  };
  visit("fieldRef", [&](json::Value selector, const FieldPath& at) {
    CheckFieldRef(selector, false, at, errors);
  });
  visit("resourceFieldRef", [&](json::Value selector, const FieldPath& at) {
    CheckResourceFieldRef(selector, false, at, errors);
  });
  for (const std::string_view name : {"configMapKeyRef", "secretKeyRef"}) {
    visit(name, [&](json::Value selector, const FieldPath& at) {
      CheckKeySelector(selector, at, errors);
    });
  }
  visit("fileKeyRef",
        [&](json::Value selector, const FieldPath& at) { CheckFileKeyRef(selector, at, errors); });
  if (sources == 0) {
    errors.push_back(api::Invalid(
        path, "",
        base::StrCat("must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`",
                     has_files ? ", `secretKeyRef` or `fileKeyRef`" : " or `secretKeyRef`")));
  } else if (!variable["value"].AsString().empty()) {
    errors.push_back(api::Invalid(path, "", "may not be specified when `value` is not empty"));
  } else if (sources > 1) {
    errors.push_back(
        api::Invalid(path, "", "may not have more than one field specified at a time"));
  }
}

// Fields of a pod that the downward API knows. Labels and annotations may have a subscript.
constexpr std::array<std::string_view, 9> kVariableFields = {"metadata.name",
                                                             "metadata.namespace",
                                                             "metadata.uid",
                                                             "spec.nodeName",
                                                             "spec.serviceAccountName",
                                                             "status.hostIP",
                                                             "status.hostIPs",
                                                             "status.podIP",
                                                             "status.podIPs"};
constexpr std::array<std::string_view, 5> kVolumeFields = {"metadata.annotations",
                                                           "metadata.labels", "metadata.name",
                                                           "metadata.namespace", "metadata.uid"};
constexpr std::array<std::string_view, 6> kAlsoKnown = {
    "metadata.annotations", "metadata.labels",          "spec.restartPolicy",
    "spec.schedulerName",   "status.nominatedNodeName", "status.phase"};
constexpr std::array<std::string_view, 6> kResources = {
    "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory"};

template <typename List>
bool Contains(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

void CheckFieldRef(json::Value selector, bool volume, const FieldPath& path, FieldErrors& errors) {
  const std::string_view version = selector["apiVersion"].AsString();
  std::string_view field = selector["fieldPath"].AsString();
  if (version.empty()) {
    errors.push_back(api::Required(path.Child("apiVersion"), ""));
    return;
  }
  if (field.empty()) {
    errors.push_back(api::Required(path.Child("fieldPath"), ""));
    return;
  }
  const auto wrong = [&](std::string_view why) {
    errors.push_back(api::Invalid(path.Child("fieldPath"), field,
                                  base::StrCat("error converting fieldPath: ", why)));
  };
  if (version != "v1") {
    wrong(base::StrCat("unsupported pod version: ", version));
    return;
  }
  // Subscripts: metadata.labels['key'].
  const std::size_t bracket = field.find("['");
  if (bracket != std::string_view::npos && field.ends_with("']")) {
    const std::string_view base = field.substr(0, bracket);
    const std::string_view key = field.substr(bracket + 2, field.size() - bracket - 4);
    if (base == "metadata.annotations") {
      AddInvalid(path, base::ToLower(key), api::IsQualifiedName(base::ToLower(key)), errors);
    } else if (base == "metadata.labels") {
      AddInvalid(path, key, api::IsQualifiedName(key), errors);
    } else {
      wrong(base::StrCat("field label does not support subscript: ", field));
    }
    return;
  }
  if (field == "spec.host") field = "spec.nodeName";
  const bool known = Contains(kVariableFields, field) || Contains(kVolumeFields, field) ||
                     Contains(kAlsoKnown, field);
  if (!known) {
    wrong(base::StrCat("field label not supported: ", field));
    return;
  }
  if (volume && !Contains(kVolumeFields, field)) {
    errors.push_back(api::NotSupported(path.Child("fieldPath"), field, kVolumeFields));
  } else if (!volume && !Contains(kVariableFields, field)) {
    errors.push_back(api::NotSupported(path.Child("fieldPath"), field, kVariableFields));
  }
}

void CheckResourceFieldRef(json::Value selector, bool volume, const FieldPath& path,
                           FieldErrors& errors) {
  const std::string_view resource = selector["resource"].AsString();
  const bool huge =
      resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
  if (volume && selector["containerName"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("containerName"), ""));
  } else if (resource.empty()) {
    errors.push_back(api::Required(path.Child("resource"), ""));
  } else if (!huge && !Contains(kResources, resource)) {
    errors.push_back(api::NotSupported(path.Child("resource"), resource, kResources));
  }
  const api::Quantity divisor = QuantityOf(selector["divisor"]);
  if (divisor.Sign() == 0) return;
  constexpr std::array<std::string_view, 13> kSizes = {
      "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
  const std::string text = divisor.ToString();
  if (resource.ends_with(".cpu")) {
    if (text == "1m" || text == "1") return;
    errors.push_back(api::Invalid(path.Child("divisor"), resource,
                                  "only divisor's values 1m and 1 are supported with the cpu "
                                  "resource"));
    return;
  }
  const std::string_view what = resource.ends_with(".memory") ? "memory"
                                : resource.ends_with(".ephemeral-storage")
                                    ? "local ephemeral storage"
                                : huge ? "hugepages"
                                       : "";
  if (what.empty() || Contains(kSizes, text)) return;
  errors.push_back(
      api::Invalid(path.Child("divisor"), resource,
                   base::StrCat("only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, "
                                "1Ti, 1Pi, 1Ei are supported with the ",
                                what, " resource")));
}

void CheckEnv(json::Value env, const FieldPath& path, FieldErrors& errors, bool has_files) {
  std::size_t index = 0;
  for (const json::Value& variable : env.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view name = variable["name"].AsString();
    if (name.empty()) {
      errors.push_back(api::Required(at.Child("name"), ""));
    } else {
      CheckVariableName(name, at.Child("name"), errors);
    }
    if (IsSet(variable["valueFrom"])) {
      CheckValueFrom(variable, has_files, at.Child("valueFrom"), errors);
    }
  }
}

bool HasFileKeyRef(json::Value spec) {
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const json::Value& container : spec[list].elements()) {
      for (const json::Value& variable : container["env"].elements()) {
        if (!variable["valueFrom"]["fileKeyRef"].is_null()) return true;
      }
    }
  }
  return false;
}

void CheckFileKeyRefVolumes(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  std::map<std::string_view, json::Value> volumes;
  for (const json::Value& volume : spec["volumes"].elements()) {
    volumes[volume["name"].AsString()] = volume;
  }
  const auto check = [&](json::Value selector, const FieldPath& at) {
    const std::string_view name = selector["volumeName"].AsString();
    const auto volume = volumes.find(name);
    if (volume == volumes.end()) {
      errors.push_back(api::NotFound(at.Child("volumeName"), name));
    } else if (volume->second["emptyDir"].is_null()) {
      errors.push_back(
          api::Invalid(at.Child("volumeName"), name, "referenced volume must be of type emptyDir"));
    }
  };
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    std::size_t index = 0;
    for (const json::Value& container : spec[list].elements()) {
      std::size_t variable_index = 0;
      for (const json::Value& variable : container["env"].elements()) {
        const json::Value selector = variable["valueFrom"]["fileKeyRef"];
        if (!selector.is_null()) {
          const FieldPath env = path.Child(list).Index(index).Child("env");
          check(selector, env.Index(variable_index).Child("valueFrom", "fileKeyRef"));
        }
        ++variable_index;
      }
      ++index;
    }
  }
}

void CheckEnvFrom(json::Value sources, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& source : sources.elements()) {
    const FieldPath at = path.Index(index++);
    if (const std::string_view prefix = source["prefix"].AsString(); !prefix.empty()) {
      CheckVariableName(prefix, at.Child("prefix"), errors);
    }
    std::size_t kinds = 0;
    for (const std::string_view kind : {"configMapRef", "secretRef"}) {
      if (source[kind].is_null()) continue;
      ++kinds;
      if (RequireField(source[kind], "name", at.Child(kind), errors)) {
        CheckSubdomain(source[kind]["name"].AsString(), at.Child(kind, "name"), errors);
      }
    }
    if (kinds == 0) {
      errors.push_back(
          api::Invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"));
    } else if (kinds > 1) {
      errors.push_back(
          api::Invalid(path, "", "may not have more than one field specified at a time"));
    }
  }
}

}  // namespace portcullis::registry
