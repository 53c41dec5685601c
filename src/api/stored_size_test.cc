// SPDX-License-Identifier: Apache-2.0

#include "api/stored_size.h"

#include <gtest/gtest.h>

#include <string>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "json/reader.h"

namespace portcullis::api {
namespace {

std::size_t SizeOf(const GroupVersionKind& kind, std::string_view text) {
  json::Arena arena;
  static const auto kCatalog = catalog::Catalog::BuiltIn({}).value();
  const schema::Schema& schema = *kCatalog->FindSchema(kind);
  const json::Value object = json::Parse(arena, text).value();
  return ProtobufSize(schema, schema::Decode(arena, schema, object).value());
}

// The figures are those of a kube-apiserver v1.36 with etcd, for the key
// /registry/size.example.com/things/default/aa.
TEST(StoredSize, RefusesWhatEtcdRefuses) {
  constexpr std::size_t kKey = 44;
  EXPECT_TRUE(CheckRequestSize(1'572'736, kKey).ok());
  const base::Status refused = CheckRequestSize(1'572'737, kKey);
  EXPECT_EQ(refused.message(), "etcdserver: request is too large");
  EXPECT_EQ(refused.http_code(), 500);
  EXPECT_EQ(refused.reason_text(), "");
  EXPECT_TRUE(IsRequestTooLarge(refused));
  const base::Status not_sent = CheckRequestSize(2'500'218, kKey);
  EXPECT_EQ(not_sent.message(),
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max "
            "(2500331 vs. 2097152)");
  EXPECT_TRUE(IsRequestTooLarge(not_sent));
  EXPECT_FALSE(IsRequestTooLarge(base::OkStatus()));
  EXPECT_FALSE(IsRequestTooLarge(base::InternalError("etcdserver: request is too large")));
}

TEST(StoredSize, CountsBytesAndEscapesAsProtobufHasThem) {
  const std::string html(10000, '<');
  const std::string map =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":")" + html +
      "\"}}";
  EXPECT_NEAR(static_cast<double>(SizeOf({"", "v1", "ConfigMap"}, map)), 10100, 100);
  const std::string base64(40000, 'A');
  const std::string secret =
      R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"a":")" + base64 +
      "\"}}";
  EXPECT_NEAR(static_cast<double>(SizeOf({"", "v1", "Secret"}, secret)), 30100, 100);
}

}  // namespace
}  // namespace portcullis::api
