// SPDX-License-Identifier: Apache-2.0

// The chain of each release, as kube-apiserver's --help and its start-up lines tell it: names,
// order, what is on by default, and what is said of names that the release does not have.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "admission/config.h"
#include "base/strings.h"
#include "plugins/registry.h"
#include "release/release.h"

namespace portcullis::plugins {
namespace {

using Names = std::vector<std::string>;

// Order of v1.30.
constexpr std::string_view kAt30 =
    "AlwaysAdmit NamespaceAutoProvision NamespaceLifecycle NamespaceExists "
    "LimitPodHardAntiAffinityTopology LimitRanger ServiceAccount NodeRestriction "
    "TaintNodesByCondition AlwaysPullImages ImagePolicyWebhook PodSecurity PodNodeSelector "
    "Priority DefaultTolerationSeconds PodTolerationRestriction EventRateLimit "
    "ExtendedResourceToleration PersistentVolumeLabel DefaultStorageClass "
    "StorageObjectInUseProtection OwnerReferencesPermissionEnforcement PersistentVolumeClaimResize "
    "RuntimeClass CertificateApproval CertificateSigning ClusterTrustBundleAttest "
    "CertificateSubjectRestriction DefaultIngressClass DenyServiceExternalIPs "
    "MutatingAdmissionWebhook ValidatingAdmissionPolicy ValidatingAdmissionWebhook ResourceQuota "
    "AlwaysDeny";
constexpr std::string_view kOnAt30 =
    "NamespaceLifecycle LimitRanger ServiceAccount TaintNodesByCondition PodSecurity Priority "
    "DefaultTolerationSeconds DefaultStorageClass StorageObjectInUseProtection "
    "PersistentVolumeClaimResize RuntimeClass CertificateApproval CertificateSigning "
    "ClusterTrustBundleAttest CertificateSubjectRestriction DefaultIngressClass "
    "MutatingAdmissionWebhook ValidatingAdmissionPolicy ValidatingAdmissionWebhook ResourceQuota";

Names Words(std::string_view text) {
  Names out;
  for (std::string_view word : base::Split(text, ' ')) out.emplace_back(word);
  return out;
}

// `names` with each new one behind the one that is named first.
Names With(Names names,
           std::initializer_list<std::pair<std::string_view, std::string_view>> added) {
  for (const auto& [before, name] : added) {
    auto place = std::find(names.begin(), names.end(), before);
    EXPECT_NE(place, names.end()) << before;
    names.insert(place + 1, std::string(name));
  }
  return names;
}

Names Without(Names names, std::string_view name) {
  std::erase(names, name);
  return names;
}

base::Result<Names> Select(const admission::PluginFlags& flags, int minor) {
  const auto registered = Registered();
  const auto release = TRY(release::Release::Open(base::StrCat("1.", std::to_string(minor))));
  Names names;
  for (const auto* info : TRY(admission::SelectPlugins(flags, registered, {}, release))) {
    names.emplace_back(info->name);
  }
  return names;
}

// Everything the release has: what cannot be unknown to it; without what every release has here
// because Kubernetes has dropped it.
Names AllOf(int minor) {
  admission::PluginFlags flags;
  for (const auto* info : Registered()) {
    if (info->legacy) continue;
    admission::PluginFlags one;
    one.enable = {std::string(info->name)};
    if (Select(one, minor).ok()) flags.enable.emplace_back(info->name);
  }
  auto all = Select(flags, minor);
  EXPECT_TRUE(all.ok());
  return all.ok() ? *all : Names();
}

Names DefaultsOf(int minor) {
  auto names = Select({}, minor);
  return names.ok() ? *names : Names();
}

constexpr std::pair<std::string_view, std::string_view> kMutatingPolicy = {
    "DenyServiceExternalIPs", "MutatingAdmissionPolicy"};
constexpr std::pair<std::string_view, std::string_view> kTopology = {"DenyServiceExternalIPs",
                                                                     "PodTopologyLabels"};
constexpr std::pair<std::string_view, std::string_view> kDeclared = {
    "PodTopologyLabels", "NodeDeclaredFeatureValidator"};

TEST(OrderAtReleasesTest, V130) {
  EXPECT_EQ(AllOf(30), Words(kAt30));
  EXPECT_EQ(DefaultsOf(30), Words(kOnAt30));
}

TEST(OrderAtReleasesTest, V129StillHasSecurityContextDeny) {
  EXPECT_EQ(AllOf(29), With(Words(kAt30), {{"NamespaceExists", "SecurityContextDeny"}}));
}

TEST(OrderAtReleasesTest, V131HasNoPersistentVolumeLabel) {
  EXPECT_EQ(AllOf(31), Without(Words(kAt30), "PersistentVolumeLabel"));
  EXPECT_EQ(DefaultsOf(31), Words(kOnAt30));
}

TEST(OrderAtReleasesTest, V132To135AddOneByOne) {
  const Names at31 = Without(Words(kAt30), "PersistentVolumeLabel");
  EXPECT_EQ(AllOf(32), With(at31, {kMutatingPolicy}));
  EXPECT_EQ(AllOf(33), With(at31, {kMutatingPolicy, kTopology}));
  EXPECT_EQ(AllOf(34), AllOf(33));
  EXPECT_EQ(AllOf(35), With(at31, {kMutatingPolicy, kTopology, kDeclared}));
}

TEST(OrderAtReleasesTest, V136) {
  const Names at31 = Without(Words(kAt30), "PersistentVolumeLabel");
  const Names all = With(at31, {kMutatingPolicy,
                                kTopology,
                                kDeclared,
                                {"PodTopologyLabels", "PodGroupWorkloadExists"},
                                {"NodeDeclaredFeatureValidator", "JobValidation"},
                                {"JobValidation", "PodResizeValidator"},
                                {"StorageObjectInUseProtection", "PodGroupProtection"}});
  EXPECT_EQ(AllOf(36), all);
  EXPECT_EQ(all.size(), 41U);
  const Names on = With(Words(kOnAt30), {{"StorageObjectInUseProtection", "PodGroupProtection"},
                                         {"DefaultIngressClass", "PodTopologyLabels"},
                                         {"PodTopologyLabels", "PodGroupWorkloadExists"},
                                         {"PodGroupWorkloadExists", "NodeDeclaredFeatureValidator"},
                                         {"NodeDeclaredFeatureValidator", "JobValidation"},
                                         {"JobValidation", "PodResizeValidator"},
                                         {"PodResizeValidator", "MutatingAdmissionPolicy"}});
  EXPECT_EQ(DefaultsOf(36), on);
  EXPECT_EQ(on.size(), 27U);
}

TEST(OrderAtReleasesTest, ReleasesBeforeV129HaveWhatTheyHad) {
  EXPECT_EQ(DefaultsOf(9), Words("AlwaysAdmit"));
  EXPECT_EQ(DefaultsOf(13),
            Words("NamespaceLifecycle LimitRanger ServiceAccount TaintNodesByCondition Priority "
                  "DefaultTolerationSeconds DefaultStorageClass StorageObjectInUseProtection "
                  "PersistentVolumeClaimResize MutatingAdmissionWebhook "
                  "ValidatingAdmissionWebhook ResourceQuota"));
  EXPECT_EQ(DefaultsOf(29), Words(kOnAt30));
  EXPECT_EQ(AllOf(7),
            Words("AlwaysAdmit NamespaceAutoProvision NamespaceLifecycle NamespaceExists "
                  "SecurityContextDeny LimitPodHardAntiAffinityTopology LimitRanger ServiceAccount "
                  "NodeRestriction AlwaysPullImages ImagePolicyWebhook PodNodeSelector "
                  "DefaultTolerationSeconds PodTolerationRestriction PersistentVolumeLabel "
                  "DefaultStorageClass OwnerReferencesPermissionEnforcement ResourceQuota "
                  "AlwaysDeny"));
}

TEST(OrderAtReleasesTest, NamesOfOtherReleasesAreUnknown) {
  const auto error = [](admission::PluginFlags flags, int minor) {
    const auto names = Select(flags, minor);
    return names.ok() ? std::string() : std::string(names.status().message());
  };
  admission::PluginFlags flags;
  flags.enable = {"PersistentVolumeLabel"};
  EXPECT_EQ(error(flags, 36),
            "enable-admission-plugins plugin \"PersistentVolumeLabel\" is unknown (Kubernetes has "
            "dropped it with v1.31)");
  EXPECT_EQ(error(flags, 30), "");
  flags = {};
  flags.disable = {"PersistentVolumeLabel"};
  EXPECT_EQ(error(flags, 31),
            "disable-admission-plugins plugin \"PersistentVolumeLabel\" is unknown (Kubernetes has "
            "dropped it with v1.31)");
  flags.disable = {"PodTopologyLabels"};
  EXPECT_EQ(error(flags, 32), "disable-admission-plugins plugin \"PodTopologyLabels\" is unknown");
  EXPECT_EQ(error(flags, 33), "");
  flags = {};
  flags.admission_control = {"SecurityContextDeny"};
  EXPECT_EQ(
      error(flags, 30),
      "admission-control plugin \"SecurityContextDeny\" is unknown (Kubernetes has dropped it "
      "with v1.30)");
  EXPECT_EQ(error(flags, 29), "");
}

}  // namespace
}  // namespace portcullis::plugins
