// SPDX-License-Identifier: Apache-2.0

#include "webhook/review.h"

#include <gtest/gtest.h>

#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::webhook {
namespace {

constexpr std::string_view kUid = "u-1";

std::string Decode(std::string_view body, ReviewVersion sent = ReviewVersion::kV1) {
  json::Arena arena;
  auto review = DecodeReview(arena, sent, 200, "application/json", body);
  return review.ok() ? json::ToString(*review) : review.status().message();
}

// The error of verifying a decoded answer, or "ok".
std::string Verify(std::string_view body, HookType type = HookType::kMutating,
                   ReviewVersion sent = ReviewVersion::kV1) {
  json::Arena arena;
  auto review = DecodeReview(arena, sent, 200, "", body);
  if (!review.ok()) return review.status().message();
  auto answer = VerifyReview(*review, sent, type, kUid);
  return answer.ok() ? "ok" : answer.status().message();
}

std::string Envelope(std::string_view response, std::string_view version = "v1") {
  return std::string("{\"apiVersion\":\"admission.k8s.io/") + std::string(version) +
         "\",\"kind\":\"AdmissionReview\",\"response\":" + std::string(response) + "}";
}

struct Case {
  std::string_view name, body, error;
};

TEST(DecodeReviewTest, WordsErrorsAsGoDoes) {
  const std::string missing_kind =
      " into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; "
      "Kind string \"json:\\\"kind,omitempty\\\"\" }";
  const Case cases[] = {
      {"empty", "", "0-length response with status code: 200 and content type: application/json"},
      {"half JSON", "{",
       "couldn't get version/kind; json parse error: unexpected end of JSON input"},
      {"unknown version", R"({"apiVersion":"admission.k8s.io/v9","kind":"AdmissionReview"})",
       "no kind \"AdmissionReview\" is registered for version \"admission.k8s.io/v9\" in scheme "
       "\"k8s.io/apiserver/pkg/util/webhook/client.go:54\""},
      {"other version", R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"})",
       "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion"},
      {"a Status", R"({"apiVersion":"v1","kind":"Status"})",
       "converting (v1.Status) to (v1.AdmissionReview): unknown conversion"},
      {"allowed no bool", R"({"response":{"allowed":"yes"}})",
       "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of "
       "type bool"},
      {"annotations no strings", R"({"response":{"auditAnnotations":{"n":1}}})",
       "json: cannot unmarshal number into Go struct field "
       "AdmissionResponse.response.auditAnnotations of type string"},
      {"warnings no list", R"({"response":{"warnings":"oops"}})",
       "json: cannot unmarshal string into Go struct field AdmissionResponse.response.warnings of "
       "type []string"},
      {"code too large", R"({"response":{"status":{"code":99999999999}}})",
       "json: cannot unmarshal number 99999999999 into Go struct field Status.response.status.code "
       "of type int32"},
      {"bad base64", R"({"response":{"patch":"%%"}})", "illegal base64 data at input byte 0"},
  };
  for (const Case& c : cases) EXPECT_EQ(Decode(c.body), c.error) << c.name;
  EXPECT_EQ(
      Decode("plain text"),
      "couldn't get version/kind; json parse error: json: cannot unmarshal string" + missing_kind);
  EXPECT_EQ(
      Decode("[]"),
      "couldn't get version/kind; json parse error: json: cannot unmarshal array" + missing_kind);
}

TEST(DecodeReviewTest, DropsUnknownMembersAndReadsYaml) {
  EXPECT_EQ(Decode("response: {allowed: true, colour: red}"), R"({"response":{"allowed":true}})");
}

// What kube-apiserver makes of such answers as a whole is recorded in tests/decoding.
TEST(DecodeReviewTest, MergesRepeatedMembersAsGoDoes) {
  EXPECT_EQ(Decode(R"({"response":{"uid":"u","allowed":true},"response":{"allowed":false}})"),
            R"({"response":{"uid":"u","allowed":false}})");
  EXPECT_EQ(Decode(R"({"response":{"allowed":true},"response":null,"response":{"uid":"u"}})"),
            R"({"response":{"uid":"u"}})");
  EXPECT_EQ(
      Decode(R"({"response":{"allowed":true,"allowed":null,"warnings":["a"],"warnings":null}})"),
      R"({"response":{"allowed":true}})");
  EXPECT_EQ(Decode(R"({"response":{"allowed":"yes","allowed":true}})"),
            "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed "
            "of type bool");
}

TEST(VerifyReviewTest, ChecksV1Strictly) {
  const Case cases[] = {
      {"no response", R"({})", "webhook response was absent"},
      {"wrong uid", R"({"response":{"uid":"x","allowed":true}})",
       "expected response.uid=\"u-1\", got \"x\""},
      {"no kind", R"({"response":{"uid":"u-1","allowed":true}})",
       "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="},
  };
  for (const Case& c : cases) EXPECT_EQ(Verify(c.body), c.error) << c.name;
  EXPECT_EQ(Verify(Envelope(R"({"uid":"u-1","allowed":true})")), "ok");
  EXPECT_EQ(Verify(Envelope(R"({"uid":"u-1","allowed":true,"patch":"W10="})")),
            "webhook returned response.patch but not response.patchType");
  EXPECT_EQ(Verify(Envelope(R"({"uid":"u-1","allowed":true,"patchType":"JSONPatch"})")),
            "webhook returned response.patchType but not response.patch");
  EXPECT_EQ(Verify(Envelope(R"({"uid":"u-1","patch":"W10=","patchType":""})")),
            "webhook returned invalid response.patchType of \"\"");
  EXPECT_EQ(Verify(Envelope(R"({"uid":"u-1","patch":"W10="})"), HookType::kValidating),
            "validating webhook may not return response.patch");
  EXPECT_EQ(Verify(Envelope(R"({"uid":"u-1","patchType":"JSONPatch"})"), HookType::kValidating),
            "validating webhook may not return response.patchType");
}

// docs/legacy.md, B-5.
TEST(VerifyReviewTest, TakesV1beta1AsItComes) {
  EXPECT_EQ(Verify(R"({"response":{"allowed":true,"patch":"W10="}})", HookType::kMutating,
                   ReviewVersion::kV1beta1),
            "ok");
  EXPECT_EQ(Verify(R"({"response":{"allowed":true,"patch":"W10="}})", HookType::kValidating,
                   ReviewVersion::kV1beta1),
            "ok");
}

base::Status DenialOf(std::string_view status_json, const Dialect& dialect = {}) {
  json::Arena arena;
  return DenialStatus("w.x.y", *json::Parse(arena, status_json), dialect);
}

TEST(DenialStatusTest, MapsCodesAndMessages) {
  struct DenialCase {
    std::string_view status;
    int code;
    std::string_view reason, message;
  };
  constexpr DenialCase kCases[] = {
      {"null", 400, "", "admission webhook \"w.x.y\" denied the request without explanation"},
      {R"({"code":200})", 400, "",
       "admission webhook \"w.x.y\" denied the request without explanation"},
      {R"({"code":700,"message":"no"})", 700, "",
       "admission webhook \"w.x.y\" denied the request: no"},
      {R"({"reason":"Forbidden"})", 400, "Forbidden",
       "admission webhook \"w.x.y\" denied the request: Forbidden"},
      {R"({"reason":"MyOwn","message":"no","code":418})", 418, "MyOwn",
       "admission webhook \"w.x.y\" denied the request: no"},
  };
  for (const DenialCase& c : kCases) {
    const base::Status status = DenialOf(c.status);
    EXPECT_EQ(status.http_code(), c.code) << c.status;
    EXPECT_EQ(status.reason_text(), c.reason) << c.status;
    EXPECT_EQ(status.message(), c.message) << c.status;
  }
}

// Up to v1.14.
TEST(DenialStatusTest, KeepsTheCodeWhereTheReleaseDid) {
  const Dialect dialect{.keeps_denial_codes = true};
  EXPECT_EQ(DenialOf("null", dialect).http_code(), 500);
  EXPECT_EQ(DenialOf(R"({"code":100})", dialect).http_code(), 500);
  EXPECT_EQ(DenialOf(R"({"code":302})", dialect).http_code(), 302);
  EXPECT_EQ(DenialOf(R"({"code":403})", dialect).http_code(), 403);
}

TEST(EncodeReviewTest, WritesKubernetesOrder) {
  admission::Attributes attributes;
  attributes.operation = admission::kUpdate;
  attributes.resource = {"apps", "v1beta1", "deployments"};
  attributes.kind = {"apps", "v1beta1", "Deployment"};
  attributes.namespace_name = "prod";
  attributes.name = "web";
  attributes.user.name = "alice";
  json::Arena arena;
  admission::Recorder recorder;
  const json::Value object = *json::Parse(arena, R"({"kind":"Deployment"})");
  const admission::Request request(std::move(attributes), arena, recorder);
  const Invocation invocation = {{"apps", "v1", "Deployment"}, {"apps", "v1", "deployments"}};
  EXPECT_EQ(
      EncodeReviewFront(ReviewVersion::kV1, "u-1") +
          EncodeSharedPart(request, invocation, object, {}, {}),
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1",)"
      R"("kind":{"group":"apps","version":"v1","kind":"Deployment"},)"
      R"("resource":{"group":"apps","version":"v1","resource":"deployments"},)"
      R"("requestKind":{"group":"apps","version":"v1beta1","kind":"Deployment"},)"
      R"("requestResource":{"group":"apps","version":"v1beta1","resource":"deployments"},)"
      R"("name":"web","namespace":"prod","operation":"UPDATE","userInfo":{"username":"alice"},)"
      R"("object":{"kind":"Deployment"},"oldObject":null,"dryRun":false,"options":null}})"
      "\n");
}

}  // namespace
}  // namespace portcullis::webhook
