// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "api/catalog/discovery.h"
#include "api/catalog/openapi.h"
#include "api/embedded_data.h"
#include "api/schema/decode.h"
#include "api/schema/defaulting.h"
#include "api/schema/structural.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::catalog {
namespace {

constexpr std::string_view kCronTab = R"({"apiVersion":"apiextensions.k8s.io/v1",
  "kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},
  "spec":{"group":"stable.example.com","scope":"Namespaced",
    "names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","shortNames":["ct"]},
    "versions":[
      {"name":"v1","served":true,"storage":true,
       "subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas",
         "statusReplicasPath":".status.replicas"}},
       "additionalPrinterColumns":[{"name":"Spec","type":"string","jsonPath":".spec.cronSpec"},
         {"name":"Bad","type":"string","jsonPath":".spec["},
         {"name":"Last","type":"string","jsonPath":".spec.free"}],
       "schema":{"openAPIV3Schema":{"type":"object","description":"gone","properties":{
         "spec":{"type":"object","properties":{
           "cronSpec":{"type":"string","pattern":"^x"},
           "description":{"type":"string"},
           "replicas":{"type":"integer","default":1},
           "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,
             "properties":{"known":{"type":"object","properties":{"a":{"type":"string"}}}}},
           "map":{"type":"object","additionalProperties":{"type":"string"}},
           "list":{"type":"array","items":{"type":"object","properties":{
             "x":{"type":"string","default":"d"}}}}}}}}}},
      {"name":"v1beta1","served":true,"storage":false,"deprecated":true,
       "schema":{"openAPIV3Schema":{"type":"object",
         "x-kubernetes-preserve-unknown-fields":true}}},
      {"name":"v1alpha1","served":false,"storage":false}]}})";

class CatalogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    builtin_ = Catalog::BuiltIn({}).value();
    auto custom =
        CustomResources::Compile(json::Parse(arena_, kCronTab).value(), {builtin_->object_meta()});
    ASSERT_TRUE(custom.ok());
    custom_ = *custom;
    catalog_ = builtin_->WithCustomResources({custom_});
  }

  // The built-in kinds and CronTab, with texts of its definition replaced by others.
  std::shared_ptr<const Catalog> WithCronTabAs(
      std::initializer_list<std::pair<std::string_view, std::string_view>> replaced) {
    std::string definition(kCronTab);
    for (const auto& [from, to] : replaced) definition = base::ReplaceAll(definition, from, to);
    auto custom = CustomResources::Compile(json::Parse(arena_, definition).value(),
                                           {builtin_->object_meta()});
    return builtin_->WithCustomResources({custom.value()});
  }

  json::Arena arena_;
  std::shared_ptr<const Catalog> builtin_;
  std::shared_ptr<const CustomResources> custom_;
  std::shared_ptr<const Catalog> catalog_;
};

TEST_F(CatalogTest, KnowsTheResourcesOfKubernetes) {
  const ResourceInfo* deployments = builtin_->Find("apps", "v1", "deployments");
  ASSERT_NE(deployments, nullptr);
  EXPECT_EQ(deployments->kind.ToString(), "apps/v1, Kind=Deployment");
  EXPECT_TRUE(deployments->namespaced);
  EXPECT_TRUE(deployments->HasVerb("deletecollection"));
  EXPECT_EQ(deployments->short_names, std::vector<std::string>{"deploy"});
  ASSERT_NE(deployments->FindSubresource("scale"), nullptr);
  EXPECT_EQ(deployments->FindSubresource("scale")->kind.ToString(), "autoscaling/v1, Kind=Scale");
  EXPECT_EQ(deployments->columns[1].name, "Ready");
  EXPECT_EQ(builtin_->FindKind({"", "v1", "Pod"})->resource.resource, "pods");
  EXPECT_EQ(builtin_->FindPreferred("autoscaling", "horizontalpodautoscalers")->kind.version, "v2");
  EXPECT_EQ(builtin_->Find("", "v1", "nothing"), nullptr);
}

// As kube-apiserver 1.36 with --emulated-version.
TEST_F(CatalogTest, ServesWhatTheReleaseHad) {
  const auto serves = [](int minor, std::string_view config, std::string_view group,
                         std::string_view version, std::string_view resource) {
    const auto catalog = Catalog::BuiltIn(ParseRuntimeConfig(config).value(), {.minor = minor});
    return catalog.value()->Find(group, version, resource) != nullptr;
  };
  const std::string_view admission = "admissionregistration.k8s.io";
  EXPECT_TRUE(serves(36, "", admission, "v1", "mutatingadmissionpolicies"));
  EXPECT_FALSE(serves(35, "", admission, "v1", "mutatingadmissionpolicies"));
  EXPECT_TRUE(serves(35, "", admission, "v1", "validatingadmissionpolicies"));
  EXPECT_TRUE(serves(34, "api/all=true", admission, "v1beta1", "mutatingadmissionpolicies"));
  EXPECT_FALSE(serves(33, "api/all=true", admission, "v1beta1", "mutatingadmissionpolicies"));
  EXPECT_TRUE(serves(33, "api/all=true", admission, "v1beta1", "validatingadmissionpolicies"));
  EXPECT_FALSE(serves(33, "", admission, "v1beta1", "validatingadmissionpolicies"));
  EXPECT_FALSE(serves(34, "api/all=true", admission, "v1beta1", "validatingadmissionpolicies"));
  EXPECT_FALSE(serves(36, "api/beta=true", admission, "v1beta1", "validatingadmissionpolicies"));
  EXPECT_TRUE(serves(31, "api/all=true", admission, "v1alpha1", "validatingadmissionpolicies"));
  EXPECT_FALSE(serves(32, "api/all=true", admission, "v1alpha1", "validatingadmissionpolicies"));
  // What a release has dropped is there for old manifests where its version is named.
  EXPECT_TRUE(serves(36, "admissionregistration.k8s.io/v1beta1", admission, "v1beta1",
                     "validatingadmissionpolicies"));
  EXPECT_TRUE(serves(34, "", "resource.k8s.io", "v1", "resourceclaims"));
  EXPECT_FALSE(serves(33, "", "resource.k8s.io", "v1", "resourceclaims"));
  EXPECT_FALSE(serves(33, "resource.k8s.io/v1=true", "resource.k8s.io", "v1", "resourceclaims"));
  EXPECT_TRUE(serves(33, "", "networking.k8s.io", "v1", "servicecidrs"));
  EXPECT_FALSE(serves(32, "", "networking.k8s.io", "v1", "servicecidrs"));
  // What is known of releases before v1.29 is what they had besides.
  EXPECT_TRUE(serves(13, "", "networking.k8s.io", "v1", "servicecidrs"));
}

TEST_F(CatalogTest, ServesOptInVersionsOnlyWhenAsked) {
  const std::string_view group = "admissionregistration.k8s.io";
  EXPECT_FALSE(builtin_->ServesVersion(group, "v1alpha1"));
  const auto some = Catalog::BuiltIn(
      ParseRuntimeConfig("admissionregistration.k8s.io/v1alpha1,apps/v1=false").value());
  EXPECT_TRUE((*some)->ServesVersion(group, "v1alpha1"));
  EXPECT_EQ((*some)->FindGroup("apps"), nullptr);
  const auto all = Catalog::BuiltIn(ParseRuntimeConfig("api/all=true").value());
  EXPECT_TRUE((*all)->ServesVersion("internal.apiserver.k8s.io", "v1alpha1"));
  const auto error = [](std::string_view text) {
    const auto config = ParseRuntimeConfig(text);
    return config.ok() ? Catalog::BuiltIn(*config).status().message() : config.status().message();
  };
  // docs/legacy.md, F-6.
  EXPECT_EQ(error("apps/v1=maybe"),
            "invalid value of apps/v1: maybe, err: strconv.ParseBool: parsing \"maybe\": invalid "
            "syntax");
  EXPECT_EQ(error("api/all=maybe"), "invalid value api/all=maybe");
  EXPECT_EQ(error("foo/v1,bar/v2"), "unknown api groups bar/v2,foo/v1");
  EXPECT_EQ(error("apps/v9=true"), "group version apps/v9 that has not been registered");
  EXPECT_EQ(error("a/b/c/d"), "runtime-config invalid key a/b/c/d");
  EXPECT_EQ(error("apps/v1/Deployments=false"),
            "invalid key apps/v1/Deployments: group/version/resource and resource is always "
            "lowercase plural, not \"Deployments\"");
  EXPECT_EQ(error("v1=true,api/v1=true,apps/v1/deployments=false,api/beta=true"), "");
}

TEST_F(CatalogTest, KnowsWhatNeedsAFeatureGate) {
  const std::string_view group = "certificates.k8s.io";
  EXPECT_EQ(builtin_->Find(group, "v1beta1", "clustertrustbundles"), nullptr);
  const auto more = Catalog::BuiltIn(ParseRuntimeConfig("certificates.k8s.io/v1beta1").value());
  const ResourceInfo* bundles = (*more)->Find(group, "v1beta1", "clustertrustbundles");
  ASSERT_NE(bundles, nullptr);
  EXPECT_NE(bundles->schema, nullptr);
  EXPECT_EQ(
      bundles->deprecation_warning,
      "certificates.k8s.io/v1beta1 ClusterTrustBundle is deprecated in v1.37+, unavailable in "
      "v1.40+");
}

// docs/legacy.md.
TEST_F(CatalogTest, ServesWhatKubernetesDroppedWhenItIsSwitchedOn) {
  const auto serves = [](std::string_view config, const LegacyOptions& legacy) {
    const auto made = Catalog::BuiltIn(ParseRuntimeConfig(config).value(), legacy);
    EXPECT_TRUE(made.ok()) << made.status().message();
    const std::string_view group = "admissionregistration.k8s.io";
    std::string served;
    if ((*made)->Find(group, "v1alpha1", "initializerconfigurations") != nullptr) served += "i";
    if ((*made)->Find(group, "v1beta1", "mutatingwebhookconfigurations") != nullptr) served += "m";
    return served;
  };
  LegacyOptions with_plugin;
  with_plugin.plugins = {"Initializers"};
  constexpr std::string_view kVersion = "admissionregistration.k8s.io/v1alpha1";
  EXPECT_EQ(serves("", {}), "");
  EXPECT_EQ(serves("", with_plugin), "");
  EXPECT_EQ(serves(kVersion, {}), "");
  EXPECT_EQ(serves(kVersion, with_plugin), "i");
  EXPECT_EQ(serves("api/all=true,api/alpha=true,admissionregistration.k8s.io/v1beta1", {}), "");
  EXPECT_EQ(serves("admissionregistration.k8s.io/v1alpha1/initializerconfigurations=true", {}),
            "i");
  EXPECT_EQ(serves("admissionregistration.k8s.io/v1beta1/mutatingwebhookconfigurations", {}), "m");
  EXPECT_EQ(serves("", {.minor = 8}), "i");
  EXPECT_EQ(serves("admissionregistration.k8s.io/v1alpha1=false", {.minor = 8}), "");
  EXPECT_EQ(serves("", {.minor = 13}), "im");
  EXPECT_EQ(serves("api/all=false,api/v1", {.minor = 13}), "");
  EXPECT_EQ(serves("", {.minor = 21}), "m");
  EXPECT_EQ(serves("", {.minor = 22}), "");
}

// As discovery of Kubernetes 1.15 had it: a resource with a subresource and without verbs.
TEST_F(CatalogTest, ServesNothingButTheScaleOfReplicationControllersInExtensions) {
  const auto catalog = Catalog::BuiltIn({{"extensions/v1beta1", true}}).value();
  const ResourceInfo* dummy = catalog->Find("extensions", "v1beta1", "replicationcontrollers");
  ASSERT_NE(dummy, nullptr);
  EXPECT_EQ(dummy->kind.kind, "ReplicationControllerDummy");
  EXPECT_EQ(dummy->storage_kind.ToString(), "/v1, Kind=ReplicationController");
  EXPECT_EQ(dummy->storage_version_hash, "");
  EXPECT_TRUE(dummy->verbs.empty());
  ASSERT_EQ(dummy->subresources.size(), 1U);
  EXPECT_EQ(dummy->FindSubresource("scale")->kind.group, "extensions");
  const SchemaText no_text = [](json::Arena&, const ResourceInfo&) { return json::Value(); };
  json::Arena arena;
  const json::Value document =
      json::Parse(arena, OpenApiV3(*catalog, "apis/extensions/v1beta1", no_text).value()).value();
  EXPECT_TRUE(document["paths"].Has("/apis/extensions/v1beta1/namespaces/{namespace}/deployments"));
  EXPECT_FALSE(document["paths"].Has(
      "/apis/extensions/v1beta1/namespaces/{namespace}/replicationcontrollers"));
}

TEST_F(CatalogTest, DescribesWhatKubernetesDroppedInOpenApi) {
  LegacyOptions legacy{.minor = 13, .plugins = {}, .initializers = true};
  const auto catalog = Catalog::BuiltIn({}, legacy).value();
  const SchemaText no_text = [](json::Arena&, const ResourceInfo&) { return json::Value(); };
  json::Arena arena;
  const auto group = "apis/admissionregistration.k8s.io/v1alpha1";
  const json::Value v3 = json::Parse(arena, OpenApiV3(*catalog, group, no_text).value()).value();
  const std::string package = "io.k8s.api.admissionregistration.v1alpha1.";
  const json::Value schemas = v3["components"]["schemas"];
  const json::Value configuration = schemas[package + "InitializerConfiguration"];
  EXPECT_EQ(configuration["properties"]["initializers"]["x-kubernetes-patch-merge-key"].AsString(),
            "name");
  EXPECT_TRUE(schemas[package + "Rule"].is_object());
  EXPECT_TRUE(schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"].is_object());
  EXPECT_TRUE(v3["paths"].Has(base::StrCat("/", group, "/initializerconfigurations/{name}")));
  const json::Value core =
      json::Parse(arena, OpenApiV3(*catalog, "api/v1", no_text).value()).value();
  const std::string meta = "io.k8s.apimachinery.pkg.apis.meta.v1.";
  const json::Value types = core["components"]["schemas"];
  EXPECT_EQ(types[meta + "ObjectMeta"]["properties"]["initializers"]["$ref"].AsString(),
            "#/components/schemas/" + meta + "Initializers");
  EXPECT_EQ(types[meta + "Initializers"]["properties"]["pending"]["x-kubernetes-patch-merge-key"]
                .AsString(),
            "name");
  EXPECT_TRUE(types[meta + "Initializer"]["properties"].Has("name"));
  const json::Value apps =
      json::Parse(arena, OpenApiV3(*catalog, "apis/extensions/v1beta1", no_text).value()).value();
  EXPECT_TRUE(apps["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"].is_object());
  const json::Value v2 = json::Parse(arena, OpenApiV2(*catalog, no_text).value()).value();
  EXPECT_TRUE(v2["definitions"].Has(package + "InitializerConfigurationList"));
  EXPECT_EQ(v2["definitions"][meta + "ObjectMeta"]["properties"]["initializers"]["$ref"].AsString(),
            "#/definitions/" + meta + "Initializers");
  EXPECT_FALSE(json::Parse(arena, OpenApiV2(*builtin_, no_text).value())
                   .value()["definitions"]
                   .Has(package + "InitializerConfigurationList"));
}

TEST_F(CatalogTest, OnlyServersWithInitializersKnowTheField) {
  EXPECT_EQ(builtin_->object_meta()->FindField("initializers"), nullptr);
  const auto with = Catalog::BuiltIn({}, {.initializers = true}).value();
  const schema::Field* field = with->object_meta()->FindField("initializers");
  ASSERT_NE(field, nullptr);
  EXPECT_NE(field->schema->FindField("pending"), nullptr);
}

// Up to 1.12, a group that does not exist is a version that does not (F-7).
TEST_F(CatalogTest, OldReleasesWordUnknownGroupsTheirWay) {
  EXPECT_EQ(Catalog::BuiltIn({{"apis/admissionregistration.k8s.io/v1alpha1", true}}, {.minor = 7})
                .status()
                .message(),
            "group version apis/admissionregistration.k8s.io that has not been registered");
}

// docs/legacy.md, section "Flags".
TEST_F(CatalogTest, AServerThatWouldServeNothingDoesNotStart) {
  const auto error = [](const RuntimeConfig& config, int minor) {
    return Catalog::BuiltIn(config, {.minor = minor}).status().message();
  };
  const RuntimeConfig nothing = {{"api/all", false}};
  EXPECT_EQ(error(nothing, 36), "invalid runtime-config with only api/all=false");
  EXPECT_EQ(error(nothing, 13), "invalid key with only api/all=false");
  EXPECT_EQ(error(nothing, 12), "");
  EXPECT_EQ(error({{"api/all", false}, {"api/v1", true}}, 36), "");
}

TEST_F(CatalogTest, In17ResourcesAreOfVersionsThatAreEnabled) {
  const RuntimeConfig config = {{"extensions/v1beta1", false},
                                {"extensions/v1beta1/deployments", true}};
  EXPECT_EQ(Catalog::BuiltIn(config, {.minor = 7}).status().message(),
            "extensions/v1beta1 is disabled, you cannot configure its resources individually");
  const auto later = Catalog::BuiltIn(config, {.minor = 8});
  ASSERT_TRUE(later.ok());
  EXPECT_NE((*later)->Find("extensions", "v1beta1", "deployments"), nullptr);
}

TEST_F(CatalogTest, TellsWhichResourcesAreTheSame) {
  const ResourceInfo* v1 = builtin_->Find("autoscaling", "v1", "horizontalpodautoscalers");
  const auto same = builtin_->Equivalents(*v1);
  ASSERT_EQ(same.size(), 2U);
  EXPECT_EQ(same[0], v1);
  EXPECT_EQ(same[1]->kind.version, "v2");
  const auto events = builtin_->Equivalents(*builtin_->Find("", "v1", "events"));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1]->resource.group, "events.k8s.io");
  EXPECT_EQ(builtin_->Equivalents(*builtin_->Find("", "v1", "pods")).size(), 1U);
}

TEST_F(CatalogTest, HashesStorageVersionsAsKubernetes) {
  EXPECT_EQ(StorageVersionHash({"", "v1", "ConfigMap"}), "qFsyl6wFWjQ=");
  EXPECT_EQ(builtin_->Find("", "v1", "configmaps")->storage_version_hash, "qFsyl6wFWjQ=");
}

TEST_F(CatalogTest, AddsCustomResources) {
  const ResourceInfo* crontabs = catalog_->Find("stable.example.com", "v1", "crontabs");
  ASSERT_NE(crontabs, nullptr);
  EXPECT_EQ(builtin_->Find("stable.example.com", "v1", "crontabs"), nullptr);
  EXPECT_TRUE(crontabs->custom);
  EXPECT_EQ(crontabs->columns.size(), 2U);  // those before the one that cannot be read
  EXPECT_EQ(crontabs->scale->spec_replicas, ".spec.replicas");
  EXPECT_EQ(catalog_->groups().back().name, "stable.example.com");
  EXPECT_EQ(catalog_->Find("stable.example.com", "v1alpha1", "crontabs"), nullptr);
  const ResourceInfo* beta = catalog_->Find("stable.example.com", "v1beta1", "crontabs");
  EXPECT_EQ(beta->deprecation_warning,
            "stable.example.com/v1beta1 CronTab is deprecated; use stable.example.com/v1 CronTab");
  EXPECT_EQ(catalog_->Equivalents(*crontabs).size(), 2U);
  EXPECT_LT(custom_->bytes_used(), 200'000U);
}

TEST_F(CatalogTest, CustomResourcesInGroupsOfKubernetesAreListedButNotServed) {
  const auto catalog = WithCronTabAs({{"stable.example.com", "networking.k8s.io"}});
  EXPECT_EQ(catalog->Find("networking.k8s.io", "v1", "crontabs"), nullptr);
  EXPECT_EQ(catalog->FindKind({"networking.k8s.io", "v1", "CronTab"}), nullptr);
  EXPECT_FALSE(catalog->ServesVersion("networking.k8s.io", "v1beta1"));
  EXPECT_EQ(catalog->resources().size(), builtin_->resources().size());
  EXPECT_EQ(catalog->shadowed().size(), 2U);
  // Discovery lists the version that Kubernetes does not have before its own.
  const json::Value group = LegacyGroup(arena_, *catalog, "networking.k8s.io");
  EXPECT_EQ(json::ToString(group["versions"]),
            R"([{"groupVersion":"networking.k8s.io/v1beta1","version":"v1beta1"},)"
            R"({"groupVersion":"networking.k8s.io/v1","version":"v1"}])");
  EXPECT_EQ(group["preferredVersion"]["version"].AsString(), "v1beta1");
  EXPECT_TRUE(LegacyResourceList(arena_, *catalog, "networking.k8s.io", "v1beta1").is_null());
  const json::Value all = AggregatedDiscovery(arena_, *catalog, false, "v2");
  for (const json::Value& each : all["items"].elements()) {
    if (each["metadata"]["name"].AsString() != "networking.k8s.io") continue;
    ASSERT_EQ(each["versions"].size(), 2U);
    EXPECT_EQ(json::ToString(each["versions"][0]["resources"][0]["responseKind"]),
              R"({"group":"networking.k8s.io","version":"v1beta1","kind":"CronTab"})");
  }
  const auto no_text = [](json::Arena&, const ResourceInfo&) { return json::Value(); };
  const json::Value v2 = json::Parse(arena_, OpenApiV2(*catalog, no_text).value()).value();
  EXPECT_TRUE(v2["definitions"].Has("io.k8s.networking.v1.CronTab"));
  const json::Value v3 =
      json::Parse(arena_, OpenApiV3(*catalog, "apis/networking.k8s.io/v1", no_text).value())
          .value();
  for (const std::string_view name :
       {"io.k8s.networking.v1.CronTab", "io.k8s.api.networking.v1.Ingress"}) {
    EXPECT_TRUE(v3["components"]["schemas"].Has(name)) << name;
  }
  EXPECT_TRUE(v3["paths"].Has("/apis/networking.k8s.io/v1/crontabs"));
  EXPECT_TRUE(v3["paths"].Has("/apis/networking.k8s.io/v1/ingresses"));
}

// Answers of a kube-apiserver.
TEST_F(CatalogTest, ADefinitionNamedLikeThatOfDefinitionsIsInOpenApiV3Alone) {
  const auto catalog = WithCronTabAs(
      {{"stable.example.com", "apiextensions.k8s.io"}, {"crontabs", "customresourcedefinitions"}});
  const auto no_text = [](json::Arena&, const ResourceInfo&) { return json::Value(); };
  constexpr std::string_view kPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const json::Value v2 = json::Parse(arena_, OpenApiV2(*catalog, no_text).value()).value();
  const json::Value before = json::Parse(arena_, OpenApiV2(*builtin_, no_text).value()).value();
  EXPECT_TRUE(v2["paths"][kPath] == before["paths"][kPath]);
  EXPECT_FALSE(v2["definitions"].Has("io.k8s.apiextensions.v1.CronTab"));
  const json::Value v3 =
      json::Parse(arena_, OpenApiV3(*catalog, "apis/apiextensions.k8s.io/v1", no_text).value())
          .value();
  EXPECT_TRUE(v3["paths"].Has(kPath));
  EXPECT_FALSE(v3["paths"].Has("/apis/apiextensions.k8s.io/v1/"));
  EXPECT_TRUE(v3["components"]["schemas"].Has("io.k8s.apiextensions.v1.CronTab"));
}

// Names of a kube-apiserver.
TEST_F(CatalogTest, ACustomResourceTakesNoDefinitionOfKubernetesInOpenApiV2) {
  const auto catalog =
      WithCronTabAs({{"stable.example.com", "apps.api.k8s.io"}, {"CronTab", "Deployment"}});
  const auto no_text = [](json::Arena&, const ResourceInfo&) { return json::Value(); };
  const json::Value v2 = json::Parse(arena_, OpenApiV2(*catalog, no_text).value()).value();
  const auto kind_of = [&](std::string_view name) {
    return v2["definitions"][name]["x-kubernetes-group-version-kind"][0]["group"].AsString();
  };
  EXPECT_EQ(kind_of("io.k8s.api.apps.v1.Deployment"), "apps");
  EXPECT_EQ(kind_of("io.k8s.api.apps.v1.Deployment_v2"), "apps.api.k8s.io");
  EXPECT_EQ(kind_of("io.k8s.api.apps.v1.DeploymentList_v2"), "apps.api.k8s.io");
  const json::Value paths = v2["paths"];
  const json::Value read = paths["/apis/apps.api.k8s.io/v1/namespaces/{namespace}/crontabs/{name}"];
  EXPECT_EQ(read["get"]["responses"]["200"]["schema"]["$ref"].AsString(),
            "#/definitions/io.k8s.api.apps.v1.Deployment_v2");
}

TEST_F(CatalogTest, PrunesAndDefaultsCustomObjects) {
  const schema::Schema& schema = *catalog_->Find("stable.example.com", "v1", "crontabs")->schema;
  const json::Value input =
      json::Parse(arena_, R"({"apiVersion":"stable.example.com/v1","kind":"CronTab","foo":1,
        "metadata":{"name":"c","zzz":1,"creationTimestamp":null},
        "spec":{"cronSpec":"x","other":2,"replicas":null,"map":{"a":"b"},"list":[{"y":1}],
                "free":{"any":{"thing":1},"known":{"a":"1","b":"2"}}}})")
          .value();
  std::vector<std::string> unknown;
  const json::Value pruned = schema::Prune(arena_, schema, input, true, &unknown);
  EXPECT_EQ(unknown, (std::vector<std::string>{"metadata.zzz", "foo", "spec.free.known.b",
                                               "spec.list[0].y", "spec.other"}));
  const json::Value full = schema::ApplySchemaDefaults(arena_, schema, pruned).value();
  EXPECT_EQ(json::ToString(full),
            R"({"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"c"},)"
            R"("spec":{"cronSpec":"x","replicas":1,"map":{"a":"b"},"list":[{"x":"d"}],)"
            R"("free":{"any":{"thing":1},"known":{"a":"1"}}}})");
}

TEST_F(CatalogTest, DefaultsOfManyElementsCostMemoryOfTheirNumberOnly) {
  const schema::Schema& schema = *catalog_->Find("stable.example.com", "v1", "crontabs")->schema;
  std::string text = R"({"spec":{"list":[{})";
  for (int i = 0; i < 20000; ++i) text += ",{}";
  const json::Value object = json::Parse(arena_, text + "]}}").value();
  json::Arena scratch;
  const json::Value full = schema::ApplySchemaDefaults(scratch, schema, object).value();
  EXPECT_EQ(full["spec"]["list"][19999]["x"].AsString(), "d");
  EXPECT_LT(scratch.bytes_used(), 20'000'000U);
}

TEST_F(CatalogTest, DefaultsStopAtWhatCanNeverBeStored) {
  std::string definition(kCronTab);
  const std::string mark = R"("default":"d")";
  definition.replace(definition.find(mark), mark.size(),
                     R"("default":")" + std::string(100'000, 'd') + '"');
  const auto custom =
      CustomResources::Compile(json::Parse(arena_, definition).value(), {builtin_->object_meta()});
  const auto catalog = builtin_->WithCustomResources({custom.value()});
  const schema::Schema& schema = *catalog->Find("stable.example.com", "v1", "crontabs")->schema;
  std::string text = R"({"spec":{"list":[{})";
  for (int i = 0; i < 20000; ++i) text += ",{}";
  const json::Value object = json::Parse(arena_, text + "]}}").value();
  json::Arena scratch;
  const auto full = schema::ApplySchemaDefaults(scratch, schema, object);
  EXPECT_EQ(full.status().message(), "etcdserver: request is too large");
  EXPECT_LT(scratch.bytes_used(), 1'000'000U);
}

TEST_F(CatalogTest, AListMayPreserveTheUnknownFieldsOfItsElements) {
  const auto pruned = [&](std::string_view props, std::string_view list) {
    schema::SchemaPool pool;
    const std::string text = base::StrCat(R"({"type":"object","properties":{"list":)", props, "}}");
    const schema::Schema* schema =
        schema::MakeStructural(pool, json::Parse(arena_, text).value(), builtin_->object_meta());
    const auto input = json::Parse(arena_, base::StrCat(R"({"list":)", list, "}"));
    return json::ToString(schema::Prune(arena_, *schema, *input, true, nullptr)["list"]);
  };
  constexpr std::string_view kElements =
      R"("items":{"type":"object","properties":{"in":{"type":"object"}}})";
  const std::string keeps = base::StrCat(
      R"({"type":"array","x-kubernetes-preserve-unknown-fields":true,)", kElements, "}");
  EXPECT_EQ(pruned(keeps, R"([{"odd":1,"in":{"odd":2}}])"), R"([{"odd":1,"in":{}}])");
  EXPECT_EQ(pruned(base::StrCat(R"({"type":"array",)", kElements, "}"), R"([{"odd":1,"in":{}}])"),
            R"([{"in":{}}])");
}

TEST_F(CatalogTest, OldDefinitionsPreserveUnknownFieldsEverywhere) {
  schema::SchemaPool pool;
  const auto props = json::Parse(arena_, R"({"type":"object","properties":{"spec":{"properties":{
      "l":{"type":"array","items":{"type":"object"}}}}}})");
  const schema::Schema* schema =
      schema::MakeStructural(pool, *props, builtin_->object_meta(), /*preserves=*/true);
  const auto input = json::Parse(arena_, R"({"x":1,"spec":{"y":null,"l":[{"z":1}]}})");
  EXPECT_EQ(schema::Prune(arena_, *schema, *input, true, nullptr), *input);
}

TEST_F(CatalogTest, EmbeddedResourcesHaveTheFieldsOfResources) {
  schema::SchemaPool pool;
  const auto props = json::Parse(arena_, R"({"type":"object","properties":{"e":{"type":"object",
      "x-kubernetes-embedded-resource":true,"properties":{"metadata":{"type":"object"}}}}})");
  const schema::Schema* schema = schema::MakeStructural(pool, *props, builtin_->object_meta());
  const schema::Schema* embedded = schema->FindField("e")->schema;
  ASSERT_NE(embedded->FindField("kind"), nullptr);
  EXPECT_EQ(embedded->FindField("apiVersion")->schema->kind, schema::Kind::kString);
  EXPECT_EQ(embedded->FindField("metadata")->schema, builtin_->object_meta());
}

TEST_F(CatalogTest, PruningDropsMetadataOfAWrongType) {
  const schema::Schema& schema = *catalog_->Find("stable.example.com", "v1", "crontabs")->schema;
  const json::Value input = json::Parse(arena_, R"({"metadata":{"name":"c","labels":{"a":1},
      "finalizers":"x","annotations":{"a":"b"}}})")
                                .value();
  EXPECT_EQ(json::ToString(schema::Prune(arena_, schema, input, true, nullptr)),
            R"({"metadata":{"name":"c","annotations":{"a":"b"}}})");
}

TEST_F(CatalogTest, DescribesCustomResourcesInDiscoveryAndOpenApi) {
  const json::Value list = LegacyResourceList(arena_, *catalog_, "stable.example.com", "v1");
  EXPECT_EQ(list["resources"].size(), 3U);
  const json::Value groups = AggregatedDiscovery(arena_, *catalog_, false, "v2")["items"];
  EXPECT_EQ(groups[groups.size() - 1]["metadata"]["name"].AsString(), "stable.example.com");
  const auto paths = OpenApiV3Paths(*catalog_);
  ASSERT_TRUE(paths.ok());
  EXPECT_EQ(std::count_if(paths->begin(), paths->end(),
                          [](const OpenApiV3Path& p) {
                            return p.path.starts_with("apis/stable.example.com");
                          }),
            2);
  const SchemaText text = [](json::Arena& arena, const ResourceInfo& resource) {
    const json::Value versions = json::Parse(arena, kCronTab).value()["spec"]["versions"];
    for (const json::Value& version : versions.elements()) {
      if (version["name"].AsString() == resource.resource.version) {
        return version["schema"]["openAPIV3Schema"];
      }
    }
    return json::Value();
  };
  const auto v3 = OpenApiV3(*catalog_, "apis/stable.example.com/v1", text);
  ASSERT_TRUE(v3.ok());
  const json::Value document = json::Parse(arena_, *v3).value();
  EXPECT_TRUE(document["components"]["schemas"].Has("com.example.stable.v1.CronTab"));
  EXPECT_TRUE(document["components"]["schemas"].Has("io.k8s.api.autoscaling.v1.ScaleSpec"));
  const json::Value item =
      document["paths"]["/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}/scale"];
  EXPECT_EQ(item["patch"]["operationId"].AsString(),
            "patchStableExampleComV1NamespacedCronTabScale");
  EXPECT_EQ(json::ToString(item["put"]["requestBody"]["content"]["application/yaml"]),
            R"({"schema":{"$ref":"#/components/schemas/io.k8s.api.autoscaling.v1.Scale"}})");
  EXPECT_FALSE(OpenApiV3(*catalog_, "apis/none/v1", text).ok());
}

// As kube-apiserver writes them, without descriptions of parameters.
TEST_F(CatalogTest, DescribesTheOperationsOfCustomResourcesInVersion2OfOpenApi) {
  const SchemaText none = [](json::Arena&, const ResourceInfo&) { return json::Value(); };
  const json::Value document = json::Parse(arena_, OpenApiV2(*catalog_, none).value()).value();
  EXPECT_TRUE(document["definitions"].Has("com.example.stable.v1.CronTab"));
  const std::string root = "/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}";
  const json::Value item = document["paths"][root];
  EXPECT_EQ(
      json::ToString(item["patch"], {.sort_keys = true}),
      R"({"consumes":["application/json-patch+json","application/merge-patch+json",)"
      R"("application/apply-patch+yaml"],)"
      R"("description":"partially update the specified CronTab",)"
      R"("operationId":"patchStableExampleComV1NamespacedCronTab",)"
      R"("parameters":[{"$ref":"#/parameters/body-78PwaGsr"},)"
      R"({"in":"query","name":"dryRun","type":"string","uniqueItems":true},)"
      R"({"$ref":"#/parameters/fieldManager-7c6nTn1T"},)"
      R"({"in":"query","name":"fieldValidation","type":"string","uniqueItems":true},)"
      R"({"$ref":"#/parameters/force-tOGGb0Yi"}],)"
      R"("produces":["application/json","application/yaml"],)"
      R"("responses":{"200":{"description":"OK",)"
      R"("schema":{"$ref":"#/definitions/com.example.stable.v1.CronTab"}},)"
      R"("401":{"description":"Unauthorized"}},"schemes":["https"],"tags":["stableExampleCom_v1"],)"
      R"("x-kubernetes-action":"patch","x-kubernetes-group-version-kind":)"
      R"({"group":"stable.example.com","kind":"CronTab","version":"v1"}})");
  const json::Value replaced = document["paths"][root + "/scale"]["put"];
  EXPECT_EQ(replaced["description"].AsString(), "replace scale of the specified CronTab");
  const json::Value listed = document["paths"]["/api/v1/pods"]["get"];
  EXPECT_EQ(json::ToString(listed["responses"]["401"]), R"({"description":"Unauthorized"})");
  EXPECT_EQ(json::ToString(replaced["parameters"][0], {.sort_keys = true}),
            R"({"in":"body","name":"body","required":true,)"
            R"("schema":{"$ref":"#/definitions/io.k8s.api.autoscaling.v1.Scale"}})");
  for (const json::Member& path : document["paths"].members()) {
    if (path.name().find("stable.example.com/v1/") == std::string_view::npos) continue;
    for (const json::Member& operation : path.value.members()) {
      const json::Value given =
          operation.name() == "parameters" ? operation.value : operation.value["parameters"];
      for (const json::Value& parameter : given.elements()) {
        const std::string_view reference = parameter["$ref"].AsString();
        if (reference.empty()) continue;
        EXPECT_TRUE(document["parameters"].Has(reference.substr(reference.rfind('/') + 1)))
            << reference;
      }
    }
  }
}

TEST_F(CatalogTest, DescribesOnlyWhatIsServed) {
  const auto all = Catalog::BuiltIn({{"resource.k8s.io/v1beta1", true}});
  ASSERT_TRUE(all.ok());
  const json::Value served = json::Parse(arena_, OpenApiV2(*builtin_, {}).value()).value();
  const json::Value more = json::Parse(arena_, OpenApiV2(**all, {}).value()).value();
  constexpr std::string_view kPath = "/apis/resource.k8s.io/v1beta1/deviceclasses";
  constexpr std::string_view kDefinition = "io.k8s.api.resource.v1beta1.DeviceClass";

  EXPECT_FALSE(served["paths"].Has(kPath));
  EXPECT_FALSE(served["definitions"].Has(kDefinition));
  EXPECT_TRUE(more["paths"].Has(kPath));
  EXPECT_TRUE(more["definitions"].Has(kDefinition));
  EXPECT_TRUE(served["definitions"].Has("io.k8s.api.resource.v1.DeviceClass"));
  EXPECT_TRUE(served["definitions"].Has("io.k8s.apimachinery.pkg.apis.meta.v1.Patch"));
}

}  // namespace
}  // namespace portcullis::api::catalog
