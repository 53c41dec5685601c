#include "server/feature_gates.h"

#include <string_view>

#include "base/strings.h"

namespace portcullis::server {
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
constexpr OnSince kOnSince[] = {
    {"MutatingAdmissionPolicy", 36}, {"NodeDeclaredFeatures", 36},
    {"PodLevelResources", 34},       {"PodTopologyLabelsAdmission", 35},
    {"RetryGenerateName", 31},       {"ServiceAccountNodeAudienceRestriction", 33}};

// The release's minor; the newest if the text is none, which is refused elsewhere.
int MinorOf(std::string_view version) {
  const auto cut = base::Cut(version, ".");
  if (!cut) return 36;
  const auto end = base::Cut(cut->second, ".");
  return static_cast<int>(base::ParseInt(end ? end->first : cut->second).value_or(36));
}

class OptionGates final : public admission::FeatureGates {
 public:
  explicit OptionGates(const Options& options) : options_(options) {}

  bool Enabled(std::string_view name) const override {
    const auto given = options_.feature_gates.find(std::string(name));
    if (given != options_.feature_gates.end()) return given->second;
    for (std::string_view off : kOff) {
      if (off == name) return false;
    }
    const int minor = MinorOf(options_.kubernetes_version);
    for (const OnSince& gate : kOnSince) {
      if (gate.name == name) return minor >= gate.minor;
    }
    return true;
  }

 private:
  const Options& options_;
};

}  // namespace

std::unique_ptr<admission::FeatureGates> MakeFeatureGates(const Options& options) {
  return std::make_unique<OptionGates>(options);
}

}  // namespace portcullis::server
