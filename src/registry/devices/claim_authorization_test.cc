// SPDX-License-Identifier: Apache-2.0

// The refusals are those of a kube-apiserver 1.36 for users with these rights.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "authz/authorizer.h"
#include "base/clock.h"
#include "base/strings.h"
#include "json/reader.h"
#include "registry/devices/device_checks.h"
#include "registry/testing/kind_test.h"

namespace portcullis::registry {
namespace {

// Allows what is listed: "verb subresource namespace/name".
class Listed final : public authz::Authorizer {
 public:
  authz::Decision Authorize(const authz::Attributes& a) const override {
    const std::string asked = base::StrCat(a.verb, " ", a.subresource, " ", a.ns, "/", a.name);
    authz::Decision decision;
    if (allowed.contains(asked)) decision.verdict = authz::Verdict::kAllowed;
    return decision;
  }
  authz::Rules RulesFor(const api::UserInfo&, std::string_view) const override { return {}; }
  std::set<std::string> allowed;
};

constexpr std::string_view kAllocated =
    R"({"allocation":{"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name",
        "operator":"In","values":["n1"]}]}]}})";
constexpr std::string_view kDevice =
    R"(,"devices":[{"driver":"gpu.example.com","pool":"p","device":"d"}]})";

class ClaimAuthorization : public ::testing::Test {
 protected:
  std::string Errors(const std::string& status, const std::string& old) {
    Context context{arena_, resource_, kind_, "status", "a", "team", user_, base::SystemClock()};
    context.authorizer = &authorizer_;
    context.verb = "patch";
    api::FieldErrors errors;
    CheckMayWriteClaimStatus(context, json::Parse(arena_, status).value(),
                             json::Parse(arena_, old).value(), errors);
    return testing::TextOf(errors);
  }

  // Of a user that writes the status of a device of an allocated claim.
  std::string ErrorsOfDevice() {
    return Errors(base::StrCat(kAllocated, kDevice), base::StrCat(kAllocated, "}"));
  }

  json::Arena arena_;
  api::GroupVersionResource resource_{"resource.k8s.io", "v1", "resourceclaims"};
  api::GroupVersionKind kind_{"resource.k8s.io", "v1", "ResourceClaim"};
  api::UserInfo user_{"bob", "", {}, {}};
  Listed authorizer_;
};

TEST_F(ClaimAuthorization, AllocatingNeedsARightOfItsOwn) {
  EXPECT_EQ(Errors(base::StrCat(kAllocated, "}"), "{}"),
            "status.allocation: Forbidden: changing status.allocation or status.reservedFor "
            "requires resource=\"resourceclaims/binding\", verb=\"patch\" permission: "
            "resourceclaims.resource.k8s.io is forbidden: User \"bob\" cannot patch resource "
            "\"resourceclaims/binding\" in API group \"resource.k8s.io\" at the cluster scope\n");
  authorizer_.allowed = {"patch binding /"};
  EXPECT_EQ(Errors(base::StrCat(kAllocated, "}"), "{}"), "");
}

TEST_F(ClaimAuthorization, WritingADeviceNeedsARightForItsDriver) {
  EXPECT_EQ(ErrorsOfDevice(),
            "status.devices: Forbidden: changing status.devices requires "
            "resource=\"resourceclaims/driver\", verb=\"[arbitrary-node:patch]\" permission: "
            "resourceclaims.resource.k8s.io \"gpu.example.com\" is forbidden: User \"bob\" cannot "
            "arbitrary-node:patch resource \"resourceclaims/driver\" in API group "
            "\"resource.k8s.io\" in the namespace \"team\"\n");
  authorizer_.allowed = {"arbitrary-node:patch driver team/gpu.example.com"};
  EXPECT_EQ(ErrorsOfDevice(), "");
}

TEST_F(ClaimAuthorization, ServiceAccountsOnTheNodeNeedLess) {
  authorizer_.allowed = {"associated-node:patch driver team/gpu.example.com"};
  user_.extra = {{"authentication.kubernetes.io/node-name", {"n1"}}};
  EXPECT_NE(ErrorsOfDevice(), "") << "bob is no service account";
  user_.name = "system:serviceaccount:team:default";
  EXPECT_EQ(ErrorsOfDevice(), "");
  user_.extra = {{"authentication.kubernetes.io/node-name", {"n2"}}};
  EXPECT_NE(ErrorsOfDevice(), "");
}

TEST_F(ClaimAuthorization, WhatStaysNeedsNothing) {
  const std::string status = base::StrCat(kAllocated, kDevice);
  EXPECT_EQ(Errors(status, status), "");
  EXPECT_EQ(Errors("{}", "{}"), "");
}

}  // namespace
}  // namespace portcullis::registry
