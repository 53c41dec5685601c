// SPDX-License-Identifier: Apache-2.0

#include "plugins/persistent_volume_label/persistent_volume_label.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admission/errors.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/edit.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::persistent_volume_label {
namespace {

constexpr std::string_view kLabels[][2] = {
    {"topology.kubernetes.io/zone", "topology.kubernetes.io/region"},
    {"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"}};

using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

// Zone and region, if the volume's provisioner has set both.
Labels TrustedLabels(json::Value volume) {
  const json::Value metadata = volume["metadata"];
  if (!metadata["annotations"].Has("pv.kubernetes.io/provisioned-by")) return {};
  for (const auto& [zone, region] : kLabels) {
    const json::Value* zone_value = metadata["labels"].Find(zone);
    const json::Value* region_value = metadata["labels"].Find(region);
    if (zone_value != nullptr && region_value != nullptr) {
      return {{region, region_value->AsString()}, {zone, zone_value->AsString()}};
    }
  }
  return {};
}

// The zones of "a__b", sorted.
base::Result<std::vector<std::string>> ZonesOf(std::string_view value) {
  std::set<std::string> zones;
  while (true) {
    const auto cut = base::Cut(value, "__");
    std::string_view zone = base::Trim(cut ? cut->first : value);
    if (zone.empty()) {
      return base::Forbidden(
          base::StrCat("failed to convert label string for Zone: ", value, " to a Set"));
    }
    zones.emplace(zone);
    if (!cut) break;
    value = cut->second;
  }
  return std::vector<std::string>(zones.begin(), zones.end());
}

base::Result<std::vector<json::Value>> Requirements(json::Arena& arena, const Labels& labels) {
  std::vector<json::Value> out;
  for (const auto& [key, value] : labels) {
    json::ArrayBuilder values(arena);
    if (key.ends_with("/zone")) {
      for (const std::string& zone : TRY(ZonesOf(value))) values.Add(zone);
    } else {
      values.Add(value);
    }
    out.push_back(json::MakeObject(arena, {{"key", json::String(arena, key)},
                                           {"operator", json::Value::StringView("In")},
                                           {"values", values.Build()}}));
  }
  return out;
}

bool UsesOneOf(json::Value terms, const Labels& labels) {
  for (const json::Value& term : terms.elements()) {
    for (const json::Value& requirement : term["matchExpressions"].elements()) {
      for (const auto& label : labels) {
        if (requirement["key"].AsString() == label.first) return true;
      }
    }
  }
  return false;
}

json::Value AddToTerms(json::Arena& arena, json::Value terms,
                       const std::vector<json::Value>& requirements) {
  if (terms.empty()) terms = json::MakeArray(arena, {json::MakeObject(arena, {})});
  return json::EditElements(arena, terms, [&](json::Value term) {
    json::ArrayBuilder expressions(arena, term["matchExpressions"]);
    for (const json::Value& requirement : requirements) expressions.Add(requirement);
    return json::With(arena, term, "matchExpressions", expressions.Build());
  });
}

class PersistentVolumeLabel final : public admission::Plugin {
 public:
  explicit PersistentVolumeLabel(const admission::PluginContext& context)
      : knows_aws_(context.release->Has("PersistentVolumeLabelKnowsAws")) {
    base::LogWarning(
        "PersistentVolumeLabel admission controller is deprecated. Please remove this controller "
        "from your configuration files and scripts.");
  }

  base::Status Mutate(admission::Request& request) const override {
    if (!request.Is("", "persistentvolumes")) return base::OkStatus();
    const json::Value volume = request.object();
    const Labels labels = TrustedLabels(volume);
    if (labels.empty()) return LookUp(request);
    json::Arena& arena = request.arena();
    const json::Value terms = volume.At({"spec", "nodeAffinity", "required", "nodeSelectorTerms"});
    if (UsesOneOf(terms, labels)) return base::OkStatus();
    base::Result<std::vector<json::Value>> requirements = Requirements(arena, labels);
    if (!requirements.ok()) return admission::Forbidden(request, requirements.status().message());
    request.set_object(json::SetPath(arena, volume,
                                     {"spec", "nodeAffinity", "required", "nodeSelectorTerms"},
                                     AddToTerms(arena, terms, *requirements)));
    return base::OkStatus();
  }

 private:
  // A cloud whose disks would be looked up.
  struct Cloud {
    std::string_view source;  // of a volume
    std::string_view field;   // which names the disk
    std::string_view name;
    std::string_view disk;
  };

  // Other volumes would be looked up at their provider, of which there is none.
  base::Status LookUp(const admission::Request& request) const {
    if (knows_aws_) {
      TRY(LookUp(request, {"awsElasticBlockStore", "volumeID", "AWS", "EBS"}));
    }
    return LookUp(request, {"gcePersistentDisk", "pdName", "GCE", "PD"});
  }

  static base::Status LookUp(const admission::Request& request, const Cloud& cloud) {
    const json::Value disk = request.object()["spec"][cloud.source];
    const std::string_view name = disk[cloud.field].AsString();
    if (disk.is_null() || name == "placeholder-for-provisioning") return base::OkStatus();
    return admission::Forbidden(
        request,
        base::StrCat("error querying ", cloud.name, " ", cloud.disk, " volume ", name,
                     ": unable to build ", cloud.name, " cloud provider for ", cloud.disk));
  }

  const bool knows_aws_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PersistentVolumeLabel",
    .summary = "puts zone and region of cloud disks onto volumes",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .resources = "persistentvolumes",
    .by_default = admission::Default::kOff,
    .create = &common::Make<PersistentVolumeLabel>,
    .until_minor = 30,
};

}  // namespace portcullis::plugins::persistent_volume_label
