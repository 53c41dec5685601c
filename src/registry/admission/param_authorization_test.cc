// SPDX-License-Identifier: Apache-2.0

#include "registry/admission/param_authorization.h"

#include <gtest/gtest.h>

#include "api/catalog/catalog.h"
#include "authz/authorizer.h"
#include "base/strings.h"
#include "json/reader.h"
#include "store/memory/memory_store.h"

namespace portcullis::registry {
namespace {

// Allows nothing and remembers the question.
class Refusing final : public authz::Authorizer {
 public:
  authz::Decision Authorize(const authz::Attributes& a) const override {
    asked =
        base::StrCat(a.verb, " ", a.group, "/", a.version, "/", a.resource, " ", a.ns, "/", a.name);
    return {};
  }
  authz::Rules RulesFor(const api::UserInfo&, std::string_view) const override { return {}; }
  mutable std::string asked;
};

class ParamAuthorizationTest : public ::testing::Test {
 protected:
  Context MakeContext() {
    Context context{arena_, resource_, kind_, "", "x", "", user_, base::SystemClock()};
    context.authorizer = &authorizer_;
    context.catalog = catalog_.get();
    context.reader = store_.get();
    return context;
  }
  void Store(std::string_view resource, std::string_view name, std::string_view param_kind) {
    store::Encoded encoded;
    encoded.bytes = base::StrCat(R"({"metadata":{"name":")", name,
                                 R"(","resourceVersion":""},"spec":{)", param_kind, "}}");
    encoded.revision_at = encoded.bytes.find(R"("resourceVersion":")") + 19;
    ASSERT_TRUE(
        store_->Create({"admissionregistration.k8s.io", resource, "", name}, std::move(encoded))
            .ok());
  }
  std::string RefError(std::string_view text, PolicyKind kind) {
    api::FieldErrors errors;
    AuthorizeParamRef(MakeContext(), json::Parse(arena_, text).value(), kind, errors);
    return errors.empty() ? "" : errors[0].ToString();
  }

  json::Arena arena_;
  api::GroupVersionResource resource_;
  api::GroupVersionKind kind_;
  api::UserInfo user_{"alice", "42", {"devs", "ops"}, {{"scope", {"a", "b"}}}};
  Refusing authorizer_;
  std::shared_ptr<const api::catalog::Catalog> catalog_ =
      api::catalog::Catalog::BuiltIn({}).value();
  std::unique_ptr<store::Store> store_ = store::OpenMemory();
};

TEST_F(ParamAuthorizationTest, PrintsUsersAsGoDoes) {
  EXPECT_EQ(GoUserText(user_), "&{alice 42 [devs ops] map[scope:[a b]]}");
  EXPECT_EQ(GoUserText(api::UserInfo()), "&{  [] map[]}");
}

TEST_F(ParamAuthorizationTest, PolicyNeedsAllObjectsOfItsParamKind) {
  const json::Value policy =
      json::Parse(arena_, R"({"spec":{"paramKind":{"apiVersion":"v1","kind":"ConfigMap"}}})")
          .value();
  api::FieldErrors errors;
  AuthorizeParamKind(MakeContext(), policy, {}, errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].ToString(),
            "spec.paramKind: Forbidden: user &{alice 42 [devs ops] map[scope:[a b]]} must have "
            "\"get\" permission on all objects of the referenced paramKind (kind=ConfigMap, "
            "apiVersion=v1)");
  EXPECT_EQ(authorizer_.asked, "get /v1/configmaps */*");

  errors.clear();
  AuthorizeParamKind(MakeContext(), policy, policy, errors);  // has not changed
  user_.groups = {std::string(api::kGroupMasters)};
  AuthorizeParamKind(MakeContext(), policy, {}, errors);
  EXPECT_TRUE(errors.empty());
}

TEST_F(ParamAuthorizationTest, BindingNeedsWhatItRefersTo) {
  Store("validatingadmissionpolicies", "p",
        R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"})");
  Store("validatingadmissionpolicies", "unknown",
        R"("paramKind":{"apiVersion":"example.com/v1","kind":"Foo"})");
  const std::string user = "&{alice 42 [devs ops] map[scope:[a b]]}";
  EXPECT_EQ(RefError(R"({"spec":{"policyName":"p","paramRef":{"name":"c","namespace":"n"}}})",
                     PolicyKind::kValidating),
            "spec.paramRef: Forbidden: user " + user +
                " does not have \"get\" permission on the object referenced by paramRef");
  EXPECT_EQ(authorizer_.asked, "get /v1/configmaps n/c");
  EXPECT_EQ(RefError(R"({"spec":{"policyName":"unknown","paramRef":{"selector":{}}}})",
                     PolicyKind::kValidating),
            "spec.paramRef: Forbidden: unable to resolve paramKind Foo to determine minimum "
            "required permissions and user " +
                user + " does not have \"list\" permission for all groups, versions and resources");
  EXPECT_EQ(authorizer_.asked, "list example.com/v1/* /");
  EXPECT_EQ(
      RefError(R"({"spec":{"policyName":"gone","paramRef":{"name":"c"}}})", PolicyKind::kMutating),
      "spec.paramRef: Forbidden: unable to get policy gone to determine minimum required "
      "permissions and user get does not have \"" +
          user + "\" permission for all groups, versions and resources");
  EXPECT_EQ(authorizer_.asked, "get */*/* /c");
  EXPECT_EQ(RefError(R"({"spec":{"policyName":"p"}})", PolicyKind::kValidating), "");
}

}  // namespace
}  // namespace portcullis::registry
