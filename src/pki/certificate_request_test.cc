// SPDX-License-Identifier: Apache-2.0

#include "pki/certificate_request.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace portcullis::pki {
namespace {

// Signed with the key in it, on the curve P-256.
constexpr std::string_view kSigned =
    "MIHFMG4CAQAwDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJpgSH/17/OO4DyKE89GHY3bcj"
    "MUR9qE6Z+zRhrr2WvCL1LS4pBelSKZS1MCIhyvXnu98LxnQKIcQYH5xKw3otqgADAKBggqhkjOPQQDAgNHADBEAiB7"
    "W8c8ZK000u8ipf9r30g11HbAPyMbWZcu80fE1UDuFgIgGjuFWcAZD7tDWWAJ4T8eszRcfee4hkg7PupD9Mni5Xg=";

TEST(CertificateRequestTest, KnowsWhoSigned) {
  std::string der = base::Base64Decode(kSigned).value_or("");
  EXPECT_EQ(RequestSignatureProblem(der), "");
  der.back() ^= 1;
  EXPECT_EQ(RequestSignatureProblem(der), "x509: ECDSA verification failure");
  EXPECT_EQ(RequestSignatureProblem("hello"), "asn1: structure error: tags don't match");
}

}  // namespace
}  // namespace portcullis::pki
