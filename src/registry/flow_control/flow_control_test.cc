// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "registry/testing/kind_test.h"

namespace portcullis::registry {
namespace {

class FlowControl : public testing::KindTest {
 protected:
  std::string Errors(std::string_view resource, std::string_view spec) {
    return KindTest::Errors("flowcontrol.apiserver.k8s.io", resource,
                            base::StrCat(R"({"metadata":{"name":"a"},"spec":)", spec, "}"));
  }
};

TEST_F(FlowControl, RulesNameTheirSubjectsVerbsAndPaths) {
  EXPECT_EQ(
      Errors("flowschemas",
             R"({"matchingPrecedence":1000,"priorityLevelConfiguration":{"name":"a"},"rules":[
                       {"subjects":[{"kind":"ServiceAccount","serviceAccount":{"name":"*"}}],
                        "nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["x"]}]}]})"),
      "spec.rules[0].subjects[0].serviceAccount.namespace: Required value: must specify "
      "namespace for service account\n"
      "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"x\": must start "
      "with slash\n");
}

TEST_F(FlowControl, HandsAreDealtFromEnoughQueues) {
  EXPECT_EQ(Errors("prioritylevelconfigurations",
                   R"({"type":"Limited","limited":{"nominalConcurrencyShares":1,"limitResponse":{
                       "type":"Queue","queuing":{"queues":4,"handSize":5,"queueLengthLimit":1}}}})"),
            "spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be greater "
            "than queues (4)\n");
}

}  // namespace
}  // namespace portcullis::registry
