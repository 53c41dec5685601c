#include "engine/feature_gates.h"

#include <string_view>
#include <utility>

#include "base/strings.h"

namespace portcullis::engine {
namespace {

// Gates that are off by default; every other one is on.
constexpr std::string_view kOff[] = {"AllowInsecureKubeletCertificateSigningRequests",
                                     "PodCertificateRequest",
                                     "ClusterTrustBundle",
                                     "ClusterTrustBundleProjection",
                                     "ManifestBasedAdmissionControlConfig",
                                     "GenericWorkload",
                                     "WorkloadAwarePreemption",
                                     "WorkloadWithJob",
                                     "AllAlpha",
                                     "AllBeta"};

// Gates that came on by default with a release that --kubernetes-version may be older than.
struct OnSince {
  std::string_view name;
  int minor;
};
constexpr OnSince kOnSince[] = {{"ConstrainedImpersonation", 36},
                                {"MutatingAdmissionPolicy", 36},
                                {"NodeDeclaredFeatures", 36},
                                {"PodLevelResources", 34},
                                {"PodTopologyLabelsAdmission", 35},
                                {"RetryGenerateName", 31},
                                {"ServiceAccountNodeAudienceRestriction", 33}};

// The release's minor; the newest if the text is none, which is refused elsewhere.
int MinorOf(std::string_view version) {
  const auto cut = base::Cut(version, ".");
  if (!cut) return 36;
  const auto end = base::Cut(cut->second, ".");
  return static_cast<int>(base::ParseInt(end ? end->first : cut->second).value_or(36));
}

class OptionGates final : public admission::FeatureGates {
 public:
  OptionGates(std::map<std::string, bool> given, int minor)
      : given_(std::move(given)), minor_(minor) {}

  bool Enabled(std::string_view name) const override {
    const auto given = given_.find(std::string(name));
    if (given != given_.end()) return given->second;
    for (std::string_view off : kOff) {
      if (off == name) return false;
    }
    for (const OnSince& gate : kOnSince) {
      if (gate.name == name) return minor_ >= gate.minor;
    }
    return true;
  }

 private:
  const std::map<std::string, bool> given_;
  const int minor_;
};

}  // namespace

std::unique_ptr<admission::FeatureGates> MakeFeatureGates(std::map<std::string, bool> given,
                                                          std::string_view version) {
  return std::make_unique<OptionGates>(std::move(given), MinorOf(version));
}

}  // namespace portcullis::engine
