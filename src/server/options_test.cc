// SPDX-License-Identifier: Apache-2.0

#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "pki/certificates.h"

namespace portcullis::server {
namespace {

using Texts = std::vector<std::string>;

base::Result<Options> Parse(std::vector<std::string> arguments) { return ParseOptions(arguments); }

TEST(Options, FlagsComeWithEqualsOrAsTwoWords) {
  EXPECT_EQ(Parse({"--secure-port=1"})->secure_port, 1);
  EXPECT_EQ(Parse({"--secure-port", "2"})->secure_port, 2);
  EXPECT_FALSE(Parse({"--anonymous-auth=false"})->anonymous_auth);
  EXPECT_TRUE(Parse({"--anonymous-auth"})->anonymous_auth);
}

TEST(Options, WhatIsNotSaidIsAsInTheDefaults) {
  Options defaults;
  defaults.store = "memory";
  const std::vector<std::string> words = {"--secure-port=1"};
  const auto options = ParseOptions(words, defaults, "portcullis exec");
  EXPECT_EQ(options->store, "memory");
  EXPECT_EQ(options->bind_address, "127.0.0.1");
  EXPECT_FALSE(options->service_cluster_ip_range_given);
  EXPECT_TRUE(Parse({"--service-cluster-ip-range=10.0.0.0/24"})->service_cluster_ip_range_given);
  const std::vector<std::string> extra = {"kubectl"};
  EXPECT_EQ(ParseOptions(extra, defaults, "portcullis exec").status().message(),
            "unknown command \"kubectl\" for \"portcullis exec\"");
}

TEST(Options, ListsAddUpAndReplaceTheirDefault) {
  const auto options =
      Parse({"--authorization-mode=Node", "--authorization-mode=RBAC,AlwaysAllow"});

  EXPECT_EQ(options->authorization_modes,
            (std::vector<std::string>{"Node", "RBAC", "AlwaysAllow"}));
}

TEST(Options, ListsAreRecordsOfCsv) {
  EXPECT_EQ(Parse({"--api-audiences=\"a,b\",,c"})->api_audiences, (Texts{"a,b", "", "c"}));
  EXPECT_EQ(Parse({"--api-audiences="})->api_audiences, Texts{});
  EXPECT_EQ(
      Parse({"--api-audiences=a\"b"}).status().message(),
      "invalid argument \"a\\\"b\" for \"--api-audiences\" flag: parse error on line 1, column "
      "2: bare \" in non-quoted-field");
  EXPECT_EQ(Parse({"--service-account-key-file=a,b", "--service-account-key-file=c"})
                ->service_account_key_files,
            (Texts{"a,b", "c"}));
  EXPECT_EQ(CheckOptions(*Parse({"--authorization-mode=RBAC,,Node"})).front(),
            "authorization-mode \"\" is not a valid mode: use AlwaysAllow, AlwaysDeny, ABAC, RBAC, "
            "Node, Webhook");
  EXPECT_EQ(CheckOptions(*Parse({"--requestheader-allowed-names=,a"})).front(),
            "empty value in \"requestheader-allowed-names\"");
}

TEST(Options, AddressesAreIpAddresses) {
  EXPECT_EQ(Parse({"--advertise-address= 192.0.2.1 "})->advertise_address, "192.0.2.1");
  EXPECT_EQ(Parse({"--bind-address="})->bind_address, "127.0.0.1");
  EXPECT_EQ(Parse({"--bind-address=0:0:0:0:0:0:0:0"})->bind_address, "::");
  EXPECT_EQ(Parse({"--bind-address=::ffff:127.0.0.1"})->bind_address, "127.0.0.1");
  for (const std::string flag : {"advertise-address", "bind-address"}) {
    for (const std::string text : {"localhost", "192.0.2", "192.0.02.1", "fe80::1%lo"}) {
      EXPECT_EQ(Parse({"--" + flag + "=" + text}).status().message(),
                base::StrCat("invalid argument \"", text, "\" for \"--", flag,
                             "\" flag: failed to parse IP: \"", text, "\""));
    }
  }
}

TEST(Options, WhereEverythingIsAllowedNoClientIsAnonymous) {
  EXPECT_TRUE(Parse({})->anonymous_auth);
  const auto options = Parse({"--authorization-mode=RBAC,AlwaysAllow", "--anonymous-auth=true"});
  EXPECT_FALSE(options->anonymous_auth);
  ASSERT_EQ(options->notes.size(), 1U);
  EXPECT_TRUE(options->notes[0].starts_with("AnonymousAuth is not allowed"));
}

TEST(Options, DurationsAreGos) {
  EXPECT_EQ(Parse({"--request-timeout=1m30s"})->request_timeout, std::chrono::seconds(90));
  EXPECT_EQ(Parse({"--request-timeout=250ms"})->request_timeout, std::chrono::milliseconds(250));
  EXPECT_EQ(Parse({"--request-timeout=5"}).status().message(),
            "invalid argument \"5\" for \"--request-timeout\" flag: time: missing unit in duration "
            "\"5\"");
}

TEST(Options, DurationsTakeEveryFormThatGoTakes) {
  const auto timeout = [](const std::string& text) {
    return Parse({"--request-timeout=" + text}).value().request_timeout;
  };
  EXPECT_EQ(timeout("+5s"), std::chrono::seconds(5));
  EXPECT_EQ(timeout("3µs"), std::chrono::microseconds(3));
  EXPECT_EQ(timeout(".5s"), std::chrono::milliseconds(500));
  for (const std::string text :
       {"1.2.3s", "9223372036854775808ns", "1e400h", "300000000h", "-", "", "."}) {
    EXPECT_FALSE(Parse({"--request-timeout=" + text}).ok()) << text;
  }
}

std::vector<std::string> Problems(std::vector<std::string> arguments) {
  return CheckOptions(*Parse(std::move(arguments)));
}

TEST(Options, RefusesFeatureGatesThatTheReleaseDoesNotKnow) {
  EXPECT_EQ(Problems({"--feature-gates=Foooo=true"}), (Texts{"unrecognized feature gate: Foooo"}));
  EXPECT_EQ(Problems({"--feature-gates=MutatingAdmissionPolicys=true"}),
            (Texts{"unrecognized feature gate: MutatingAdmissionPolicys (did you mean "
                   "MutatingAdmissionPolicy?)"}));
  EXPECT_EQ(Problems({"--feature-gates=kube:RetryGenerateName=false"}),
            (Texts{"cannot set feature gate RetryGenerateName to false, feature is locked to "
                   "true"}));
  EXPECT_EQ(Problems({"--feature-gates=AllAlpha=true,AllBeta=false,GenericWorkload=true"}),
            Texts{});
  EXPECT_EQ(Problems({"--feature-gates=GenericWorkload=true", "--kubernetes-version=1.30"}),
            (Texts{"unrecognized feature gate: GenericWorkload"}));
  EXPECT_EQ(Parse({"--feature-gates=other:Foo=true"}).status().message(),
            "invalid argument \"other:Foo=true\" for \"--feature-gates\" flag: component not "
            "registered: other");
}

TEST(Options, ChecksTheFlagsOfMetrics) {
  const std::string form =
      "must have keys with format `metricName,labelName` where metricName matches "
      "\"[a-zA-Z_:][a-zA-Z0-9_:]*\" and labelName matches \"[a-zA-Z_][a-zA-Z0-9_]*\"";
  EXPECT_EQ(Problems({"--show-hidden-metrics-for-version=1.35", "--disabled-metrics=a,b:c",
                      "--allow-metric-labels=\"a,b=c,d\""}),
            Texts{});
  EXPECT_EQ(
      Problems({"--show-hidden-metrics-for-version=1.36", "--disabled-metrics=c,é",
                "--allow-metric-labels=\"a,b=c,d\",\"z=1,2\""}),
      (Texts{
          "metrics.showHiddenMetricsForVersion: Invalid value: \"1.36\": must be omitted or have "
          "the value '1.35'; only the previous minor version is allowed",
          "metrics.disabledMetrics: Invalid value: [\"c\",\"é\"]: must be fully qualified metric "
          "names matching \"^[a-zA-Z_:][a-zA-Z0-9_:]*$\", got \"é\"",
          "metrics.allowListMapping: Invalid value: {\"a,b\":\"c,d\",\"z\":\"1,2\"}: " + form}));
  EXPECT_EQ(
      Problems({"--allow-metric-labels-manifest=nope/../none.yaml"}),
      (Texts{"metrics.allowListMappingManifest: Invalid value: \"nope/../none.yaml\": failed to "
             "read allow list manifest: open none.yaml: no such file or directory"}));
  const std::string file = testing::TempDir() + "metric_labels.yaml";
  std::ofstream(file) << "a,b: \"x,y\"\n";
  EXPECT_EQ(Problems({"--allow-metric-labels-manifest=" + file}), Texts{});
  EXPECT_EQ(Problems({"--allow-metric-labels-manifest=" + file, "--allow-metric-labels=a,b=c"}),
            (Texts{"metrics: Invalid value: {\"allowListMapping\":{\"a,b\":\"c\"},"
                   "\"allowListMappingManifest\":\"" +
                   file +
                   "\"}: cannot specify both "
                   "allowListMapping and allowListMappingManifest"}));
  std::ofstream(file) << "ab: x\n";
  EXPECT_EQ(Problems({"--allow-metric-labels-manifest=" + file}),
            (Texts{"metrics.allowListMappingManifest: Invalid value: \"" + file +
                   "\": invalid allow list mapping in manifest: [metrics.allowListMappingManifest: "
                   "Invalid value: {\"ab\":\"x\"}: " +
                   form + "]"}));
  constexpr std::pair<std::string_view, std::string_view> kMistakes[] = {
      {"a: x\nb: &y\n- 1\nc: *y\nd: 2.5\n? {e: f}\n: [g]\n",
       "\n  line 2: cannot unmarshal !!seq into string\n  line 2: cannot unmarshal !!seq into "
       "string"
       "\n  line 6: cannot unmarshal !!map into string"},
      {"- a\n", "\n  line 1: cannot unmarshal !!seq into map[string]string"},
      {"abcdefghijk\n", "\n  line 1: cannot unmarshal !!str `abcdefg...` into map[string]string"},
  };
  for (const auto& [text, mistakes] : kMistakes) {
    std::ofstream(file) << text;
    EXPECT_EQ(Problems({"--allow-metric-labels-manifest=" + file}),
              (Texts{base::StrCat(
                  "metrics.allowListMappingManifest: Invalid value: \"", file,
                  "\": failed to parse allow list manifest: yaml: unmarshal errors:", mistakes)}));
  }
  EXPECT_EQ(Parse({"--allow-metric-labels=x"}).status().message(),
            "invalid argument \"x\" for \"--allow-metric-labels\" flag: x must be formatted as "
            "key=value");
}

TEST(Options, ChecksTheFormOfTheAuditLog) {
  EXPECT_EQ(
      Problems({"--audit-log-path=-", "--audit-log-format=xml", "--audit-log-maxage=-1"}),
      (std::vector<std::string>{"invalid audit log format xml, allowed formats are \"legacy,json\"",
                                "--audit-log-maxage -1 can't be a negative number"}));
}

TEST(Options, ChecksHowAuditEventsAreDelivered) {
  struct Case {
    Texts flags, problems;
  };
  const Case cases[] = {
      {{"--audit-log-path=-", "--audit-log-mode=x", "--audit-log-version=audit.k8s.io/v1beta1"},
       {"invalid audit log mode x, allowed modes are \"batch,blocking,blocking-strict\"",
        "invalid group version, allowed versions are [\"audit.k8s.io/v1\"]"}},
      {{"--audit-log-path=-", "--audit-log-batch-buffer-size=0"}, {}},  // not in the mode blocking
      {{"--audit-log-path=-", "--audit-log-mode=batch", "--audit-log-batch-buffer-size=0"},
       {"invalid audit batch log buffer size 0, must be a positive number"}},
      {{"--audit-webhook-config-file=/dev/null", "--audit-webhook-batch-max-size=-1"},
       {"invalid audit batch webhook max batch size -1, must be a positive number"}},
      {{"--audit-webhook-config-file=/dev/null", "--audit-webhook-batch-throttle-qps=-0.5"},
       {"invalid audit batch webhook throttle QPS -0.5, must be a positive number"}},
      {{"--audit-webhook-config-file=/dev/null", "--audit-webhook-batch-throttle-burst=0"},
       {"invalid audit batch webhook throttle burst 0, must be a positive number"}},
      {{"--audit-webhook-config-file=/dev/null", "--audit-webhook-batch-throttle-qps=0",
        "--audit-webhook-batch-throttle-enable=false"},
       {}},
      {{"--audit-log-path=-", "--audit-log-truncate-max-event-size=0"},
       {"invalid audit truncate log max event size 0, must be a positive number"}},
      {{"--audit-log-path=-", "--audit-log-truncate-max-batch-size=10"},
       {"invalid audit truncate log max batch size 10, must be greater than max event size "
        "(102400)"}},
      {{"--audit-log-mode=x", "--audit-webhook-mode=x"}, {}},  // of backends that are not in use
  };
  for (const Case& c : cases) EXPECT_EQ(Problems(c.flags), c.problems) << c.flags.back();
  EXPECT_EQ(Parse({"--audit-log-batch-throttle-qps=1x"}).status().message(),
            "invalid argument \"1x\" for \"--audit-log-batch-throttle-qps\" flag: "
            "strconv.ParseFloat: parsing \"1x\": invalid syntax");
}

TEST(Options, TheEmulatedVersionIsThatOfKubernetes) {
  const std::pair<std::string, std::string> cases[] = {
      {"1.34", "1.34"},
      {"kube=1.35", "1.35"},
      {"v1.33", "v1.33"},
      {"foo", "could not parse \"foo\" as version"},
      {"kube=", "could not parse \"\" as version"},
      {"foo=1.34", "component not registered: foo"},
      {"1.36.1", "patch version not allowed, got: kube=1.36.1"},
      {"kube=1.34,kube=1.35", "duplicate version flag, kube=1.34 and kube=1.35"},
  };
  for (const auto& [given, expected] : cases) {
    const auto options = Parse({"--emulated-version=" + given});
    EXPECT_EQ(options.ok() ? options->kubernetes_version : options.status().message(),
              options.ok() ? expected
                           : base::StrCat("invalid argument ", base::GoQuote(given),
                                          " for \"--emulated-version\" flag: ", expected));
  }
}

TEST(Options, NumbersThatDoNotFitAreRefused) {
  EXPECT_EQ(Parse({"--max-requests-inflight=4294967297"}).status().message(),
            "invalid argument \"4294967297\" for \"--max-requests-inflight\" flag: "
            "strconv.ParseInt: parsing \"4294967297\": value out of range");
}

TEST(Options, AFileThatMayNotBeReadIsNamed) {
  const auto problems = CheckOptions(*Parse({"--client-ca-file=/dev/null/x"}));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems.front(), "--client-ca-file: open /dev/null/x: not a directory");
}

TEST(Options, FlagsOfKubeApiserverWithoutMeaningLeaveANote) {
  const auto options = Parse({"--storage-media-type=application/json"});

  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->notes.size(), 1u);
}

TEST(Options, EtcdServersChooseTheStore) {
  const auto options = Parse({"--etcd-servers=http://a:2379,http://b:2379", "--etcd-prefix=x/y/"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->store, "etcd");
  EXPECT_EQ(options->etcd_servers, (std::vector<std::string>{"http://a:2379", "http://b:2379"}));
  EXPECT_EQ(options->etcd_prefix, "/x/y");
  EXPECT_EQ(Parse({"--etcd-prefix=/"}).status().message(),
            "invalid argument \"/\" for \"--etcd-prefix\" flag: must not be empty");
  // As pflag reads lists.
  const auto quoted = Parse({R"(--etcd-servers="http://a:2379",http://b:2379)"});
  ASSERT_TRUE(quoted.ok()) << quoted.status().message();
  EXPECT_EQ(quoted->etcd_servers, options->etcd_servers);
  const auto problems = CheckOptions(*Parse({"--etcd-servers=http://a:2379", "--store=memory"}));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems.front(), "--store and --etcd-servers exclude each other");
}

TEST(Options, ServicesOfWebhooksHavePorts) {
  const auto options = Parse({"--webhook-service-map=a/b:443=[::1]:8443,a/c:8443=localhost:1"});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->webhook_service_map.size(), 2U);
  for (const char* wrong : {"a/b=h:1", "b:443=h:1", "a/b:https=h:1", "a/b:443=h", "a/b:443=h:0"}) {
    EXPECT_EQ(Parse({base::StrCat("--webhook-service-map=", wrong)}).status().message(),
              base::StrCat("invalid argument \"", wrong,
                           "\" for \"--webhook-service-map\" flag: must be "
                           "namespace/name:port=host:port"));
  }
}

TEST(Options, NoResourceIsKeptInAnotherEtcd) {
  const auto problems = [](std::string_view overrides) {
    return Problems({"--etcd-servers=http://a:2379,http://b:2379",
                     base::StrCat("--etcd-servers-overrides=", overrides)});
  };
  EXPECT_EQ(
      problems("/events#http://b:2379;http://a:2379,apps/deployments#http://a:2379;http://b:2379"),
      std::vector<std::string>());
  EXPECT_EQ(problems("/pods#http://b:2379;http://a:2379,/events#http://c:2379"),
            std::vector<std::string>{
                "--etcd-servers-overrides: /events cannot be kept in http://c:2379: all objects "
                "are in the etcd of --etcd-servers; docs/etcd.md says how to move them"});
  EXPECT_EQ(Problems({"--etcd-servers-overrides=/events#http://c:2379"}).size(), 1U);
  for (const std::string_view wrong :
       {"events", "events#http://c:2379", "/events#", "/events#http://c:2379;",
        "a/b/c#http://c:2379", "/events#http://c:2379#x"}) {
    EXPECT_EQ(problems(wrong),
              std::vector<std::string>{
                  "--etcd-servers-overrides invalid, must be of format: group/resource#servers, "
                  "where servers are URLs, semicolon separated"})
        << wrong;
  }
}

TEST(Options, TheEndpointReconcilerHasLeasesOrCounts) {
  EXPECT_EQ(Parse({})->endpoint_reconciler_type, "lease");
  EXPECT_EQ(Parse({"--endpoint-reconciler-type=none"})->endpoint_reconciler_type, "none");
  EXPECT_EQ(Parse({"--endpoint-reconciler-type=other"}).status().message(),
            "invalid argument \"other\" for \"--endpoint-reconciler-type\" flag: must be one "
            "of lease, master-count, none");
  EXPECT_EQ(Problems({"--apiserver-count=-1"}),
            (Texts{"--apiserver-count should be a positive number, but value '-1' provided"}));
  EXPECT_EQ(Problems({"--endpoint-reconciler-type=master-count", "--advertise-address=fd00::1"}),
            (Texts{"service IP family \"10.0.0.0/24\" must match public address family "
                   "\"fd00::1\""}));
  const std::vector<std::string> flags = {"--etcd-servers=http://a:2379",
                                          "--advertise-address=fd00::1"};
  const auto problems = CheckOptions(*Parse(flags));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems.front(),
            "service IP family \"10.0.0.0/24\" must match public address family \"fd00::1\"");
  EXPECT_EQ(CheckOptions(*Parse({flags[1]})).size(), 0U) << "without etcd it has no effect";
  EXPECT_EQ(Problems({flags[0], flags[1], "--service-cluster-ip-range=fd00:1::5/112"}), Texts{});
  EXPECT_EQ(Problems({flags[0], "--advertise-address=192.0.2.1",
                      "--service-cluster-ip-range=fd00:1::5/112,10.0.0.0/24"}),
            (Texts{"service IP family \"fd00:1::/112\" must match public address family "
                   "\"192.0.2.1\""}));
}

TEST(Options, ServiceRangesAreParsedBeforeAnythingIsChecked) {
  EXPECT_EQ(Problems({"--service-cluster-ip-range=10.0.0.0/24,x", "--store=sqlite", "--data-dir="}),
            (Texts{"service-cluster-ip-range[1] is not an ip net"}));
  EXPECT_EQ(Problems({"--service-cluster-ip-range=10.0.0.0/11", "--kubernetes-version=1.33"}),
            (Texts{"specified --service-cluster-ip-range is too large; for 32-bit addresses, the "
                   "mask must be >= 12"}));
}

TEST(Options, WhatMayNotBeNegativeOrTwice) {
  EXPECT_EQ(Problems({"--min-request-timeout=-1", "--shutdown-delay-duration=-1s"}),
            (Texts{"--min-request-timeout can not be negative value",
                   "--shutdown-delay-duration can not be negative value"}));
  EXPECT_EQ(Problems({"--authorization-mode=RBAC,RBAC"}),
            (Texts{R"(authorization-mode ["RBAC" "RBAC"] has mode specified more than once)"}));
}

TEST(Options, TokensLiveAnHourAtLeast) {
  EXPECT_EQ(Problems({"--service-account-max-token-expiration=1h"}), Texts{});
  for (const std::string time : {"1m", "-1h", "1200000h"}) {
    EXPECT_EQ(
        Problems({"--service-account-max-token-expiration=" + time}),
        (Texts{
            "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds"}));
  }
}

TEST(Options, IssuersDifferAndAreUrlsIfTheyHaveAColon) {
  EXPECT_EQ(Problems({"--service-account-issuer=a", "--service-account-issuer=https://a"}),
            Texts{});
  EXPECT_EQ(Problems({"--service-account-issuer="}),
            (Texts{"service-account-issuer should not be an empty string"}));
  EXPECT_EQ(Problems({"--service-account-issuer=https://a", "--service-account-issuer=https://a"}),
            (Texts{"service-account-issuer \"https://a\" is already specified"}));
  EXPECT_EQ(
      Problems({"--service-account-issuer=http://[::1"}),
      (Texts{"service-account-issuer \"http://[::1\" contained a ':' but was not a valid URL: "
             "parse \"http://[::1\": missing ']' in host"}));
}

TEST(Options, HeadersOfFrontProxiesHaveNames) {
  EXPECT_EQ(Problems({"--requestheader-uid-headers=x-remote-uid,X-My-Uid"}), Texts{});
  EXPECT_EQ(Problems({"--requestheader-uid-headers=X-My-Uid"}),
            (Texts{"--requestheader-uid-headers is set without specifying the standard "
                   "X-Remote-Uid header - API aggregation will not work"}));
  for (const std::string name :
       {"username-headers", "group-headers", "extra-headers-prefix", "allowed-names"}) {
    EXPECT_EQ(Problems({"--requestheader-" + name + "=a, "}),
              (Texts{"empty value in \"requestheader-" + name + "\""}));
  }
}

TEST(Options, ClientCasAreNoFrontProxyCas) {
  std::string folder = (std::filesystem::temp_directory_path() / "pc-options-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::filesystem::create_directory(folder + "/pki");
  const auto write = [&](std::string_view file, const std::string& pem) {
    EXPECT_TRUE(base::WriteFile(base::StrCat(folder, file), pem, base::Durability::kNone).ok());
  };
  const auto now = base::SystemClock().Now();
  const auto clients = pki::MakeAuthority("clients", now)->certificate_pem;
  const auto own = pki::MakeAuthority("own", now)->certificate_pem;
  const auto proxies = pki::MakeAuthority("proxies", now)->certificate_pem;
  write("/pki/ca.crt", own);
  write("/clients.crt", clients);
  const auto problems = [&](const std::string& pem, std::vector<std::string> more = {}) {
    write("/proxies.crt", pem);
    more.push_back("--data-dir=" + folder);
    more.push_back("--client-ca-file=" + folder + "/clients.crt");
    more.push_back("--requestheader-client-ca-file=" + folder + "/proxies.crt");
    return Problems(std::move(more));
  };
  const auto overlap = [](std::string_view with) {
    return Texts{base::StrCat(
        "--requestheader-client-ca-file and ", with,
        " contain overlapping certificates; --requestheader-allowed-names must be specified to "
        "ensure regular client certificates cannot set authenticating proxy headers for arbitrary "
        "users")};
  };
  EXPECT_EQ(problems(proxies), Texts{});
  EXPECT_EQ(problems(proxies + clients), overlap("--client-ca-file"));
  EXPECT_EQ(problems(own), overlap(folder + "/pki/ca.crt"));
  EXPECT_EQ(problems(proxies + clients + own, {"--requestheader-allowed-names=proxy"}), Texts{});
  std::filesystem::remove_all(folder);
}

TEST(Options, TheLogHasTwoForms) {
  EXPECT_EQ(Parse({"--logging-format=json"})->log_format, "json");
  EXPECT_EQ(Parse({"--log-format=xml"}).status().message(),
            "invalid argument \"xml\" for \"--log-format\" flag: must be one of text, json");
}

TEST(Options, FlagsOfAnIssuerComeTogetherAndWithoutAFile) {
  const std::string issuer = "--oidc-issuer-url=https://a.example";
  const auto problems = [](std::initializer_list<std::string> words) {
    return CheckOptions(Parse(words).value());
  };
  EXPECT_THAT(problems({issuer, "--oidc-client-id=b"}), ::testing::IsEmpty());
  EXPECT_THAT(problems({issuer}),
              ::testing::Contains("oidc-issuer-url and oidc-client-id must be specified together "
                                  "when any oidc-* flags are set"));
  EXPECT_THAT(
      problems({issuer, "--oidc-client-id=b", "--authentication-config=c"}),
      ::testing::Contains("authentication-config file and oidc-* flags are mutually exclusive"));
  EXPECT_EQ(Parse({"--oidc-required-claim=a=b,c", "--oidc-required-claim=d = e"})
                .value()
                .oidc_required_claims,
            (std::map<std::string, std::string>{{"a", "b,c"}, {"d", "e"}}));
  EXPECT_EQ(Parse({"--oidc-signing-algs=ES256,RS384"}).value().oidc_signing_algs,
            (std::vector<std::string>{"ES256", "RS384"}));
}

TEST(Options, ChecksDirectivesOfTransportSecurity) {
  const std::string flag = "--strict-transport-security-directives=";
  EXPECT_EQ(Problems({flag + "max-age=31536000,includeSubDomains,preload"}), Texts{});
  EXPECT_EQ(Problems({flag + "a,b,,max-age"}),
            (Texts{"--strict-transport-security-directives invalid, allowed values: "
                   "max-age=expireTime, includeSubDomains, preload. see "
                   "https://tools.ietf.org/html/rfc6797#section-6.1 for more information",
                   "empty value in strict-transport-security-directives"}));
}

TEST(Options, ChecksAllowedOrigins) {
  struct Case {
    std::string flag, problem;
  };
  const Case cases[] = {
      {R"(//example\.com(:|$))", ""},
      {R"("^https://a{1,2}$")", ""},
      {"a",
       "--cors-allowed-origins has an invalid regular expression: regular expression does not "
       "pin to start/end of host in the origin header, help: List of allowed origins"},
      {"^(a$",
       "--cors-allowed-origins has an invalid regular expression: error parsing regexp: "
       "missing closing ): `^(a$`, help: List of allowed origins"},
      {",^a$", "empty value in --cors-allowed-origins, help: List of allowed origins"},
  };
  for (const auto& [flag, problem] : cases) {
    const Texts problems = Problems({"--cors-allowed-origins=" + flag});
    ASSERT_EQ(problems.size(), problem.empty() ? 0U : 1U) << flag;
    if (!problem.empty()) {
      EXPECT_TRUE(problems.front().starts_with(problem)) << problems.front();
    }
  }
  EXPECT_EQ(
      Parse({"--cors-allowed-origins=a\"b"}).status().message(),
      "invalid argument \"a\\\"b\" for \"--cors-allowed-origins\" flag: parse error on line 1, "
      "column 2: bare \" in non-quoted-field");
}

TEST(Options, AnUnknownFlagGetsTheNearestName) {
  EXPECT_EQ(Parse({"--secure-prt=1"}).status().message(),
            "unknown flag: --secure-prt (did you mean --secure-port?)");
}

TEST(Options, RowsStandInOrderAndSayWhatTheyMean) {
  const std::vector<flags::Info> rows = Flags();
  EXPECT_TRUE(
      std::is_sorted(rows.begin(), rows.end(),
                     [](const flags::Info& a, const flags::Info& b) { return a.name < b.name; }));
  for (const flags::Info& row : rows) {
    EXPECT_NE(row.meaning.empty(), row.note.empty()) << row.name;
    EXPECT_EQ(row.group.empty(), !row.note.empty()) << row.name << " has no group of --help";
  }
}

}  // namespace
}  // namespace portcullis::server
