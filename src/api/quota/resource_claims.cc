// SPDX-License-Identifier: Apache-2.0

#include "api/quota/resource_claims.h"

#include <algorithm>

#include "api/quota/pod_resources.h"
#include "base/strings.h"

namespace portcullis::api::quota {
namespace {

constexpr std::string_view kCount = "count/resourceclaims.resource.k8s.io";
constexpr std::string_view kPerClass = ".deviceclass.resource.k8s.io/devices";
constexpr std::string_view kImplicit = "requests.deviceclass.resource.kubernetes.io/";
constexpr std::string_view kExtendedClaim = "resource.kubernetes.io/extended-resource-claim";
// "All" devices of a class: no claim can be given more.
constexpr std::int64_t kMostDevices = 32;

// What one exact or alternative request asks for.
std::int64_t DevicesOf(json::Value request) {
  std::string_view mode = request["allocationMode"].AsString();
  if (mode == "All") return kMostDevices;
  if (mode == "ExactCount" || mode.empty()) return request["count"].AsInt(1);
  return 0;
}

using DevicesByClass = std::map<std::string, std::int64_t, std::less<>>;

// Of alternatives only one will be used: per class the largest counts.
DevicesByClass DevicesOfRequest(json::Value request) {
  DevicesByClass out;
  for (const json::Value& choice : request["firstAvailable"].elements()) {
    std::int64_t& most = out[std::string(choice["deviceClassName"].AsString())];
    most = std::max(most, DevicesOf(choice));
  }
  json::Value exactly = request["exactly"];
  if (exactly.is_null() && request.Has("deviceClassName")) exactly = request;
  if (exactly.is_object()) {
    out[std::string(exactly["deviceClassName"].AsString())] += DevicesOf(exactly);
  }
  return out;
}

class ResourceClaims final : public Evaluator {
 public:
  explicit ResourceClaims(const EvaluatorOptions& options)
      : lookup_(options.lookup),
        extended_(options.release.Has("ResourceQuotaCountsExtendedResourceClaims")) {}

  bool Handles(Change, std::string_view subresource, json::Value, json::Value) const override {
    return subresource.empty();
  }

  bool MatchesName(std::string_view name) const override {
    if (name == kCount || name.ends_with(kPerClass)) return true;
    if (!extended_ || !name.starts_with("requests.")) return false;
    return name.starts_with(kImplicit) || name.find('/') != std::string_view::npos;
  }

  Resources Usage(json::Value claim) const override {
    DevicesByClass devices;
    for (const json::Value& request : claim["spec"]["devices"]["requests"].elements()) {
      for (const auto& [name, count] : DevicesOfRequest(request)) devices[name] += count;
    }
    Resources out = {{std::string(kCount), Quantity::FromInt(1)}};
    const Resources paid = extended_ ? PaidByPod(claim) : Resources{};
    for (const auto& [name, count] : devices) {
      out[name + std::string(kPerClass)] = Quantity::FromInt(count);
      if (!extended_) continue;
      Charge(out, base::StrCat(kImplicit, name), count, paid);
      const std::string mapped = ExtendedNameOf(name);
      if (!mapped.empty()) Charge(out, "requests." + mapped, count, paid);
    }
    return out;
  }

 private:
  static void Charge(Resources& out, const std::string& name, std::int64_t count,
                     const Resources& paid) {
    Quantity amount = Quantity::FromInt(count);
    if (auto found = paid.find(name); found != paid.end()) amount.Sub(found->second);
    if (amount.Sign() < 0) amount = Quantity();
    out[name] = amount;
  }

  std::string ExtendedNameOf(std::string_view device_class) const {
    if (lookup_ == nullptr) return {};
    const json::Document found =
        lookup_->Find("resource.k8s.io", "deviceclasses", "", device_class);
    return std::string(found["spec"]["extendedResourceName"].AsString());
  }

  // A claim the scheduler made for a pod's extended resources: the pod has been charged for them.
  Resources PaidByPod(json::Value claim) const {
    Resources paid;
    if (lookup_ == nullptr || !claim["metadata"]["annotations"].Has(kExtendedClaim)) return paid;
    for (const json::Value& owner : claim["metadata"]["ownerReferences"].elements()) {
      if (!owner["controller"].AsBool() || owner["kind"].AsString() != "Pod") continue;
      const json::Document found = lookup_->Find(
          "", "pods", claim["metadata"]["namespace"].AsString(), owner["name"].AsString());
      const json::Value pod = found.root();
      if (pod["metadata"]["uid"].AsString() != owner["uid"].AsString()) continue;
      std::string_view used =
          pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"].AsString();
      if (!used.empty() && used != claim["metadata"]["name"].AsString()) continue;
      for (const auto& [name, amount] : PodRequests(pod, {.status = true})) {
        paid["requests." + name] = amount;
      }
    }
    return paid;
  }

  const Lookup* lookup_;
  bool extended_;
};

}  // namespace

std::unique_ptr<const Evaluator> MakeResourceClaimsEvaluator(const EvaluatorOptions& options) {
  return std::make_unique<ResourceClaims>(options);
}

}  // namespace portcullis::api::quota
