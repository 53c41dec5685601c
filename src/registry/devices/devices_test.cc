// SPDX-License-Identifier: Apache-2.0

// ResourceClaims and ResourceSlices are judged as their v1, whatever version they come in.

#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "registry/testing/kind_test.h"

namespace portcullis::registry {
namespace {

class Devices : public testing::KindTest {
 protected:
  std::string Errors(std::string_view resource, std::string_view object) {
    return KindTest::Errors("resource.k8s.io", resource, object);
  }

  std::size_t ErrorsOfUpdate(std::string_view resource, std::string_view object,
                             std::string_view old) {
    const DefaultStrategy strategy(*KindTable::BuiltIn().Find("resource.k8s.io", resource));
    api::FieldErrors errors;
    strategy.ValidateUpdate(ContextOf(), Parse(object), Parse(old), errors);
    return errors.size();
  }
};

TEST_F(Devices, RequestsOfV1beta1AreExactOnes) {
  constexpr std::string_view kClaim =
      R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceClaim","spec":{"devices":
          {"requests":[{"name":"r","deviceClassName":"c.example","allocationMode":"ExactCount",
           "count":1}]}}})";
  EXPECT_EQ(Errors("resourceclaims", kClaim), "");
}

TEST_F(Devices, ErrorsOfV1beta1NameTheFieldsOfV1) {
  constexpr std::string_view kClaim =
      R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceClaim","spec":{"devices":
          {"requests":[{"name":"r","deviceClassName":"C_","allocationMode":"ExactCount",
           "count":1}]}}})";
  const std::string errors = Errors("resourceclaims", kClaim);
  EXPECT_TRUE(errors.starts_with("spec.devices.requests[0].exactly.deviceClassName: Invalid value"))
      << errors;
}

TEST_F(Devices, DevicesOfV1beta1AreBelowBasic) {
  constexpr std::string_view kSlice =
      R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceSlice","spec":{"driver":"d.example",
          "pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":
          [{"name":"d","basic":{"attributes":{"a":{"int":1,"string":"b"}}}}]}})";
  const std::string errors = Errors("resourceslices", kSlice);
  EXPECT_TRUE(errors.starts_with("spec.devices[0].attributes[a]: Invalid value")) << errors;
}

TEST_F(Devices, ParametersInAnotherOrderAreAChange) {
  const auto claim = [](std::string_view parameters, std::string_view labels) {
    return base::StrCat(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate",
        "spec":{"metadata":{"labels":)",
                        labels, R"(},"spec":{"devices":{"config":[{"opaque":{"driver":"d.example",
        "parameters":)",
                        parameters, "}}]}}}}");
  };
  const std::string old = claim(R"({"a":1,"b":[]})", R"({"x":"1","y":"2"})");
  const auto errors = [&](const std::string& object) {
    return ErrorsOfUpdate("resourceclaimtemplates", object, old);
  };
  EXPECT_EQ(errors(old), 0U);
  EXPECT_EQ(errors(claim(R"({"a":1,"b":[]})", R"({"y":"2","x":"1"})")), 0U);
  EXPECT_EQ(errors(claim(R"({"b":[],"a":1})", R"({"x":"1","y":"2"})")), 1U);
  EXPECT_EQ(errors(claim(R"({"a":1})", R"({"x":"1","y":"2"})")), 1U);
}

}  // namespace
}  // namespace portcullis::registry
