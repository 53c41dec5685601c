// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/etcd_range_allocation.h"

#include <gtest/gtest.h>

#include <string_view>

#include "store/etcd/testing/fake_etcd.h"

namespace portcullis::store {
namespace {

constexpr char kPorts[] = "/registry/ranges/servicenodeports";
// What kube-apiserver 1.36 stores when 30003 and 30010 are taken.
constexpr char kBytes[] =
    "k8s\0\n\x15\n\x02v1\x12\x0fRangeAllocation\x12#\n\x10\n\0\x12\0\x1a\0\"\0*\0"
    "2\0"
    "8\0"
    "B\0\x12\x0b"
    "30000-32767\x1a\x02\x04\x08\x1a\0\"";
constexpr std::string_view kProtobuf(kBytes, sizeof(kBytes));  // the last byte is a zero, too
constexpr char kJson[] =
    "{\"kind\":\"RangeAllocation\",\"apiVersion\":\"v1\",\"metadata\":{},"
    "\"range\":\"30000-32767\",\"data\":\"BAg=\"}\n";

class EtcdRangeAllocationTest : public ::testing::Test {
 protected:
  base::Status Take(std::size_t offset) {
    return ports_.Change([offset](RangeAllocation::State& state) {
      state.range = "30000-32767";
      state.Set(offset, true);
      return base::OkStatus();
    });
  }
  testing::FakeEtcd etcd_;
  std::unique_ptr<etcd::Client> client_ = etcd_.MakeClient();
  EtcdRangeAllocation ports_{*client_, base::SystemClock(), "/registry"};
};

TEST_F(EtcdRangeAllocationTest, KeepsKubeApiserversKeyAndValue) {
  ASSERT_TRUE(Take(3).ok());
  ASSERT_TRUE(Take(10).ok());
  EXPECT_EQ(etcd_.ValueOf(kPorts), kJson);
}

TEST_F(EtcdRangeAllocationTest, ReadsWhatKubeApiserverStores) {
  for (const std::string_view value : {kProtobuf, std::string_view(kJson)}) {
    const auto state = ParseRangeAllocation(value);
    ASSERT_TRUE(state.ok()) << state.status().message();
    EXPECT_EQ(state->range, "30000-32767");
    for (std::size_t offset = 0; offset < 40; ++offset) {
      EXPECT_EQ(state->IsTaken(offset), offset == 3 || offset == 10) << offset;
    }
  }
}

TEST_F(EtcdRangeAllocationTest, TakesUpWhatAFasterServerHasStored) {
  etcd_.BeforeNextTxn([this] { etcd_.Put(kPorts, std::string(kProtobuf)); });
  ASSERT_TRUE(Take(0).ok());
  const auto state = ParseRangeAllocation(etcd_.ValueOf(kPorts));
  ASSERT_TRUE(state.ok());
  EXPECT_TRUE(state->IsTaken(0) && state->IsTaken(3) && state->IsTaken(10));
}

TEST_F(EtcdRangeAllocationTest, StoresNothingIfTheEditFails) {
  etcd_.Put(kPorts, kJson);
  const base::Status status = ports_.Change([](RangeAllocation::State& state) {
    state.Set(1, true);
    return base::BadRequest("no");
  });
  EXPECT_EQ(status.message(), "no");
  EXPECT_EQ(etcd_.ValueOf(kPorts), kJson);
}

TEST_F(EtcdRangeAllocationTest, LeavesAValueThatItCannotReadAlone) {
  for (const std::string_view value :
       {std::string_view("junk"), std::string_view("k8s\0\x12\x7f", 6),
        std::string_view("k8s:enc:aescbc:v1:key1:x"), std::string_view(R"({"data":"!"})")}) {
    etcd_.Put(kPorts, std::string(value));
    EXPECT_FALSE(Take(1).ok()) << value;
    EXPECT_EQ(etcd_.ValueOf(kPorts), value);
  }
}

}  // namespace
}  // namespace portcullis::store
