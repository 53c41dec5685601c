// SPDX-License-Identifier: Apache-2.0

#include "pki/public_key.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "pki/certificate_request.h"

namespace portcullis::pki {
namespace {

constexpr std::string_view kSigned = "11111111-1111-4111-8111-111111111111";
constexpr std::string_view kEdKey = "MCowBQYDK2VwAyEA3YZ5N3YGoXkYTXcNsQ6nbxzcMerWJftx1bjgjHSe630=";
constexpr std::string_view kEdProof =
    "Ws41sNlay+Y7pZba86r5TlrM6k67mPYO8eLOdkc8k3NHb3wO6PEZfgiJCbLAwXJUBXSm/jomk9TsgY+7U4LZCA==";
constexpr std::string_view kEcKey =
    "MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQBd5uz2LriOET/8WlSTlLhrIf/h8O/dtNtUmgZTX7cXOjOJPu+7MMp"
    "P+6ak/svmDmcA8s3S03rhv7geE9oJDfUZDoBzapwGY7lwMeCLXPqRyyHNH+yV5DUyzeiZ2XGa2vgFe/LP2y34q85"
    "ZACzKS2ZiEqkej79DlHZQf0AaDAD7zJYcM8=";
constexpr std::string_view kEcProof =
    "MIGIAkIAtvYUA5/QT+JJ69INEKIoqWUEF4FExRC03NpJ4QhILGsJJww/cOpcrMdIlRSJZJE3DLKYghRGNqQJE2E9"
    "xrEDytoCQgDRGbMcdf08hSX2w6X9WPsBB6b0MN+3cQTz29GDmFOi6P3yxoiYVmv6bQuL2u/GMOsvlaStpSfdXba8"
    "fBM3VZaFFQ==";
constexpr std::string_view kRequest =
    "MIG6MGICAQAwADBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDcKJ6RemGJaNw5CFwNSBgtxEbwsXgyITJdlfg9L"
    "brxBC0Mi+6SjstTk8gpK5h4ywonyJobOxVdK8DLt83+ld4egADAKBggqhkjOPQQDAgNIADBFAiAFjvGerhhYx5GM"
    "J6bpv2Gk49Gfe53u9C/h1GmFaOlU8gIhAPB9FQduAqQFCAcRUNNMUYVlG69mafyZFAATuLdpPNJo";

std::string Der(std::string_view text) { return base::Base64Decode(text).value_or(""); }

TEST(PublicKeyTest, KnowsItsKind) {
  const auto ed = ReadPublicKey(Der(kEdKey));
  ASSERT_TRUE(ed);
  EXPECT_EQ(ed->kind, KeyKind::kEd25519);
  const auto ec = ReadPublicKey(Der(kEcKey));
  ASSERT_TRUE(ec);
  EXPECT_EQ(ec->kind, KeyKind::kEcdsa);
  EXPECT_EQ(ec->curve, "P-521");
  EXPECT_FALSE(ReadPublicKey("hello"));
  EXPECT_FALSE(ReadPublicKey(Der(kEdKey).substr(1)));
}

TEST(PublicKeyTest, ProvesPossession) {
  EXPECT_TRUE(IsSignedBy(Der(kEdKey), kSigned, Der(kEdProof)));
  EXPECT_TRUE(IsSignedBy(Der(kEcKey), kSigned, Der(kEcProof)));
  EXPECT_FALSE(IsSignedBy(Der(kEcKey), kSigned, Der(kEdProof)));
  EXPECT_FALSE(IsSignedBy(Der(kEdKey), "other", Der(kEdProof)));
  EXPECT_FALSE(IsSignedBy("", kSigned, Der(kEdProof)));
}

TEST(PublicKeyTest, IsThatOfARequest) {
  const auto request = ParseCertificateRequest(Der(kRequest));
  ASSERT_TRUE(request.ok());
  const std::string& key = request->public_key;
  EXPECT_EQ(ReadPublicKey(key)->curve, "P-256");
  EXPECT_TRUE(IsSameKey(key, key));
  EXPECT_FALSE(IsSameKey(key, Der(kEcKey)));
}

}  // namespace
}  // namespace portcullis::pki
