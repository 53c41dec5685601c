// SPDX-License-Identifier: Apache-2.0

#include "api/quota/persistent_volume_claims.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "api/view/initializers.h"
#include "base/strings.h"
#include "release/release.h"

namespace portcullis::api::quota {
namespace {

constexpr std::string_view kClaimNames[] = {"count/persistentvolumeclaims",
                                            "persistentvolumeclaims", "requests.storage"};
constexpr std::string_view kPerClassClaims = ".storageclass.storage.k8s.io/persistentvolumeclaims";
constexpr std::string_view kPerClassStorage = ".storageclass.storage.k8s.io/requests.storage";

std::vector<std::string_view> AttributesClasses(json::Value claim) {
  std::vector<std::string_view> names;
  const json::Value status = claim["status"];
  for (json::Value name :
       {claim["spec"]["volumeAttributesClassName"], status["currentVolumeAttributesClassName"],
        status["modifyVolumeStatus"]["targetVolumeAttributesClassName"]}) {
    if (!name.AsString().empty()) names.push_back(name.AsString());
  }
  return names;
}

class Claims final : public Evaluator {
 public:
  explicit Claims(const release::Release& release)
      : charges_uninitialized_(release.Has("InitializersFreezePods")),
        counts_allocated_(release.Has("ResourceQuotaCountsAllocatedStorage")),
        has_scope_(release.Has("ResourceQuotaVolumeAttributesClassScope")) {}

  bool Handles(Change, std::string_view subresource, json::Value, json::Value) const override {
    // The status tells of expansions and class changes that are under way.
    return subresource.empty() || (subresource == "status" && counts_allocated_);
  }

  bool MatchesName(std::string_view name) const override {
    return std::find(std::begin(kClaimNames), std::end(kClaimNames), name) !=
               std::end(kClaimNames) ||
           name.ends_with(kPerClassClaims) || name.ends_with(kPerClassStorage);
  }

  base::Result<bool> MatchesScope(const ScopeSelector& selector, json::Value claim) const override {
    if (!has_scope_ || selector.scope != "VolumeAttributesClass") return false;
    const std::vector<std::string_view> names = AttributesClasses(claim);
    if (names.empty() || selector.op == "Exists") return MatchesNames(selector, names);
    for (std::string_view name : names) {
      if (TRY(MatchesNames(selector, {name}))) return true;
    }
    return false;
  }

  Resources Usage(json::Value claim) const override {
    const Quantity one = Quantity::FromInt(1);
    Resources out = {{"count/persistentvolumeclaims", one}, {"persistentvolumeclaims", one}};
    // Before a claim is initialized it counts as one, and its storage nothing.
    if (view::Initializers(claim).present() && !charges_uninitialized_) return out;
    const std::string storage_class(StorageClassOf(claim));
    if (!storage_class.empty()) out[base::StrCat(storage_class, kPerClassClaims)] = one;
    if (std::optional<Quantity> storage = StorageOf(claim)) {
      out["requests.storage"] = *storage;
      if (!storage_class.empty()) out[base::StrCat(storage_class, kPerClassStorage)] = *storage;
    }
    return out;
  }

  bool HasScopes() const override { return has_scope_; }

 private:
  // In whole bytes; the allocated amount while it is larger than the requested one.
  std::optional<Quantity> StorageOf(json::Value claim) const {
    const json::Value* request = claim["spec"]["resources"]["requests"].Find("storage");
    if (request == nullptr) return std::nullopt;
    Quantity amount = WholeBytes(ReadQuantity(*request));
    const json::Value* allocated = claim["status"]["allocatedResources"].Find("storage");
    if (counts_allocated_ && allocated != nullptr) {
      const Quantity held = WholeBytes(ReadQuantity(*allocated));
      if (held > amount) amount = held;
    }
    return amount;
  }

  static Quantity WholeBytes(const Quantity& quantity) {
    return quantity.IsInteger() ? quantity : Quantity::FromInt(quantity.Value(), quantity.format());
  }

  bool charges_uninitialized_;
  bool counts_allocated_;
  bool has_scope_;
};

}  // namespace

std::unique_ptr<const Evaluator> MakePersistentVolumeClaimsEvaluator(
    const EvaluatorOptions& options) {
  return std::make_unique<Claims>(options.release);
}

std::string_view StorageClassOf(json::Value claim) {
  const json::Value* annotation =
      claim["metadata"]["annotations"].Find("volume.beta.kubernetes.io/storage-class");
  if (annotation != nullptr) return annotation->AsString();
  return claim["spec"]["storageClassName"].AsString();
}

}  // namespace portcullis::api::quota
