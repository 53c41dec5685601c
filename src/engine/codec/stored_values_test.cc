// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/stored_values.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/strings.h"

namespace portcullis::engine {
namespace {

class StoredValuesTest : public ::testing::Test {
 protected:
  // What the value becomes, or the error.
  std::string Read(const store::Key& key, std::string_view value) {
    return ReadWith(*values_, key, value);
  }
  std::string ReadWith(const StoredValues& values, const store::Key& key, std::string_view value) {
    const auto object = values.Read(key, value, converted_);
    return object.ok() ? object->bytes : object.status().message();
  }
  const std::shared_ptr<const StoredValues> values_ = *StoredValues::Make();
  bool converted_ = false;
};

constexpr store::Key kDefinition = {"apiextensions.k8s.io", "customresourcedefinitions", "",
                                    "as.b.c"};

TEST_F(StoredValuesTest, LeavesWhatThisServerWouldWrite) {
  EXPECT_EQ(
      Read({"", "configmaps", "n", "a"},
           R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"x":"1"}})"),
      R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":""},)"
      R"("data":{"x":"1"}})");
  EXPECT_FALSE(converted_);
}

TEST_F(StoredValuesTest, LeavesCustomResourcesToTheirDefinition) {
  EXPECT_EQ(
      Read({"b.c", "as", "n", "a"},
           R"({"apiVersion":"b.c/v7","kind":"A","metadata":{"name":"a"},"z":null})"),
      R"({"apiVersion":"b.c/v7","kind":"A","metadata":{"name":"a","resourceVersion":""},"z":null})");
  EXPECT_FALSE(converted_);
}

TEST_F(StoredValuesTest, FillsInDefaultsAsKubeApiserverDoesWhenItReads) {
  const std::string claim = Read(
      {"", "persistentvolumeclaims", "n", "a"},
      R"({"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"a"},"spec":{"accessModes":)"
      R"(["ReadWriteOnce"],"resources":{},"volumeMode":"Filesystem"},"status":{}})");
  EXPECT_TRUE(claim.ends_with(R"("status":{"phase":"Pending"}})")) << claim;
  EXPECT_TRUE(converted_);
}

TEST_F(StoredValuesTest, FillsInWhatServicesHadNotBefore120) {
  const auto spec_of = [this](std::string_view spec) {
    const std::string read =
        Read({"", "services", "n", "a"},
             base::StrCat(R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"a"},"spec":)",
                          spec, R"(,"status":{"loadBalancer":{}}})"));
    EXPECT_TRUE(converted_);
    const auto begin = read.find(R"("spec":)");
    const auto end = read.find(R"(,"status")");
    return begin == read.npos || end == read.npos ? read : read.substr(begin + 7, end - begin - 7);
  };
  EXPECT_EQ(spec_of(R"({"selector":{"a":"b"},"clusterIP":"10.0.0.7","type":"ClusterIP",)"
                    R"("sessionAffinity":"None"})"),
            R"({"selector":{"a":"b"},"clusterIP":"10.0.0.7","clusterIPs":["10.0.0.7"],)"
            R"("type":"ClusterIP","sessionAffinity":"None","ipFamilies":["IPv4"],)"
            R"("ipFamilyPolicy":"SingleStack","internalTrafficPolicy":"Cluster"})");
  EXPECT_EQ(spec_of(R"({"clusterIP":"fd00::7","type":"ClusterIP","sessionAffinity":"None"})"),
            R"({"clusterIP":"fd00::7","clusterIPs":["fd00::7"],"type":"ClusterIP",)"
            R"("sessionAffinity":"None","ipFamilies":["IPv6"],"ipFamilyPolicy":"SingleStack",)"
            R"("internalTrafficPolicy":"Cluster"})");
  EXPECT_EQ(spec_of(R"({"selector":{"a":"b"},"clusterIP":"None","type":"ClusterIP",)"
                    R"("sessionAffinity":"None"})"),
            R"({"selector":{"a":"b"},"clusterIP":"None","clusterIPs":["None"],"type":"ClusterIP",)"
            R"("sessionAffinity":"None","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack",)"
            R"("internalTrafficPolicy":"Cluster"})");
  EXPECT_EQ(spec_of(R"({"clusterIP":"None","type":"ClusterIP","sessionAffinity":"None"})"),
            R"({"clusterIP":"None","clusterIPs":["None"],"type":"ClusterIP",)"
            R"("sessionAffinity":"None","ipFamilies":["IPv4","IPv6"],)"
            R"("ipFamilyPolicy":"RequireDualStack","internalTrafficPolicy":"Cluster"})");
}

TEST_F(StoredValuesTest, GivesHeadlessServicesTheFirstFamilyOfTheCluster) {
  const auto values = *StoredValues::Make("IPv6");
  const std::string read =
      ReadWith(*values, {"", "services", "n", "a"},
               R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"a"},"spec":)"
               R"({"clusterIP":"None","type":"ClusterIP"},"status":{"loadBalancer":{}}})");
  EXPECT_NE(read.find(R"("ipFamilies":["IPv6","IPv4"])"), read.npos) << read;
}

// What answers do not show of it (hidden_fields.h).
TEST_F(StoredValuesTest, KeepsEmptyBundlesAndPoliciesOfServicesWithoutAddresses) {
  constexpr std::string_view kBundle = R"("clientConfig":{"url":"https://a","caBundle":""})";
  const std::string configuration =
      Read({"admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "a"},
           base::StrCat(R"({"kind":"ValidatingWebhookConfiguration",)"
                        R"("apiVersion":"admissionregistration.k8s.io/v1","metadata":{"name":"a"},)"
                        R"("webhooks":[{"name":"a.b.c",)",
                        kBundle, R"(,"sideEffects":"None","admissionReviewVersions":["v1"]}]})"));
  EXPECT_NE(configuration.find(kBundle), std::string::npos) << configuration;
  const std::string service = Read(
      {"", "services", "n", "a"},
      R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"a"},"spec":{"type":"ExternalName",)"
      R"("sessionAffinity":"None","externalName":"a.b","internalTrafficPolicy":"Cluster"},)"
      R"("status":{"loadBalancer":{}}})");
  EXPECT_NE(service.find(R"("internalTrafficPolicy":"Cluster")"), std::string::npos) << service;
  EXPECT_FALSE(converted_);
}

TEST_F(StoredValuesTest, ReadsDefinitionsOfV1beta1) {
  const std::string read = Read(
      kDefinition,
      R"({"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","metadata":{"name":)"
      R"("as.b.c"},"spec":{"group":"b.c","version":"v1","names":{"plural":"as","singular":"a","kind":"A",)"
      R"("listKind":"AList"},"scope":"Cluster","validation":{"openAPIV3Schema":{"type":"object"}},)"
      R"("subresources":{"status":{}},"versions":[{"name":"v1","served":true,"storage":true},{"name":"v2",)"
      R"("served":false,"storage":false}],"additionalPrinterColumns":[{"name":"X","type":"string",)"
      R"("JSONPath":".x"}],"conversion":{"strategy":"Webhook","webhookClientConfig":{"url":"https://x"},)"
      R"("conversionReviewVersions":["v1"]},"preserveUnknownFields":false},"status":{"conditions":null,)"
      R"("acceptedNames":{"plural":"","kind":""},"storedVersions":["v1"]}})");
  constexpr std::string_view kShared =
      R"("schema":{"openAPIV3Schema":{"type":"object"}},"subresources":{"status":{}},)"
      R"("additionalPrinterColumns":[{"name":"X","type":"string","jsonPath":".x"}]})";
  EXPECT_EQ(
      read,
      base::StrCat(
          R"({"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":)"
          R"({"name":"as.b.c","resourceVersion":""},"spec":{"group":"b.c","names":{"plural":"as",)"
          R"("singular":"a","kind":"A","listKind":"AList"},"scope":"Cluster","versions":[{"name":"v1",)"
          R"("served":true,"storage":true,)",
          kShared, R"(,{"name":"v2","served":false,"storage":false,)", kShared,
          R"(],"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"url":"https://x"},)"
          R"("conversionReviewVersions":["v1"]}}},"status":{"conditions":null,"acceptedNames":)"
          R"({"plural":"","kind":""},"storedVersions":["v1"]}})"));
  EXPECT_TRUE(converted_);
}

TEST_F(StoredValuesTest, ReadsVersionsThatAreNotServedAnyMore) {
  // An empty selector of v1beta1 selects nothing, one of v1 everything.
  const std::string budget =
      Read({"policy", "poddisruptionbudgets", "n", "a"},
           R"({"kind":"PodDisruptionBudget","apiVersion":"policy/v1beta1","metadata":{"name":"a"},)"
           R"("spec":{"minAvailable":1,"selector":{}},"status":{}})");
  EXPECT_TRUE(budget.starts_with(R"({"kind":"PodDisruptionBudget","apiVersion":"policy/v1",)"))
      << budget;
  EXPECT_NE(budget.find("deprecated-v1beta1-empty-selector-match\",\"operator\":\"Exists\""),
            std::string::npos)
      << budget;
  const std::string binding = Read(
      {"rbac.authorization.k8s.io", "clusterrolebindings", "", "a"},
      R"({"kind":"ClusterRoleBinding","apiVersion":"rbac.authorization.k8s.io/v1alpha1","metadata":{"name":)"
      R"("a"},"subjects":[{"kind":"User","apiVersion":"rbac.authorization.k8s.io/v1alpha1","name":"*"}],)"
      R"("roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"r"}})");
  EXPECT_NE(binding.find(R"("subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io",)"
                         R"("name":"system:authenticated"}])"),
            std::string::npos)
      << binding;
}

// As kube-apiserver 1.36 with --emulated-version=1.34, whose servers of 1.33 know no v1.
TEST_F(StoredValuesTest, KeepsTheVersionsOfAnEmulatedRelease) {
  const auto values = *StoredValues::Make("IPv4", 34);
  const store::Key key = {"storage.k8s.io", "volumeattributesclasses", "", "a"};
  const std::string newest =
      R"({"kind":"VolumeAttributesClass","apiVersion":"storage.k8s.io/v1","metadata":{"name":"a"},)"
      R"("driverName":"d"})";
  std::string value = newest;
  EXPECT_TRUE(values->ToEmulated(key, value));
  EXPECT_EQ(value, R"({"kind":"VolumeAttributesClass","apiVersion":"storage.k8s.io/v1beta1",)"
                   R"("metadata":{"name":"a"},"driverName":"d"})");
  bool converted = true;
  const auto read = values->Read(key, value, converted);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_FALSE(converted);
  EXPECT_NE(read->bytes.find(R"("apiVersion":"storage.k8s.io/v1",)"), std::string::npos);
  EXPECT_TRUE(values->Read(key, newest, converted).ok());
  EXPECT_TRUE(converted);
  EXPECT_FALSE(values->ToEmulated({"storage.k8s.io", "storageclasses", "", "a"}, value));
  EXPECT_FALSE(values_->ToEmulated(key, value));
}

TEST_F(StoredValuesTest, NamesWhatItCannotRead) {
  const store::Key key = {"", "configmaps", "n", "a"};
  EXPECT_NE(Read(key, "garbage").find("does not appear to be a protobuf message"),
            std::string::npos)
      << Read(key, "garbage");
  EXPECT_EQ(Read(key, R"({"kind":"Pod","apiVersion":"v1","metadata":{}})"),
            "no kind \"Pod\" is registered for version \"v1\"");
  EXPECT_NE(Read(key, "{\"kind\":"), "");
}

}  // namespace
}  // namespace portcullis::engine
