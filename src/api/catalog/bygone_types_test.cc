// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/bygone_types.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "api/catalog/bygone_kinds.h"
#include "api/catalog/catalog.h"
#include "base/strings.h"

namespace portcullis::api::catalog {
namespace {

TEST(BygoneTypes, AreThoseOfLaterVersionsButForSomeFields) {
  const auto catalog = *Catalog::BuiltIn({});
  constexpr std::pair<const char*, const char*> kFields[] = {
      {"spec/versions/schema/openAPIV3Schema/items", "v1beta1.JSONSchemaPropsOrArray"},
      {"spec/conversion/webhookClientConfig/service", "v1beta1.ServiceReference"},
      {"spec/validation", "v1beta1.CustomResourceValidation"},
      {"spec/additionalPrinterColumns/JSONPath", "string"},
      {"metadata", "v1.ObjectMeta"}};
  const GroupVersionKind old{"apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition"};
  EXPECT_EQ(catalog->FindSchema(old), nullptr);
  const schema::Schema* schema = FindReadable(*catalog, old);
  ASSERT_NE(schema, nullptr);
  for (const auto& [path, type] : kFields) {
    const schema::Schema* node = schema;
    for (const std::string_view step : base::Split(path, '/')) {
      node = node == nullptr ? nullptr : schema::FindSchema(*node, {step});
    }
    ASSERT_NE(node, nullptr) << path;
    EXPECT_EQ(node->go_type, type) << path;
  }
  EXPECT_EQ(schema::FindSchema(*schema, {"spec", "conversion", "webhook"}), nullptr);
  // All that the table names is there.
  for (const BygoneKinds& row : kBygoneKinds) {
    for (const std::string_view kind : base::Split(row.kinds, ' ')) {
      const GroupVersionKind name{std::string(row.group), std::string(row.version),
                                  std::string(kind)};
      EXPECT_EQ(FindReadable(*catalog, name) != nullptr, !row.later.empty()) << name.ToString();
    }
  }
  for (const BygoneField& row : kBygoneFields) {
    EXPECT_TRUE(!row.field.empty() || !row.like.empty()) << row.type;
  }
}

// What a kube-apiserver 1.36 calls the types of fields when their values are of a wrong one.
TEST(BygoneTypes, OfTextsAreThoseOfTheVersionToo) {
  const auto catalog = *Catalog::BuiltIn({});
  const struct {
    GroupVersionKind kind;
    std::string_view path;
    std::string_view type;
  } facts[] = {
      {{"discovery.k8s.io", "v1beta1", "EndpointSlice"}, "addressType", "v1beta1.AddressType"},
      {{"discovery.k8s.io", "v1beta1", "EndpointSlice"}, "ports/protocol", "v1.Protocol"},
      {{"scheduling.k8s.io", "v1beta1", "PriorityClass"},
       "preemptionPolicy",
       "v1.PreemptionPolicy"},
      {{"apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition"},
       "spec/scope",
       "v1beta1.ResourceScope"},
      {{"apps", "v1beta1", "StatefulSet"},
       "spec/podManagementPolicy",
       "v1beta1.PodManagementPolicyType"},
      {{"apps", "v1beta2", "DaemonSet"},
       "status/conditions/type",
       "v1beta2.DaemonSetConditionType"},
      {{"apps", "v1", "StatefulSet"}, "spec/podManagementPolicy", "v1.PodManagementPolicyType"},
      {{"extensions", "v1beta1", "NetworkPolicy"}, "spec/policyTypes", "[]v1beta1.PolicyType"},
      {{"extensions", "v1beta1", "NetworkPolicy"}, "spec/ingress/ports/protocol", "v1.Protocol"},
      {{"batch", "v1beta1", "CronJob"}, "spec/jobTemplate", "v1beta1.JobTemplateSpec"},
      {{"batch", "v1beta1", "CronJob"}, "spec/jobTemplate/spec", "v1.JobSpec"},
      {{"policy", "v1beta1", "PodDisruptionBudgetList"},
       "items/spec",
       "v1beta1.PodDisruptionBudgetSpec"},
      {{"", "v1", "List"}, "items", "[]runtime.RawExtension"}};
  for (const auto& fact : facts) {
    const schema::Schema* node = FindReadable(*catalog, fact.kind);
    for (const std::string_view step : base::Split(fact.path, '/')) {
      node = node == nullptr ? nullptr : schema::FindSchema(*node, {step});
    }
    ASSERT_NE(node, nullptr) << fact.path;
    EXPECT_EQ(node->go_type, fact.type) << fact.path;
  }
}

}  // namespace
}  // namespace portcullis::api::catalog
