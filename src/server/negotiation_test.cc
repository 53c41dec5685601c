#include "server/negotiation.h"

#include <gtest/gtest.h>

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
    {"application/yaml", 200, MediaType::kYaml, Form::kObject},
    {"application/json;q=0.5, application/yaml", 200, MediaType::kYaml, Form::kObject},
    {"application/vnd.kubernetes.protobuf, application/json", 200, MediaType::kJson, Form::kObject},
    {"application/vnd.kubernetes.protobuf", 406, MediaType::kJson, Form::kObject},
    {"text/html", 406, MediaType::kJson, Form::kObject},
    {"application/json;as=Table;v=v1;g=meta.k8s.io,application/json", 200, MediaType::kJson,
     Form::kTable},
    {"application/json;as=Table;v=v2;g=meta.k8s.io,application/json", 200, MediaType::kJson,
     Form::kObject},
    {"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", 200, MediaType::kJson,
     Form::kPartialObjectList},
    {"application/json;as=Nonsense;g=meta.k8s.io;v=v1", 406, MediaType::kJson, Form::kObject},
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

TEST(Negotiation, PeopleGetPrettyAnswers) {
  EXPECT_TRUE(NegotiateOutput("", "", "curl/8.0", Offers::kObjectOnly)->pretty);
  EXPECT_TRUE(NegotiateOutput("", "true", "kubectl", Offers::kObjectOnly)->pretty);
  EXPECT_FALSE(NegotiateOutput("", "false", "curl/8.0", Offers::kObjectOnly)->pretty);
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

TEST(Negotiation, AggregatedDiscoveryMustBePreferred) {
  std::string version;

  EXPECT_TRUE(AsksForAggregatedDiscovery(
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
      version));
  EXPECT_EQ(version, "v2");
  EXPECT_FALSE(AsksForAggregatedDiscovery("application/json", version));
}

}  // namespace
}  // namespace portcullis::server
