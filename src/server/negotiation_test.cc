// SPDX-License-Identifier: Apache-2.0

#include "server/negotiation.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace portcullis::server {
namespace {

struct Case {
  std::string_view accept;
  int code;
  MediaType type;
  Form form;
};
constexpr Case kCases[] = {
    {"", 200, MediaType::kJson, Form::kObject},
    {"*/*", 200, MediaType::kJson, Form::kObject},
    {"*", 200, MediaType::kJson, Form::kObject},
    {"application/*", 200, MediaType::kJson, Form::kObject},
    {"application/yaml", 200, MediaType::kYaml, Form::kObject},
    {"application/json;q=0.5, application/yaml", 200, MediaType::kYaml, Form::kObject},
    {"application/vnd.kubernetes.protobuf, application/json", 200, MediaType::kProtobuf,
     Form::kObject},
    {"application/json,application/vnd.kubernetes.protobuf", 200, MediaType::kJson, Form::kObject},
    {"*/*;q=0.1,application/vnd.kubernetes.protobuf", 200, MediaType::kProtobuf, Form::kObject},
    {"application/json;q=a,application/vnd.kubernetes.protobuf;q=0.1", 200, MediaType::kProtobuf,
     Form::kObject},
    {"Application/JSON", 406, MediaType::kJson, Form::kObject},
    {"text/html", 406, MediaType::kJson, Form::kObject},
    {"application/cbor", 406, MediaType::kJson, Form::kObject},
    {"application/json;as=Table;v=v1;g=meta.k8s.io,application/json", 200, MediaType::kJson,
     Form::kTable},
    {"application/json;as=Table;v=v2;g=meta.k8s.io,application/json", 200, MediaType::kJson,
     Form::kObject},
    {"application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/yaml", 200,
     MediaType::kYaml, Form::kObject},
    {"application/json;as=\"Table\";v=v1;g=meta.k8s.io", 406, MediaType::kJson, Form::kObject},
    {"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", 200, MediaType::kJson,
     Form::kPartialObjectList},
    {"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1", 200,
     MediaType::kProtobuf, Form::kPartialObject},
    {"application/json;as=Nonsense;g=meta.k8s.io;v=v1", 406, MediaType::kJson, Form::kObject},
    {"application/json;v=v1", 406, MediaType::kJson, Form::kObject},
    {"application/json;sv=v1", 200, MediaType::kJson, Form::kObject},
    {"application/json;sv=v2", 406, MediaType::kJson, Form::kObject},
    {"application/vnd.kubernetes.protobuf;stream=watch", 200, MediaType::kProtobuf, Form::kObject},
    {"application/vnd.kubernetes.protobuf;stream=other", 406, MediaType::kJson, Form::kObject},
    {"application/yaml;stream=watch", 406, MediaType::kJson, Form::kObject},
    {"application/json;charset=utf-8", 200, MediaType::kJson, Form::kObject},
};

TEST(Negotiation, ChoosesTheFirstFormItCanWrite) {
  for (const Case& row : kCases) {
    const auto accepted = NegotiateOutput(row.accept, "", "", Offers::kTableAndMetadata);

    EXPECT_EQ(accepted.status().http_code(), row.code) << row.accept;
    if (!accepted.ok()) continue;
    EXPECT_EQ(accepted->type, row.type) << row.accept;
    EXPECT_EQ(accepted->form, row.form) << row.accept;
  }
}

TEST(Negotiation, OnlyTheMetadataOfCustomResourcesIsProtobuf) {
  constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";
  const auto type = [](std::string_view accept) {
    return NegotiateOutput(accept, "", "", Offers::kCustomResource);
  };
  EXPECT_FALSE(type(kProtobuf).ok());
  EXPECT_EQ(type(base::StrCat(kProtobuf, ",application/json"))->type, MediaType::kJson);
  const auto metadata =
      type(base::StrCat(kProtobuf, ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"));
  EXPECT_EQ(metadata->type, MediaType::kProtobuf);
  EXPECT_EQ(metadata->form, Form::kPartialObject);
}

TEST(Negotiation, CborIsTheLastOfTheTypesWhereItIsServed) {
  const auto negotiate = [](std::string_view accept) {
    return NegotiateOutput(accept, "", "", Offers::kTableAndMetadata, true);
  };
  EXPECT_EQ(negotiate("application/cbor,application/json;q=0.6")->type, MediaType::kCbor);
  EXPECT_EQ(negotiate("application/cbor;stream=watch")->StreamContentType(),
            "application/cbor-seq");
  EXPECT_EQ(negotiate("application/*")->type, MediaType::kJson);
  EXPECT_EQ(negotiate("application/cbor;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")->form,
            Form::kPartialObject);
  for (std::string_view refused :
       {"application/cbor;as=Table;g=meta.k8s.io;v=v1", "application/cbor-seq"}) {
    EXPECT_EQ(negotiate(refused).status().message(),
              "only the following media types are accepted: application/json, application/yaml, "
              "application/vnd.kubernetes.protobuf, application/cbor")
        << refused;
  }
  EXPECT_EQ(*NegotiateInput("application/cbor", true), MediaType::kCbor);
  EXPECT_FALSE(NegotiateInput("application/cbor").ok());
}

TEST(Negotiation, RoutersKnowNoParameters) {
  constexpr std::string_view kText = "application/json, application/yaml";
  for (std::string_view accept : {"", "*/*;q=x", "a, application/yaml;as=Nonsense", " */* "}) {
    EXPECT_TRUE(CheckAcceptedTypes(accept, kText).ok()) << accept;
  }
  for (std::string_view accept : {"*", "application/*", "application/JSON", "json", " "}) {
    EXPECT_EQ(CheckAcceptedTypes(accept, kText).http_code(), 406) << accept;
  }
  EXPECT_EQ(CheckAcceptedTypes("text/html", kText).message(),
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml");
  EXPECT_TRUE(CheckContentType("application/yaml; charset=x", kText).ok());
  EXPECT_EQ(CheckContentType("", kText).message(), "415: Unsupported Media Type");
}

TEST(Negotiation, PeopleGetPrettyAnswers) {
  EXPECT_TRUE(NegotiateOutput("", "", "curl/8.0", Offers::kObjectOnly)->pretty);
  EXPECT_TRUE(NegotiateOutput("", "true", "kubectl", Offers::kObjectOnly)->pretty);
  EXPECT_FALSE(NegotiateOutput("", "false", "curl/8.0", Offers::kObjectOnly)->pretty);
  EXPECT_FALSE(NegotiateOutput("", "maybe", "curl/8.0", Offers::kObjectOnly)->pretty);
  EXPECT_TRUE(NegotiateOutput("application/json;pretty=1", "", "", Offers::kObjectOnly)->pretty);
}

TEST(Negotiation, BodiesOfUnknownTypesAreRefused) {
  EXPECT_EQ(*NegotiateInput(""), MediaType::kJson);
  EXPECT_EQ(*NegotiateInput("Application/JSON; charset=utf-8"), MediaType::kJson);
  EXPECT_EQ(*NegotiateInput("application/vnd.kubernetes.protobuf"), MediaType::kProtobuf);
  EXPECT_EQ(NegotiateInput("text/plain").status().http_code(), 415);
  EXPECT_EQ(*NegotiateInput("application/yaml; a=\"b;c\" ; d=e;"), MediaType::kYaml);
  for (std::string_view wrong :
       {"application/yaml; x", "application/json; =b",
        "application/json; a=", "application/json; a=\"b", "application/json; a=b; A=c",
        "application/json; a b=c", "application/json;; a=b"}) {
    EXPECT_EQ(NegotiateInput(wrong).status().http_code(), 415) << wrong;
  }
}

TEST(Negotiation, AggregatedDiscoveryIsFoundAmongOthers) {
  const auto negotiate = [](std::string_view accept) {
    return NegotiateOutput(accept, "", "", Offers::kAggregatedDiscovery);
  };
  const auto accepted = negotiate(
      "application/json,application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  EXPECT_EQ(accepted->type, MediaType::kYaml);
  EXPECT_EQ(accepted->form_version, "v2");
  EXPECT_FALSE(negotiate("application/json").ok());
  EXPECT_FALSE(negotiate("").ok());
}

}  // namespace
}  // namespace portcullis::server
