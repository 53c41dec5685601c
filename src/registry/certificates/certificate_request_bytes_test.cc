// SPDX-License-Identifier: Apache-2.0

#include "registry/certificates/certificate_request_bytes.h"

#include <gtest/gtest.h>

namespace portcullis::registry {
namespace {

std::string Problem(std::string_view bytes) { return CertificateRequestProblem(bytes); }

TEST(CertificateRequestBytesTest, SaysWhatGoSays) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(Problem(""), "asn1: syntax error: sequence truncated");
  EXPECT_EQ(Problem("\x30"), "asn1: syntax error: truncated tag or length");
  EXPECT_EQ(Problem("\x30\x00"sv), "asn1: syntax error: sequence truncated");
  EXPECT_EQ(Problem("\x30\x82\x01\x00\x01"sv), "asn1: syntax error: data truncated");
  EXPECT_EQ(Problem("\x30\x80"), "asn1: syntax error: indefinite length found (not DER)");
  EXPECT_EQ(Problem("\x02\x01\x00"sv),
            "asn1: structure error: tags don't match (16 vs {class:0 tag:2 length:1 "
            "isCompound:false}) {optional:false explicit:false application:false private:false "
            "defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} "
            "certificateRequest @2");
  EXPECT_EQ(Problem("\x30\x02\x30\x00+"sv), "asn1: syntax error: trailing data");
  EXPECT_EQ(Problem("\x30\x02\x30\x00"sv), "");
}

}  // namespace
}  // namespace portcullis::registry
