#include "server/feature_gates.h"

#include <string_view>

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

class OptionGates final : public admission::FeatureGates {
 public:
  explicit OptionGates(const Options& options) : options_(options) {}

  bool Enabled(std::string_view name) const override {
    const auto given = options_.feature_gates.find(std::string(name));
    if (given != options_.feature_gates.end()) return given->second;
    for (std::string_view off : kOff) {
      if (off == name) return false;
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
