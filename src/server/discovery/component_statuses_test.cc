// SPDX-License-Identifier: Apache-2.0

#include "server/discovery/component_statuses.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/writer.h"
#include "net/testing/test_server.h"

namespace portcullis::server {
namespace {

// Answers as the target says: "/200" with that code.
void Answer(const std::shared_ptr<net::Exchange>& exchange) {
  const net::Request& request = exchange->request();
  EXPECT_EQ(request.headers.Get("User-Agent"), "kube-probe/1.36");
  net::Response response;
  response.status = std::stoi(request.target.substr(1));
  response.body = request.target == "/202" ? std::string(20'000, 'x') : "said";
  if (request.target == "/307") response.headers.Set("Location", "/200");
  exchange->Respond(std::move(response));
}

struct Asked {
  net::testing::TestServer server{Answer};

  // The conditions of all that answer to `name`, of a scheduler at `url`.
  std::string Conditions(const std::string& url, std::string_view name, base::Status store) {
    json::Arena arena;
    std::string text;
    for (const json::Value& object : AskComponents(
             arena, *server.client, {{"scheduler", url}}, [&] { return store; }, name,
             server.Soon())) {
      text += base::StrCat(object["metadata"]["name"].AsString(), " ",
                           json::ToString(object["conditions"]), "\n");
    }
    return text;
  }
};

// Recorded of a kube-apiserver 1.36 whose scheduler answered so.
TEST(ComponentStatuses, SayWhatComponentsAnswer) {
  Asked asked;
  const std::pair<std::string_view, std::string_view> facts[] = {
      {"/200", R"("True","message":"said")"},
      {"/307", R"("True","message":"said")"},
      {"/304", R"("Unknown","message":"Probe terminated redirects, Response body: ")"},
      {"/500", R"("False","message":"HTTP probe failed with statuscode: 500")"},
  };
  for (const auto& [target, said] : facts) {
    EXPECT_EQ(asked.Conditions(asked.server.Url(target), "scheduler", base::OkStatus()),
              base::StrCat(R"(scheduler [{"type":"Healthy","status":)", said, "}]\n"))
        << target;
  }
  // 10 KiB of what is longer.
  EXPECT_EQ(asked.Conditions(asked.server.Url("/202"), "scheduler", base::OkStatus()),
            base::StrCat(R"(scheduler [{"type":"Healthy","status":"True","message":")",
                         std::string(10'240, 'x'), "\"}]\n"));
}

TEST(ComponentStatuses, SayThatAComponentCannotBeReached) {
  Asked asked;
  EXPECT_EQ(asked.Conditions("https://127.0.0.1:1/healthz", "scheduler", base::OkStatus()),
            R"(scheduler [{"type":"Healthy","status":"False","message":"Get \"https://127.0.0.1:1/)"
            R"(healthz\": dial tcp 127.0.0.1:1: connect: connection refused"}])"
            "\n");
}

TEST(ComponentStatuses, TellOfTheStore) {
  Asked asked;
  const std::string url = asked.server.Url("/200");
  EXPECT_EQ(asked.Conditions(url, "etcd-0", base::OkStatus()),
            "etcd-0 [{\"type\":\"Healthy\",\"status\":\"True\",\"message\":\"ok\"}]\n");
  EXPECT_EQ(asked.Conditions(url, "", base::InternalError("disk")),
            "scheduler [{\"type\":\"Healthy\",\"status\":\"True\",\"message\":\"said\"}]\n"
            "etcd-0 [{\"type\":\"Healthy\",\"status\":\"False\",\"error\":\"Internal error "
            "occurred: disk\"}]\n");
  EXPECT_EQ(asked.Conditions(url, "etcd-1", base::OkStatus()), "");
}

}  // namespace
}  // namespace portcullis::server
