// SPDX-License-Identifier: Apache-2.0

#include "store/encryption/encryption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"

namespace portcullis::store {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kKey16 = "MTIzNDU2Nzg5MDEyMzQ1Ng==";
constexpr std::string_view kKey24 = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0";
constexpr std::string_view kKey32 = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
constexpr std::string_view kOther32 = "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXphYmNkZWY=";
constexpr std::string_view kPlace = "/registry/secrets/default/a";
constexpr Collection kSecrets{"", "secrets"};

using Kind = EncryptionProvider::Kind;

EncryptionProvider Keys(Kind kind,
                        const std::vector<std::pair<std::string, std::string_view>>& keys) {
  EncryptionProvider provider{kind, {}};
  for (const auto& [name, secret] : keys) {
    provider.keys.push_back({name, *base::Base64Decode(secret)});
  }
  return provider;
}

const EncryptionProvider kIdentity{Kind::kIdentity, {}};

// "secrets", "*.apps", as files name resources.
EncryptionRule Rule(const std::vector<std::string>& resources,
                    std::vector<EncryptionProvider> providers) {
  EncryptionRule rule{{}, std::move(providers)};
  for (const std::string& resource : resources) {
    const auto cut = base::Cut(resource, ".");
    rule.resources.push_back(
        {cut ? std::string(cut->second) : "", cut ? std::string(cut->first) : resource});
  }
  return rule;
}

std::shared_ptr<Encryption> Make(std::vector<EncryptionRule> rules,
                                 TransformationObserver observer = {}) {
  auto made = Encryption::Make({std::move(rules)}, std::move(observer));
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *made;
}

// Every provider with every key; plain values are read, too.
std::shared_ptr<Encryption> MakeAll() {
  return Make({Rule(
      {"secrets"},
      {kIdentity,
       Keys(Kind::kAesGcm, {{"k32", kOther32}, {"k16", kKey16}, {"k24", kKey24}, {"k32", kKey32}}),
       Keys(Kind::kAesCbc, {{"k16", kKey16}, {"k24", kKey24}, {"k32", kKey32}}),
       Keys(Kind::kSecretbox, {{"k32", kKey32}})})});
}

std::string ErrorOf(const Encryption& encryption, std::string_view stored,
                    const Collection& collection = kSecrets) {
  return encryption.FromStorage(collection, kPlace, stored).status().message();
}

// Written by kube-apiserver v1.36's own transformers, for kPlace.
struct Recorded {
  std::string_view key;
  std::string_view plain;
  std::string_view stored;  // in base64
};
constexpr Recorded kRecorded[] = {
    {"aesgcm/k16", R"({"kind":"Secret","a":1})",
     "azhzOmVuYzphZXNnY206djE6azE2OsK9lgrgvisq8y1Woi5uoR5vVCj/"
     "Tpdw30cwNxtammV3SVs3a+q5cjrTn2MIMUXTizc8ww=="},
    {"aesgcm/k16", R"(sixteen bytes ok)",
     "azhzOmVuYzphZXNnY206djE6azE2Os4IGhMzdo+DQkkNyuscQKpDm3Jz0ATb7YiSNNgx0qJizbne+JH8Clwym49s"},
    {"aesgcm/k16", "", "azhzOmVuYzphZXNnY206djE6azE2OhL4vzblSqq9pCGiDPEf+ZeqOk3w2CbhMv5ybu8="},
    {"aesgcm/k24", R"({"kind":"Secret","a":1})",
     "azhzOmVuYzphZXNnY206djE6azI0Ohm+dx6/"
     "EdJ3vNA5l6ycKCBzlY4Gsr5Ij8syj2dGvqUyIG2hZoLbCxW7lWmwTFVj45QR3w=="},
    {"aesgcm/k24", R"(sixteen bytes ok)",
     "azhzOmVuYzphZXNnY206djE6azI0OvaKhh0iN7IRC+wxxl/xKvTVBbfPjYtG6juWjLv9LZHgnO3emydSoi0w5wMs"},
    {"aesgcm/k24", "", "azhzOmVuYzphZXNnY206djE6azI0OsWhfb2o2O3q+6Np/Vx6B2yg1j9KWaSOjWb7+tQ="},
    {"aesgcm/k32", R"({"kind":"Secret","a":1})",
     "azhzOmVuYzphZXNnY206djE6azMyOmcViJy3p4oR0zmCYRd76JcuW5Vhc+k/qary64kpvmXxPMVTde/N/"
     "i6SZB4kIxaDY6otmg=="},
    {"aesgcm/k32", R"(sixteen bytes ok)",
     "azhzOmVuYzphZXNnY206djE6azMyOlslaTpQB32481+v+aJVOCusZgtpbVciw8U2DgeZqU3wWEUF/nkmWrcZrCQC"},
    {"aesgcm/k32", "", "azhzOmVuYzphZXNnY206djE6azMyOs6oSIXLwH7Wuo6GIz5Ntx8upYZJmTwutfbvCA4="},
    {"aescbc/k16", R"({"kind":"Secret","a":1})",
     "azhzOmVuYzphZXNjYmM6djE6azE2OlAJo+"
     "uPOawBJVA7yAwvtKFpZkUMWbUZbDuQINTzV7wyjl5DFvYpnWVktlTjDIxMtw=="},
    {"aescbc/k16", R"(sixteen bytes ok)",
     "azhzOmVuYzphZXNjYmM6djE6azE2OotxsWBEAqAEifCyiU8NA+CrVOJqjV+zaxO4arkVwuTx+qrokDq4Tt8D4T/"
     "Ly7D61A=="},
    {"aescbc/k16", "", "azhzOmVuYzphZXNjYmM6djE6azE2OtElN5yoOmjKRwNiJHV06IGJD/8jB1AHgEEv9cSC0scK"},
    {"aescbc/k24", R"({"kind":"Secret","a":1})",
     "azhzOmVuYzphZXNjYmM6djE6azI0OlUqbQ6PDHaGaXRrIyuOERJcuQz7+"
     "7BTjkLJfklNZjLqU275wcQN4whs5Y0xS4D7OQ=="},
    {"aescbc/k24", R"(sixteen bytes ok)",
     "azhzOmVuYzphZXNjYmM6djE6azI0OtO4haayOaMIRf+mD1WZ82K+"
     "Kym1HlUzPYDwldx0brJbebTU98AqeLdrChbe3PYIdg=="},
    {"aescbc/k24", "", "azhzOmVuYzphZXNjYmM6djE6azI0Omoyz9SVIlNFmM2dL/eLoHz52Dphod0dJGJHCHQisaWE"},
    {"aescbc/k32", R"({"kind":"Secret","a":1})",
     "azhzOmVuYzphZXNjYmM6djE6azMyOuSH7X6rZV7sr2P/vdV3m4MOukRRjUNJPM87W/"
     "khP65omXr2MPLPaBMwKB1bILIIkA=="},
    {"aescbc/k32", R"(sixteen bytes ok)",
     "azhzOmVuYzphZXNjYmM6djE6azMyOn0swokD7HzArGVQdwVLRCHUY9e8xiuk6NfwpET1GHv/"
     "4GzrLUvuOnS6jqiwY93LUw=="},
    {"aescbc/k32", "", "azhzOmVuYzphZXNjYmM6djE6azMyOgL6rrjTb2KKJV/PuVlqn9QlaqqBlMCypg74b19b3stn"},
    {"secretbox/k32", R"({"kind":"Secret","a":1})",
     "azhzOmVuYzpzZWNyZXRib3g6djE6azMyOrBuyAR4bFrv1oll3G1HqhPx45XVa2y2pyTvYl03AShYNhkrdNICXIWnY7BWK"
     "K8Syk7Xk9BMfraAdd04e860iw=="},
    {"secretbox/k32", R"(sixteen bytes ok)",
     "azhzOmVuYzpzZWNyZXRib3g6djE6azMyOldNlu4yD04koCeFp9nwBCeX4WnDwh60dBeai6l7vvt1ePGmIOgA3a+"
     "mVqCdVBNFSqyPwDpQK48b"},
    {"secretbox/k32", "",
     "azhzOmVuYzpzZWNyZXRib3g6djE6azMyOsIYswIZPmA5sVu3J/FSh5MSYa79ORmoktLy/0RF16XobfWnacNiSqs="},
};

TEST(EncryptionTest, ReadsWhatKubeApiserverHasWritten) {
  const auto encryption = MakeAll();
  for (const Recorded& recorded : kRecorded) {
    SCOPED_TRACE(recorded.key);
    const auto opened =
        encryption->FromStorage(kSecrets, kPlace, *base::Base64Decode(recorded.stored));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(opened->plain, recorded.plain);
    EXPECT_NE(opened->seal, kPlain);
  }
}

TEST(EncryptionTest, WritesWhatItReads) {
  const auto all = MakeAll();
  for (const auto& [kind, provider, name, key] :
       std::vector<std::tuple<Kind, std::string, std::string, std::string_view>>{
           {Kind::kAesGcm, "aesgcm", "k16", kKey16},
           {Kind::kAesGcm, "aesgcm", "k24", kKey24},
           {Kind::kAesGcm, "aesgcm", "k32", kKey32},
           {Kind::kAesCbc, "aescbc", "k16", kKey16},
           {Kind::kAesCbc, "aescbc", "k24", kKey24},
           {Kind::kAesCbc, "aescbc", "k32", kKey32},
           {Kind::kSecretbox, "secretbox", "k32", kKey32}}) {
    SCOPED_TRACE(provider + name);
    const auto writer = Make({Rule({"secrets"}, {Keys(kind, {{name, key}})})});
    for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 100000U}) {
      const std::string plain(size, 'x');
      const auto sealed = writer->ToStorage(kSecrets, kPlace, plain);
      ASSERT_TRUE(sealed.ok());
      EXPECT_THAT(sealed->bytes,
                  ::testing::StartsWith(base::StrCat("k8s:enc:", provider, ":v1:", name, ":")));
      if (size > 4) {
        EXPECT_EQ(sealed->bytes.find("xxxx"), std::string::npos);
      }
      EXPECT_NE(sealed->bytes, writer->ToStorage(kSecrets, kPlace, plain)->bytes);
      const auto opened = all->FromStorage(kSecrets, kPlace, sealed->bytes);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      EXPECT_EQ(opened->plain, plain);
    }
  }
}

TEST(EncryptionTest, SaysWhatKubeApiserverSaysOfValuesItCannotRead) {
  const auto all = MakeAll();
  const auto error = [&](std::string_view rest) {
    return ErrorOf(*all, base::StrCat("k8s:enc:", rest));
  };
  EXPECT_EQ(error(""), "no matching prefix found");
  EXPECT_EQ(error("kms:v1:k32:01234"), "no matching prefix found");
  EXPECT_EQ(error("aescbc:v1:"), "no matching key was found for the provided AES transformer");
  EXPECT_EQ(error("aesgcm:v1:nokey:0123456789abcdef"),
            "no matching key was found for the provided AES transformer");
  EXPECT_EQ(error("secretbox:v1:nokey:0123456789abcdef"),
            "no matching key was found for the provided Secretbox transformer");
  constexpr std::string_view kShort = "the stored data was shorter than the required size";
  EXPECT_EQ(error("aescbc:v1:k16:"), kShort);
  EXPECT_EQ(error("aesgcm:v1:k32:01234"), kShort);
  EXPECT_EQ(error("secretbox:v1:k32:0123456789abcdef"), kShort);
  EXPECT_EQ(error("aescbc:v1:k16:0123456789abcdefx"),
            "the stored data is not a multiple of the block size");
  EXPECT_EQ(error("aescbc:v1:k16:0123456789abcdef0123456789abcdef"),
            "invalid PKCS7 data (empty or not padded)");
  // kube-apiserver panics here.
  EXPECT_EQ(error("aescbc:v1:k16:0123456789abcdef"), "invalid PKCS7 data (empty or not padded)");
  EXPECT_EQ(error("aesgcm:v1:k16:0123456789abcdef"), "cipher: message authentication failed");
  EXPECT_EQ(error("secretbox:v1:k32:0123456789abcdef0123456789abcdef0123456789abcdef"),
            "output array was not large enough for encryption");
  EXPECT_EQ(ErrorOf(*all, "k8s:enc:aesgcm:v1:k32:01234", {"", "pods"}),
            "identity transformer tried to read encrypted data");
}

TEST(EncryptionTest, NamesEveryKeyThatFailed) {
  const auto encryption = Make({Rule(
      {"secrets"}, {Keys(Kind::kAesGcm, {{"a", kKey16}, {"a", kKey24}}),
                    Keys(Kind::kAesCbc, {{"b", kKey16}}), Keys(Kind::kAesCbc, {{"a", kKey16}})})});
  EXPECT_EQ(ErrorOf(*encryption, "k8s:enc:aesgcm:v1:a:0123456789abcdef0123456789abcdef"),
            "cipher: message authentication failed");
  EXPECT_EQ(ErrorOf(*encryption, "k8s:enc:aescbc:v1:a:0"),
            "[no matching key was found for the provided AES transformer, the stored data was "
            "shorter than the required size]");
}

TEST(EncryptionTest, BindsAesGcmToThePlaceOfTheObject) {
  const auto encryption = Make({Rule({"secrets"}, {Keys(Kind::kAesGcm, {{"a", kKey32}})})});
  const auto sealed = encryption->ToStorage(kSecrets, "/registry/secrets/default/b", "x");
  EXPECT_EQ(ErrorOf(*encryption, sealed->bytes), "cipher: message authentication failed");
}

TEST(EncryptionTest, PlainValuesNeedIdentity) {
  const auto strict = Make({Rule({"secrets"}, {Keys(Kind::kAesGcm, {{"a", kKey32}})})});
  EXPECT_EQ(ErrorOf(*strict, "{}"), "no matching prefix found");
  const auto lenient = Make({Rule({"secrets"}, {Keys(Kind::kAesGcm, {{"a", kKey32}}), kIdentity})});
  const auto opened = lenient->FromStorage(kSecrets, kPlace, "{}");
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->seal, kPlain);
  EXPECT_TRUE(lenient->IsStale(kSecrets, kPlain));
}

TEST(EncryptionTest, TheMostSpecificRuleCounts) {
  const auto encryption =
      Make({Rule({"events"}, {kIdentity}), Rule({"*."}, {Keys(Kind::kAesGcm, {{"core", kKey32}})}),
            Rule({"*.apps"}, {Keys(Kind::kAesCbc, {{"apps", kKey32}})}),
            Rule({"*.*"}, {Keys(Kind::kSecretbox, {{"all", kKey32}})})});
  EXPECT_FALSE(encryption->Encrypts({"", "events"}));
  EXPECT_TRUE(encryption->ToStorage({"", "secrets"}, "/x", "{}")
                  ->bytes.starts_with("k8s:enc:aesgcm:v1:core:"));
  EXPECT_TRUE(encryption->ToStorage({"apps", "deployments"}, "/x", "{}")
                  ->bytes.starts_with("k8s:enc:aescbc:v1:apps:"));
  EXPECT_TRUE(encryption->ToStorage({"example.com", "widgets"}, "/x", "{}")
                  ->bytes.starts_with("k8s:enc:secretbox:v1:all:"));
  EXPECT_EQ(encryption->ToStorage({"", "events"}, "/x", "{}")->bytes, "{}");
}

TEST(EncryptionTest, KnowsWhatIsStale) {
  const auto encryption = Make(
      {Rule({"secrets"}, {Keys(Kind::kAesGcm, {{"new", kOther32}, {"old", kKey32}}), kIdentity})});
  const auto old = Make({Rule({"secrets"}, {Keys(Kind::kAesGcm, {{"old", kKey32}})})});
  const auto stored = old->ToStorage(kSecrets, kPlace, "x");
  const auto opened = encryption->FromStorage(kSecrets, kPlace, stored->bytes);
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(encryption->IsStale(kSecrets, opened->seal));
  const auto fresh = encryption->ToStorage(kSecrets, kPlace, "x");
  EXPECT_FALSE(encryption->IsStale(kSecrets, fresh->seal));
  EXPECT_EQ(encryption->FromStorage(kSecrets, kPlace, fresh->bytes)->seal, fresh->seal);
  EXPECT_FALSE(encryption->IsStale({"", "pods"}, kPlain));
}

TEST(EncryptionTest, CountsTheStepsOfKubeApiserver) {
  std::vector<std::string> seen;
  const auto observer = [&](const Transformation& step) {
    seen.push_back(base::StrCat(step.resource, " ", step.type, " ", step.prefix, " ",
                                step.ok ? "OK" : "failed"));
  };
  const auto encryption = Make(
      {Rule({"secrets", "deployments.apps"}, {Keys(Kind::kAesGcm, {{"a", kKey32}}), kIdentity})},
      {observer, &base::SystemClock()});
  const auto sealed = encryption->ToStorage(kSecrets, kPlace, "x");
  (void)encryption->FromStorage(kSecrets, kPlace, sealed->bytes);
  (void)encryption->FromStorage({"apps", "deployments"}, kPlace, "{}");
  (void)encryption->FromStorage(kSecrets, kPlace, "k8s:enc:aesgcm:v1:b:");
  (void)encryption->FromStorage(kSecrets, kPlace, "k8s:enc:x");
  EXPECT_THAT(
      seen, ElementsAre("secrets to_storage a: OK", "secrets to_storage k8s:enc:aesgcm:v1: OK",
                        "secrets from_storage a: OK", "secrets from_storage k8s:enc:aesgcm:v1: OK",
                        "deployments.apps from_storage identity OK",
                        "secrets from_storage unknown failed",
                        "secrets from_storage k8s:enc:aesgcm:v1: failed",
                        "secrets from_storage unknown failed"));
}

TEST(EncryptionTest, IsGivenOtherKeysWhileItIsInUse) {
  const EncryptionConfig first{{Rule({"secrets"}, {Keys(Kind::kAesGcm, {{"a", kKey32}})})}};
  const auto made = Encryption::Make(first);
  ASSERT_TRUE(made.ok());
  Encryption& encryption = **made;
  const auto sealed = encryption.ToStorage(kSecrets, kPlace, "x");

  const EncryptionConfig other{
      {Rule({"secrets"}, {Keys(Kind::kAesGcm, {{"b", kOther32}, {"a", kKey32}})})}};
  ASSERT_TRUE(encryption.Set(other).ok());
  const auto opened = encryption.FromStorage(kSecrets, kPlace, sealed->bytes);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->seal, sealed->seal);
  EXPECT_TRUE(encryption.IsStale(kSecrets, opened->seal));

  const EncryptionConfig wrong{{Rule({"secrets"}, {Keys(Kind::kSecretbox, {{"c", kKey16}})})}};
  EXPECT_EQ(encryption.Set(wrong).message(), "expected key size 32 for secretbox provider, got 16");
  EXPECT_TRUE(encryption.FromStorage(kSecrets, kPlace, sealed->bytes).ok());

  ASSERT_TRUE(encryption.Set(first).ok());
  EXPECT_FALSE(encryption.IsStale(kSecrets, sealed->seal));
}

}  // namespace
}  // namespace portcullis::store
