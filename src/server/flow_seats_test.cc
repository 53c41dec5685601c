// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "server/call.h"
#include "server/options.h"
#include "server/seats.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::server {
namespace {

class NoReceiver final : public SeatReceiver {
 public:
  void OnSeat(std::shared_ptr<Call>, bool) override { ADD_FAILURE() << "nothing waits"; }
};

class FlowSeatsTest : public ::testing::Test {
 protected:
  FlowSeatsTest() {
    // So many seats as there are hundreds of kilobytes.
    const std::string large(100'000, 'x');
    for (const std::string_view name : {"a", "b", "c"}) {
      EXPECT_TRUE(store_
                      ->Create(store::testing::ConfigMap("n", name),
                               store::testing::Encode("n", name, large))
                      .ok());
    }
  }

  // The seats that a GET takes on a server of the release.
  int SeatsOf(std::string_view version, std::string_view query) {
    const release::Release release = *release::Release::Open(version);
    Environment environment;
    environment.clock = &clock_;
    environment.release = &release;
    metrics::Registry registry;
    const auto seats = MakeFlowSeats(options_, *store_, clock_, registry);
    net::Request request;
    request.method = "GET";
    request.target = base::StrCat("/api/v1/configmaps?", query);
    const RequestInfo info = ParseRequestInfo(request.method, request.target);
    const auto call = std::make_shared<Call>(environment, std::move(request));
    call->info = info;
    call->deadline = clock_.Steady() + std::chrono::minutes(1);
    EXPECT_EQ(seats->Take(call, receiver_), Seats::Outcome::kTaken);
    seats->Publish();
    constexpr std::string_view kSeries =
        "apiserver_flowcontrol_current_executing_seats{flow_schema=\"catch-all\","
        "priority_level=\"catch-all\"} ";
    const std::string page = registry.Expose();
    const auto cut = base::Cut(page, kSeries);
    call->seat = nullptr;
    return cut ? std::stoi(std::string(cut->second)) : -1;
  }

  const Options options_;
  base::FakeClock clock_;
  const std::unique_ptr<store::Store> store_ = store::OpenMemory();
  NoReceiver receiver_;
};

// Gate WatchList: on in v1.32, off in v1.33, on since v1.34.
TEST_F(FlowSeatsTest, WatchesAreAsWideAsListsOnlyWhereTheReleaseHasWatchList) {
  const int width = SeatsOf("1.36", "");
  EXPECT_GT(width, 1);
  for (const std::string_view version : {"1.32", "1.34", "1.36"}) {
    EXPECT_EQ(SeatsOf(version, "watch=1"), width) << version;
  }
  for (const std::string_view version : {"1.31", "1.33"}) {
    EXPECT_EQ(SeatsOf(version, "watch=1"), 1) << version;
    EXPECT_EQ(SeatsOf(version, ""), width) << version;
  }
}

}  // namespace
}  // namespace portcullis::server
