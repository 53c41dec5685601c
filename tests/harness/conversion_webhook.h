// SPDX-License-Identifier: Apache-2.0

// ConversionWebhook: a conversion webhook over real TLS in the test's process, for the kind Widget
// of example.com: v1 has spec.address "host:port", v2 has spec.host and spec.port.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "json/value.h"
#include "net/testing/test_server.h"

namespace portcullis::testing {

class ConversionWebhook {
 public:
  // What comes instead of the converted object; null leaves it as it is.
  using Twist = std::function<json::Value(json::Arena& arena, json::Value converted)>;
  // The whole answer instead of the ordinary one.
  using Answer = std::function<net::Response(json::Value review)>;

  ConversionWebhook();

  // The definition, its conversion by this webhook. `storage`: which version is stored.
  std::string Definition(std::string_view storage = "v1",
                         std::string_view review_versions = R"(["v1","v1beta1"])",
                         std::string_view url = {}) const;
  void SetTwist(Twist twist);
  void SetAnswer(Answer answer);

  // What it was asked so far, one document per call.
  std::vector<json::Document> calls() const;
  std::size_t count() const;
  void Forget();

 private:
  void Serve(const std::shared_ptr<net::Exchange>& exchange);

  mutable std::mutex mutex_;
  std::vector<json::Document> calls_;
  Twist twist_;
  Answer answer_;
  net::testing::TestServer server_;
};

}  // namespace portcullis::testing
