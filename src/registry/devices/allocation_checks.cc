// SPDX-License-Identifier: Apache-2.0

#include "registry/devices/allocation_checks.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/strings.h"
#include "json/writer.h"
#include "registry/devices/device_checks.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/addresses.h"
#include "registry/validation/conditions.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostResults = 32;
constexpr std::size_t kMostConfigurations = 64;  // of the class and of the claim
constexpr std::size_t kMostConditions = 8;
constexpr std::size_t kLongestData = 10 * 1024;
constexpr std::size_t kMostAddresses = 16;
constexpr std::size_t kLongestInterface = 256;
constexpr std::size_t kLongestHardware = 128;

// Driver, pool, device, share.
using DeviceId = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;

DeviceId IdOf(json::Value device) {
  const auto text = [&](std::string_view name) { return device[name].AsString(); };
  return {text("driver"), text("pool"), text("device"), text("shareID")};
}

std::string IdJson(const DeviceId& id) {
  const auto& [driver, pool, device, share] = id;
  return StructJson({{"Driver", Quoted(driver)},
                     {"Pool", Quoted(pool)},
                     {"Device", Quoted(device)},
                     {"ShareID", Quoted(share)}});
}

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

// Why Go's uuid package does not take it, or "".
std::string UuidFault(std::string_view text) {
  constexpr std::size_t kPlain = 36;
  constexpr std::string_view kUrn = "urn:uuid:";
  constexpr std::string_view kFormat = "invalid UUID format";
  if (text.size() == 32) return IsHex(text) ? "" : std::string(kFormat);
  if (text.size() == kPlain + kUrn.size()) {
    if (base::ToLower(text.substr(0, kUrn.size())) != kUrn) {
      return base::StrCat("invalid urn prefix: ", Quoted(text.substr(0, kUrn.size())));
    }
    text.remove_prefix(kUrn.size());
  } else if (text.size() == kPlain + 2) {
    if (text.front() != '{' || text.back() != '}') return "invalid bracketed UUID format";
    text = text.substr(1, kPlain);
  } else if (text.size() != kPlain) {
    return base::StrCat("invalid UUID length: ", std::to_string(text.size()));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !IsHex(text.substr(i, 1))) return std::string(kFormat);
  }
  return "";
}

void CheckShare(json::Value share, const FieldPath& path, FieldErrors& errors) {
  if (share.is_null()) return;
  const std::string_view uid = share.AsString();
  if (const std::string fault = UuidFault(uid); !fault.empty()) {
    errors.push_back(api::Invalid(path, uid, base::StrCat("error validating uid: ", fault)));
  } else if (uid.size() != 36 || base::ToLower(uid) != uid) {
    errors.push_back(api::Invalid(
        path, uid,
        "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with "
        "lowercase hexadecimal characters"));
  }
}

void CheckDevice(json::Value device, const FieldPath& path, FieldErrors& errors) {
  CheckDriverName(device["driver"], path.Child("driver"), errors);
  CheckPoolName(device["pool"], path.Child("pool"), errors);
  CheckDnsLabel(device["device"].AsString(), path.Child("device"), errors);
}

void CheckNetworkData(json::Value data, const FieldPath& path, FieldErrors& errors) {
  const auto check_size = [&](std::string_view field, std::size_t longest) {
    if (data[field].AsString().size() <= longest) return;
    errors.push_back(api::TooLong(path.Child(field), static_cast<int>(longest)));
  };
  check_size("interfaceName", kLongestInterface);
  check_size("hardwareAddress", kLongestHardware);
  const FieldPath ips = path.Child("ips");
  if (!CheckSize(data["ips"], kMostAddresses, ips, errors)) return;
  std::size_t index = 0;
  for (const json::Value& address : data["ips"].elements()) {
    CheckInterfaceAddress(address.AsString(), ips.Index(index++), errors);
  }
  CheckUnique(data["ips"], "", ips, errors);
}

void CheckData(json::Value data, const FieldPath& path, FieldErrors& errors) {
  if (data.is_null()) return;
  if (json::ToString(data).size() > kLongestData) {
    errors.push_back(api::TooLong(path, static_cast<int>(kLongestData)));
  } else if (!data.is_object()) {
    errors.push_back(api::Invalid(path, "<value omitted>", "must be a valid JSON object"));
  }
}

}  // namespace

void CheckAllocation(json::Value allocation, json::Value devices, const FieldPath& path,
                     FieldErrors& errors) {
  const json::Value results = allocation["devices"]["results"];
  const json::Value configs = allocation["devices"]["config"];
  const RequestNames names = GatherRequests(devices["requests"]);
  const FieldPath results_path = path.Child("devices", "results");
  if (CheckSize(results, kMostResults, results_path, errors)) {
    std::size_t index = 0;
    for (const json::Value& result : results.elements()) {
      const FieldPath at = results_path.Index(index++);
      CheckRequestReference(result["request"].AsString(), names, at.Child("request"), errors);
      CheckDevice(result, at, errors);
      CheckBindingConditions(result, at, errors);
      CheckShare(result["shareID"], at.Child("shareID"), errors);
    }
  }
  const FieldPath configs_path = path.Child("devices", "config");
  if (CheckSize(configs, kMostConfigurations, configs_path, errors)) {
    std::size_t index = 0;
    for (const json::Value& config : configs.elements()) {
      const FieldPath at = configs_path.Index(index++);
      const std::string_view source = config["source"].AsString();
      if (source.empty()) {
        errors.push_back(api::Required(at.Child("source"), ""));
      } else {
        CheckOneOf(config["source"], at.Child("source"), {"FromClaim", "FromClass"}, errors);
      }
      CheckRequestReferences(config["requests"], names, at.Child("requests"), errors);
      CheckDeviceConfiguration(config, at, errors);
    }
  }
  if (!allocation["nodeSelector"].is_null()) {
    CheckNodeSelector(allocation["nodeSelector"], path.Child("nodeSelector"), errors);
  }
}

void CheckDeviceStatuses(json::Value devices, json::Value allocation, const FieldPath& path,
                         FieldErrors& errors) {
  std::set<DeviceId> allocated;
  for (const json::Value& result : allocation["devices"]["results"].elements()) {
    allocated.insert(IdOf(result));
  }
  std::size_t index = 0;
  for (const json::Value& device : devices.elements()) {
    const FieldPath at = path.Index(index++);
    CheckDevice(device, at, errors);
    CheckShare(device["shareID"], at.Child("shareID"), errors);
    const DeviceId id = IdOf(device);
    if (!allocated.contains(id)) {
      errors.push_back(api::Invalid(at, api::BadValue::Raw(IdJson(id)),
                                    "must be an allocated device in the claim"));
    }
    CheckSize(device["conditions"], kMostConditions, at.Child("conditions"), errors);
    ValidateConditions(device["conditions"], at.Child("conditions"), errors);
    CheckData(device["data"], at.Child("data"), errors);
    CheckNetworkData(device["networkData"], at.Child("networkData"), errors);
  }
  std::set<DeviceId> seen;
  index = 0;
  for (const json::Value& device : devices.elements()) {
    const FieldPath at = path.Index(index++);
    const DeviceId id = IdOf(device);
    if (seen.insert(id).second) continue;
    errors.push_back(api::Duplicate(at, api::BadValue::Raw(IdJson(id))));
  }
}

}  // namespace portcullis::registry
