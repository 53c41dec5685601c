// SPDX-License-Identifier: Apache-2.0

// StorageVersions (pkg/apis/apiserverinternal/validation).

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

void AddWithPrefix(std::string_view prefix, const std::vector<std::string>& texts,
                   std::vector<std::string>& out) {
  for (const std::string& text : texts) out.push_back(base::StrCat(prefix, text));
}

// What is wrong with `version` or `group/version`.
std::vector<std::string> ApiVersionFaults(std::string_view text) {
  const auto parts = base::Split(text, '/');
  if (parts.size() > 2) {
    return {
        "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric "
        "characters "
        "or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. "
        "'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with "
        "an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')"};
  }
  std::vector<std::string> faults;
  const auto check = [&](std::string_view part, std::string_view what, auto faults_of) {
    AddWithPrefix(what,
                  part.empty() ? std::vector<std::string>{"must be non-empty"} : faults_of(part),
                  faults);
  };
  if (parts.size() == 2) check(parts[0], "group part: ", api::IsDns1123Subdomain);
  check(parts.back(), "version part: ", api::IsDns1035Label);
  return faults;
}

void CheckApiVersion(json::Value version, const FieldPath& path, FieldErrors& errors) {
  const auto faults = ApiVersionFaults(version.AsString());
  if (!faults.empty()) errors.push_back(api::Invalid(path, version, base::Join(faults, ",")));
}

bool Contains(json::Value list, std::string_view text) {
  const auto elements = list.elements();
  return std::any_of(elements.begin(), elements.end(),
                     [&](json::Value element) { return element.AsString() == text; });
}

// As Go prints a list of texts.
std::string GoList(json::Value list) {
  std::vector<std::string> texts;
  for (const json::Value& element : list.elements()) texts.emplace_back(element.AsString());
  return base::StrCat("[", base::Join(texts, " "), "]");
}

void CheckServer(json::Value server, const FieldPath& path, FieldErrors& errors) {
  CheckSubdomain(server["apiServerID"].AsString(), path.Child("apiServerID"), errors);
  const std::string_view encoding = server["encodingVersion"].AsString();
  CheckApiVersion(json::Value::StringView(encoding), path.Child("encodingVersion"), errors);
  const json::Value decodable = server["decodableVersions"];
  const FieldPath decodable_path = path.Child("decodableVersions");
  std::size_t index = 0;
  for (const json::Value& version : decodable.elements()) {
    CheckApiVersion(version, decodable_path.Index(index++), errors);
  }
  if (!Contains(decodable, encoding)) {
    errors.push_back(
        api::Invalid(decodable_path, decodable,
                     base::StrCat("decodableVersions must include encodingVersion ", encoding)));
  }
  index = 0;
  for (const json::Value& version : server["servedVersions"].elements()) {
    const FieldPath at = path.Child("servedVersions").Index(index++);
    CheckApiVersion(version, at, errors);
    if (Contains(decodable, version.AsString())) continue;
    errors.push_back(
        api::Invalid(at, version,
                     base::StrCat("individual served version : ", version.AsString(),
                                  " must be included in decodableVersions : ", GoList(decodable))));
  }
}

// The version in which all servers encode, if they agree.
std::optional<std::string_view> CommonVersion(json::Value servers) {
  std::optional<std::string_view> common;
  for (const json::Value& server : servers.elements()) {
    const std::string_view version = server["encodingVersion"].AsString();
    if (common && *common != version) return std::nullopt;
    common = version;
  }
  return common;
}

void CheckCommonVersion(json::Value status, const FieldPath& path, FieldErrors& errors) {
  const auto actual = CommonVersion(status["storageVersions"]);
  const json::Value told = status["commonEncodingVersion"];
  if (!actual && !told.is_null()) {
    errors.push_back(
        api::Invalid(path, told,
                     "should be nil if servers do not agree on the same encoding version, or if "
                     "there is no server reporting the supported versions yet"));
  } else if (actual && told.is_null()) {
    errors.push_back(
        api::Invalid(path, told, base::StrCat("the common encoding version is ", *actual)));
  } else if (actual && *actual != told.AsString()) {
    errors.push_back(
        api::Invalid(path, told, base::StrCat("the actual common encoding version is ", *actual)));
  }
}

// Kubernetes leaves the name of the list out of the paths.
void CheckConditions(json::Value conditions, const FieldPath& path, FieldErrors& errors) {
  std::map<std::string_view, std::size_t> seen;
  std::size_t index = 0;
  for (const json::Value& condition : conditions.elements()) {
    const FieldPath at = path.Index(index);
    const std::string_view type = condition["type"].AsString();
    if (const auto before = seen.find(type); before != seen.end()) {
      errors.push_back(api::Invalid(
          at.Child("type"), type,
          base::StrCat("the type of the condition is not unique, it also appears in conditions[",
                       std::to_string(before->second), "]")));
    }
    seen[type] = index++;
    for (const std::string_view name : {"type", "status"}) {
      const std::string_view value = condition[name].AsString();
      AddInvalid(at.Child(name), value, api::IsQualifiedName(value), errors);
    }
    for (const std::string_view name : {"reason", "message"})
      RequireField(condition, name, at, errors);
  }
}

void CheckStatus(json::Value status, FieldErrors& errors) {
  const FieldPath path("status");
  const FieldPath servers_path = path.Child("storageVersions");
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const json::Value& server : status["storageVersions"].elements()) {
    const FieldPath at = servers_path.Index(index++);
    const std::string_view id = server["apiServerID"].AsString();
    if (!seen.insert(id).second) errors.push_back(api::Duplicate(at.Child("apiServerID"), id));
    CheckServer(server, at, errors);
  }
  CheckCommonVersion(status, path.Child("commonEncodingVersion"), errors);
  CheckConditions(status["conditions"], path, errors);
}

void ValidateStatus(const Context& ctx, json::Value object, json::Value, FieldErrors& errors) {
  if (ctx.subresource == "status") CheckStatus(object["status"], errors);
}

class StorageVersions final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  // `group.resource`
  std::vector<std::string> CheckName(const Context&, std::string_view name, bool) const override {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return {"name must be in the form of <group>.<resource>"};
    std::vector<std::string> faults;
    AddWithPrefix("the group segment ", api::IsDns1123Subdomain(name.substr(0, dot)), faults);
    AddWithPrefix("the resource segment ", api::IsDns1035Label(name.substr(dot + 1)), faults);
    return faults;
  }
};

}  // namespace

void AddStorageVersionStrategy(KindTable& table) {
  table.Add({.group = "internal.apiserver.k8s.io",
             .resource = "storageversions",
             .validate_update = &ValidateStatus,
             .traits = {.needs_version = true, .status_keeps = StatusKeeps::kMetadata},
             .metadata = {.update = "", .subresource = ""},
             .make = &Make<StorageVersions>});
}

}  // namespace portcullis::registry
