// SPDX-License-Identifier: Apache-2.0

// ResourceClaims and ResourceSlices are judged as their v1, whatever version they come in.

#include <gtest/gtest.h>

#include <string>

#include "registry/testing/kind_test.h"

namespace portcullis::registry {
namespace {

class Devices : public testing::KindTest {
 protected:
  std::string Errors(std::string_view resource, std::string_view object) {
    return KindTest::Errors("resource.k8s.io", resource, object);
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

}  // namespace
}  // namespace portcullis::registry
