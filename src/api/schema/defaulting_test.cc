#include <gtest/gtest.h>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "api/schema/defaulting.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::schema {
namespace {

class DefaultingTest : public ::testing::Test {
 protected:
  static std::string Default(std::string_view text) {
    json::Arena arena;
    const json::Value input = json::Parse(arena, text).value();
    const GroupVersion gv = ParseGroupVersion(input["apiVersion"].AsString()).value();
    const GroupVersionKind kind{gv.group, gv.version, std::string(input["kind"].AsString())};
    static const auto kCatalog = catalog::Catalog::BuiltIn({}).value();
    static const auto kDefaulter = Defaulter::BuiltIn().value();
    const Schema* schema = kCatalog->FindSchema(kind);
    if (schema == nullptr) return "no schema";
    const auto decoded = Decode(arena, *schema, input);
    if (!decoded.ok()) return decoded.status().message();
    const json::Value once = kDefaulter->Apply(arena, kind, *decoded);
    EXPECT_EQ(json::ToString(once), json::ToString(kDefaulter->Apply(arena, kind, once)));
    return json::ToString(once);
  }
};

TEST_F(DefaultingTest, FillsAWebhookConfiguration) {
  EXPECT_EQ(Default(R"({"apiVersion":"admissionregistration.k8s.io/v1",
      "kind":"ValidatingWebhookConfiguration","metadata":{"name":"w"},
      "webhooks":[{"name":"a.example","clientConfig":{"service":{"name":"s","namespace":"n"}},
      "rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],
      "resources":["pods"]}],"sideEffects":"None","admissionReviewVersions":["v1"]}]})"),
            R"({"kind":"ValidatingWebhookConfiguration",)"
            R"("apiVersion":"admissionregistration.k8s.io/v1","metadata":{"name":"w"},)"
            R"("webhooks":[{"name":"a.example","clientConfig":{"service":{"namespace":"n",)"
            R"("name":"s","port":443}},"rules":[{"operations":["CREATE"],"apiGroups":[""],)"
            R"("apiVersions":["v1"],"resources":["pods"],"scope":"*"}],"sideEffects":"None",)"
            R"("admissionReviewVersions":["v1"],"failurePolicy":"Fail",)"
            R"("matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},)"
            R"("timeoutSeconds":10}]})");
}

TEST_F(DefaultingTest, KeepsAnExplicitZeroOfAPointer) {
  const std::string text = Default(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},
          "spec":{"replicas":0,"strategy":{"type":"Recreate"}}})");
  EXPECT_NE(text.find(R"("replicas":0)"), std::string::npos) << text;
  EXPECT_EQ(text.find("rollingUpdate"), std::string::npos) << text;
}

}  // namespace
}  // namespace portcullis::api::schema
