// SPDX-License-Identifier: Apache-2.0

#include "server/encryption/encryption_file.h"

#include <gtest/gtest.h>

#define HEAD "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\n"

namespace portcullis::server {
namespace {

// What kube-apiserver v1.36 says of these files, recorded from its LoadEncryptionConfig. Where it
// prints the secret of a key, REDACTED stands here.
struct Recorded {
  std::string_view name;
  std::string_view text;
  std::string_view error;
};
constexpr Recorded kRecorded[] = {
    {"nothing", HEAD R"()",
     "error while parsing file: resources: Required value: at least one resources is "
     "required"},
    {"unknown", HEAD R"(resources: []
more: 1
)",
     "error while parsing file: error decoding encryption provider configuration file "
     "\"c.yaml\": strict decoding error: unknown field \"more\""},
    {"norule", HEAD R"(resources:
- resources: []
  providers: []
)",
     "error while parsing file: [resources[0].resources: Required value: at least one "
     "resources[0].resources is required, resources[0].providers: Required value: at "
     "least one resources[0].providers is required]"},
    {"null", HEAD R"(resources:
- null
)",
     "error while parsing file: [resources[0].resources: Required value: at least one "
     "resources[0].resources is required, resources[0].providers: Required value: at "
     "least one resources[0].providers is required]"},
    {"noprov", HEAD R"(resources:
- resources: [secrets]
  providers:
  - {}
)",
     "error while parsing file: resources[0].providers[0]: Invalid value: "
     "{\"AESGCM\":null,\"AESCBC\":null,\"Secretbox\":null,\"Identity\":null,\"KMS\":null}: "
     "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, "
     "Secretbox, Identity"},
    {"two", HEAD R"(resources:
- resources: [secrets]
  providers:
  - aescbc: {keys: [{name: a, secret: MTIzNDU2Nzg5MDEyMzQ1Ng==}]}
    identity: {}
    kms: {name: x, endpoint: 'unix:///x'}
)",
     "error while parsing file: resources[0].providers[0]: Invalid value: "
     "{\"AESGCM\":null,\"AESCBC\":{\"Keys\":[{\"Name\":\"a\",\"Secret\":\"REDACTED\"}]},"
     "\"Secretbox\":null,\"Identity\":{},\"KMS\":{\"APIVersion\":\"v1\",\"Name\":\"x\","
     "\"CacheSize\":1000,\"Endpoint\":\"unix:///x\",\"Timeout\":\"3s\"}}: "
     "more than one provider specified in a single element, should split into different "
     "list elements"},
    {"keys", HEAD R"(resources:
- resources: [secrets]
  providers:
  - aescbc: {}
  - aesgcm: {keys: [{}, {name: a, secret: '*'}, {name: b, secret: YQ==}]}
  - secretbox: {keys: [{name: a, secret: MTIzNDU2Nzg5MDEyMzQ1Ng==}]}
)",
     "error while parsing file: [resources[0].providers[0].aescbc.keys: Required value: "
     "at least one keys is required, resources[0].providers[1].aesgcm.keys[0].name: "
     "Required value: name is a mandatory field for a key, "
     "resources[0].providers[1].aesgcm.keys[0].secret: Required value: secret is a "
     "mandatory field for a key, resources[0].providers[1].aesgcm.keys[1].secret: "
     "Invalid value: \"REDACTED\": secrets must be base64 encoded, "
     "resources[0].providers[1].aesgcm.keys[2].secret: Invalid value: \"REDACTED\": "
     "secret is not of the expected length, got 1, expected one of [16 24 32], "
     "resources[0].providers[2].secretbox.keys[0].secret: Invalid value: \"REDACTED\": "
     "secret is not of the expected length, got 16, expected one of [32]]"},
    {"names", HEAD R"(resources:
- resources: [Secrets, '*', apiserveripinfo, serviceipallocations, servicenodeportallocations, events.events.k8s.io, ingresses.extensions, 'pods.*']
  providers: [{identity: {}}]
)",
     "error while parsing file: [resources[0].resources: Invalid value: "
     "[\"Secrets\",\"*\",\"apiserveripinfo\",\"serviceipallocations\","
     "\"servicenodeportallocations\",\"events.events.k8s.io\",\"ingresses.extensions\",\"pods.*\"]:"
     " "
     "using overlapping resources such as 'secrets' and '*.' in the same resource list "
     "is not allowed as they will be masked, resources[0].resources[0]: Invalid value: "
     "\"Secrets\": resource name should not contain capital letters, "
     "resources[0].resources[1]: Invalid value: \"*\": use '*.' to encrypt all the "
     "resources from core API group or *.* to encrypt all resources, "
     "resources[0].resources[2]: Invalid value: \"apiserveripinfo\": resources which do "
     "not have REST API/s cannot be encrypted, resources[0].resources[3]: Invalid "
     "value: \"serviceipallocations\": resources which do not have REST API/s cannot be "
     "encrypted, resources[0].resources[4]: Invalid value: "
     "\"servicenodeportallocations\": resources which do not have REST API/s cannot be "
     "encrypted, resources[0].resources[5]: Invalid value: \"events.events.k8s.io\": "
     "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use "
     "'events' instead in the config file, resources[0].resources[6]: Invalid value: "
     "\"ingresses.extensions\": 'extensions' group has been removed and cannot be used "
     "for encryption, resources[0].resources[7]: Invalid value: \"pods.*\": encrypting "
     "the same resource across groups is not supported]"},
    {"overlap", HEAD R"(resources:
- resources: [secrets, secrets, '*.', '*.*']
  providers: [{identity: {}}]
)",
     "error while parsing file: [resources[0].resources: Invalid value: "
     "[\"secrets\",\"secrets\",\"*.\",\"*.*\"]: the same resource cannot be specified "
     "multiple times, resources[0].resources: Invalid value: "
     "[\"secrets\",\"secrets\",\"*.\",\"*.*\"]: using overlapping resources such as "
     "'secrets' and '*.' in the same resource list is not allowed as they will be "
     "masked]"},
    {"overlap2", HEAD R"(resources:
- resources: ['*.', '*.']
  providers: [{identity: {}}]
)",
     "error while parsing file: [resources[0].resources: Invalid value: "
     "[\"*.\",\"*.\"]: the same resource cannot be specified multiple times, "
     "resources[0].resources: Invalid value: [\"*.\",\"*.\"]: using overlapping "
     "resources such as 'secrets' and '*.' in the same resource list is not allowed as "
     "they will be masked]"},
    {"masked", HEAD R"(resources:
- resources: ['*.']
  providers: [{identity: {}}]
- resources: [secrets]
  providers: [{identity: {}}]
)",
     "error while building transformers: resource \"secrets\" is masked by earlier rule "
     "\"*.\""},
    {"masked2", HEAD R"(resources:
- resources: ['*.*']
  providers: [{identity: {}}]
- resources: ['*.']
  providers: [{identity: {}}]
)",
     "error while building transformers: resource \"*.\" is masked by earlier rule "
     "\"*.*\""},
    {"masked3", HEAD R"(resources:
- resources: ['*.apps']
  providers: [{identity: {}}]
- resources: [deployments.apps]
  providers: [{identity: {}}]
)",
     "error while building transformers: resource \"deployments.apps\" is masked by "
     "earlier rule \"*.apps\""},
    {"kms", HEAD R"(resources:
- resources: [secrets]
  providers:
  - kms: {}
  - kms: {apiVersion: v2, name: 'a:b', cachesize: 3, endpoint: 'tcp://a', timeout: -1s}
  - kms: {apiVersion: v3, name: 'a:b', endpoint: '%zz', timeout: 0s}
  - kms: {apiVersion: v1, name: 'a', endpoint: 'unix:///a', cachesize: 0}
)",
     "error while parsing file: [resources[0].providers[0].kms.name: Required value: "
     "name is a mandatory field for a provider, resources[0].providers[0].kms.endpoint: "
     "Invalid value: \"\": endpoint is a mandatory field for a kms, "
     "resources[0].providers[1].kms.name: Invalid value: \"a:b\": invalid KMS provider "
     "name a:b, must not contain ':', resources[0].providers[1].kms.timeout: Invalid "
     "value: \"-1s\": timeout should be a positive value, "
     "resources[0].providers[1].kms.endpoint: Invalid value: \"tcp://a\": unsupported "
     "scheme \"tcp\" for KMS provider, only unix is supported, "
     "resources[0].providers[1].kms.cachesize: Invalid value: 3: cachesize is not "
     "supported in v2, resources[0].providers[2].kms.name: Invalid value: \"a:b\": "
     "invalid KMS provider name a:b, must not contain ':', "
     "resources[0].providers[2].kms.name: Invalid value: \"a:b\": duplicate KMS "
     "provider name a:b, names must be unique, resources[0].providers[2].kms.timeout: "
     "Invalid value: \"0s\": timeout should be a positive value, "
     "resources[0].providers[2].kms.endpoint: Invalid value: \"%zz\": invalid endpoint "
     "for kms provider, error: parse \"%zz\": invalid URL escape \"%zz\", "
     "resources[0].providers[2].kms.apiVersion: Invalid value: \"v3\": unsupported "
     "apiVersion apiVersion for KMS provider, only v1 and v2 are supported, "
     "resources[0].providers[3].kms.cachesize: Invalid value: 0: cachesize should be a "
     "positive value, or negative to disable]"},
    {"kmsv1", HEAD R"(resources:
- resources: [secrets]
  providers:
  - kms: {apiVersion: v1, name: 'a', endpoint: 'unix:///a'}
)",
     "error while building transformers: KMSv1 is deprecated and will only receive "
     "security updates going forward. Use KMSv2 instead.  Set "
     "--feature-gates=KMSv1=true to use the deprecated KMSv1 feature."},
    {"kmsreload-reload", HEAD R"(resources:
- resources: [secrets]
  providers:
  - kms: {apiVersion: v1, name: 'a', endpoint: 'unix:///a'}
  - kms: {apiVersion: v1, name: 'a', endpoint: 'unix:///a'}
)",
     "error while parsing file: resources[0].providers[1].kms.name: Invalid value: "
     "\"a\": duplicate KMS provider name a, names must be unique"},
    {"typo", HEAD R"(resources:
- resources: [secrets]
  providers:
  - secretboxes: {keys: []}
)",
     "error while parsing file: error decoding encryption provider configuration file "
     "\"c.yaml\": strict decoding error: unknown field "
     "\"resources[0].providers[0].secretboxes\""},
    {"type", HEAD R"(resources:
- resources: [secrets]
  providers:
  - kms: {cachesize: x}
)",
     "error while parsing file: error decoding encryption provider configuration file "
     "\"c.yaml\": json: cannot unmarshal string into Go struct field "
     "KMSConfiguration.resources.providers.kms.cachesize of type int32"},
    {"duration", HEAD R"(resources:
- resources: [secrets]
  providers:
  - kms: {timeout: x}
)",
     "error while parsing file: error decoding encryption provider configuration file "
     "\"c.yaml\": time: invalid duration \"x\""},
    {"other",
     R"(kind: AuthorizationConfiguration
apiVersion: apiserver.config.k8s.io/v1
)",
     "error while parsing file: got unexpected config type: apiserver.config.k8s.io/v1, "
     "Kind=AuthorizationConfiguration"},
    {"kind",
     R"(kind: Foo
apiVersion: apiserver.config.k8s.io/v1
)",
     "error while parsing file: error decoding encryption provider configuration file "
     "\"c.yaml\": no kind \"Foo\" is registered for version "
     "\"apiserver.config.k8s.io/v1\" in scheme "
     "\"k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go:142\""},
    {"version",
     R"(kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v2
)",
     "error while parsing file: error decoding encryption provider configuration file "
     "\"c.yaml\": no kind \"EncryptionConfiguration\" is registered for version "
     "\"apiserver.config.k8s.io/v2\" in scheme "
     "\"k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go:142\""},
    {"legacy",
     R"(kind: EncryptionConfig
apiVersion: v1
resources:
- resources: [secrets]
  providers:
  - identity: {}
)",
     ""},
    {"yaml", R"(a: b: c)",
     "error while parsing file: error decoding encryption provider configuration file "
     "\"c.yaml\": yaml: mapping values are not allowed in this context"},
    {"json", R"({)",
     "error while parsing file: error decoding encryption provider configuration file "
     "\"c.yaml\": couldn't get version/kind; json parse error: unexpected end of JSON "
     "input"},
    {"dup", HEAD R"(kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - identity: {}
)",
     "error while parsing file: error decoding encryption provider configuration file "
     "\"c.yaml\": strict decoding error: yaml: unmarshal errors:\n  line 3: key "
     "\"kind\" already set in map"},
    {"twice", HEAD R"(resources:
- resources: [secrets]
  providers:
  - identity: {}
- resources: [secrets]
  providers:
  - aescbc: {keys: [{name: a, secret: MTIzNDU2Nzg5MDEyMzQ1Ng==}]}
)",
     ""},
    {"intkey", HEAD R"(resources:
- resources: [1]
  providers:
  - identity: {}
)",
     "error while parsing file: error decoding encryption provider configuration file "
     "\"c.yaml\": json: cannot unmarshal number into Go struct field "
     "ResourceConfiguration.resources.resources of type string"},
    {"nokind", R"(resources: [])",
     "error while parsing file: error decoding encryption provider configuration file "
     "\"c.yaml\": Object 'Kind' is missing in 'resources: []'"},
    {"both", HEAD R"(resources:
- resources: [secrets]
  providers:
  - aescbc: {keys: [{name: a, secret: MTIzNDU2Nzg5MDEyMzQ1Ng==}]}
    secretbox: {keys: [{name: 'b"<', secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}
)",
     "error while parsing file: resources[0].providers[0]: Invalid value: "
     "{\"AESGCM\":null,\"AESCBC\":{\"Keys\":[{\"Name\":\"a\",\"Secret\":\"REDACTED\"}]},"
     "\"Secretbox\":{\"Keys\":[{\"Name\":\"b\\\"\\u003c\",\"Secret\":\"REDACTED\"}]},\"Identity\":"
     "null,\"KMS\":null}: "
     "more than one provider specified in a single element, should split into different "
     "list elements"},
};

TEST(EncryptionFileTest, SaysWhatKubeApiserverSays) {
  for (const Recorded& recorded : kRecorded) {
    SCOPED_TRACE(recorded.name);
    const auto config = ParseEncryptionFile(std::string(recorded.text), "c.yaml",
                                            recorded.name.ends_with("-reload"));
    EXPECT_EQ(config.status().message(), recorded.error);
  }
}

TEST(EncryptionFileTest, RefusesKmsV2) {
  const auto config = ParseEncryptionFile(
      HEAD
      "resources: [{resources: [secrets], providers: [{kms: {apiVersion: v2, name: a, "
      "endpoint: 'unix:///a'}}]}]",
      "c.yaml", false);
  EXPECT_EQ(config.status().message(),
            "error while building transformers: KMS provider \"a\": KMS plugins are not supported; "
            "use the providers aesgcm, aescbc or secretbox");
}

TEST(EncryptionFileTest, KeepsTheOrderOfProvidersAndKeys) {
  const auto config =
      ParseEncryptionFile(HEAD
                          "resources:\n"
                          "- resources: [secrets, '*.apps']\n"
                          "  providers:\n"
                          "  - secretbox: {keys: [{name: s, secret: "
                          "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}\n"
                          "  - aesgcm: {keys: [{name: b, secret: MTIzNDU2Nzg5MDEyMzQ1Ng==},"
                          " {name: a, secret: MTIzNDU2Nzg5MDEyMzQ1Ng==}]}\n"
                          "  - identity: {}\n",
                          "c.yaml", false);
  ASSERT_TRUE(config.ok()) << config.status().message();
  ASSERT_EQ(config->rules.size(), 1U);
  const store::EncryptionRule& rule = config->rules.front();
  ASSERT_EQ(rule.resources.size(), 2U);
  EXPECT_EQ(rule.resources[1], (api::GroupResource{"apps", "*"}));
  ASSERT_EQ(rule.providers.size(), 3U);
  EXPECT_EQ(rule.providers[0].kind, store::EncryptionProvider::Kind::kSecretbox);
  EXPECT_EQ(rule.providers[0].keys[0].secret, "01234567890123456789012345678901");
  EXPECT_EQ(rule.providers[1].keys[0].name, "b");
  EXPECT_EQ(rule.providers[1].keys[1].name, "a");
  EXPECT_EQ(rule.providers[2].kind, store::EncryptionProvider::Kind::kIdentity);
}

TEST(EncryptionFileTest, NamesAFileThatIsNotThereOrEmpty) {
  EXPECT_EQ(LoadEncryption("/nonexistent/e.yaml", false).status().message(),
            "error while parsing file: error while loading file: error reading encryption provider "
            "configuration file \"/nonexistent/e.yaml\": open /nonexistent/e.yaml: no such file or "
            "directory");
  EXPECT_EQ(LoadEncryption("/dev/null", false).status().message(),
            "error while parsing file: error while loading file: encryption provider configuration "
            "file \"/dev/null\" is empty");
}

}  // namespace
}  // namespace portcullis::server
