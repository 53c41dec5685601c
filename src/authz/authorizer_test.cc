// SPDX-License-Identifier: Apache-2.0

#include "authz/authorizer.h"

#include <gtest/gtest.h>

#include "authz/modes.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::authz {
namespace {

const api::UserInfo kJoe{"joe", "", {"system:authenticated"}, {}};

TEST(Denied, NamesResourceGroupAndPlace) {
  Attributes a;
  a.user = &kJoe;
  a.verb = "get";
  a.group = "apps";
  a.resource = "deployments";
  a.subresource = "scale";
  a.name = "d";
  EXPECT_EQ(Denied(a, "").message(),
            R"(deployments.apps "d" is forbidden: User "joe" cannot get resource )"
            R"("deployments/scale" in API group "apps" at the cluster scope)");
  a.resource_request = false;
  a.resource = a.group = a.name = {};
  a.path = "/<x>";
  EXPECT_EQ(Denied(a, "no").message(), R"(forbidden: User "joe" cannot get path "/&lt;x&gt;": no)");
}

TEST(Modes, DenyEverybodyButMasters) {
  auto store = store::OpenMemory();
  auto assembled = Assemble({{"AlwaysDeny"}}, *store);
  ASSERT_TRUE(assembled.ok());
  Attributes a;
  a.user = &kJoe;
  EXPECT_EQ(assembled->authorizer->Authorize(a).reason, "Everything is forbidden.");
  const api::UserInfo master{"m", "", {"system:masters"}, {}};
  a.user = &master;
  EXPECT_TRUE(assembled->authorizer->Authorize(a).allowed());
}

}  // namespace
}  // namespace portcullis::authz
