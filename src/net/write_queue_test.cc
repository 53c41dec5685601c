// SPDX-License-Identifier: Apache-2.0

#include "net/internal/write_queue.h"

#include <gtest/gtest.h>

namespace portcullis::net::internal {
namespace {

constexpr std::size_t kRecord = WriteQueue::kRecord;

std::shared_ptr<const std::string> Large(std::size_t size) {
  return std::make_shared<const std::string>(size, 'x');
}

// The sizes of the records in which all of it leaves.
std::vector<std::size_t> Records(WriteQueue& queue, std::string& sent) {
  std::vector<std::size_t> sizes;
  std::string buffer;
  while (!queue.empty()) {
    const std::string_view record = queue.NextRecord(buffer);
    sizes.push_back(record.size());
    sent += record;
    queue.Consume(record.size());
  }
  return sizes;
}

TEST(WriteQueue, AChunkLeavesWithItsFrame) {
  WriteQueue queue;
  queue.Append(std::string_view("2328\r\n"));
  queue.Append(Large(9000));
  queue.Append(std::string_view("\r\n"));
  std::string sent;
  EXPECT_EQ(Records(queue, sent), (std::vector<std::size_t>{9008}));
  EXPECT_EQ(sent, "2328\r\n" + std::string(9000, 'x') + "\r\n");
}

TEST(WriteQueue, RecordsAreFull) {
  WriteQueue queue;
  queue.Append(std::string_view("4e20\r\n"));
  queue.Append(Large(20'000));
  queue.Append(std::string_view("\r\n"));
  std::string sent;
  EXPECT_EQ(Records(queue, sent), (std::vector<std::size_t>{kRecord, 20'008 - kRecord}));
  EXPECT_EQ(sent, "4e20\r\n" + std::string(20'000, 'x') + "\r\n");
}

TEST(WriteQueue, WholeRecordsOfALargePieceAreNotCopied) {
  WriteQueue queue;
  const auto piece = Large(3 * kRecord + 1);
  queue.Append(piece);
  queue.Append(std::string_view("end"));
  std::string buffer;
  const std::string_view whole = queue.NextRecord(buffer);
  EXPECT_EQ(whole.data(), piece->data());
  EXPECT_EQ(whole.size(), 3 * kRecord);
  queue.Consume(kRecord);  // the socket takes one
  EXPECT_EQ(queue.NextRecord(buffer).size(), 2 * kRecord);
  queue.Consume(2 * kRecord);
  EXPECT_EQ(queue.NextRecord(buffer), "xend");
  queue.Consume(4);
  EXPECT_TRUE(queue.empty());
}

TEST(WriteQueue, WhatIsTriedAgainHasOnlyBecomeLonger) {
  WriteQueue queue;
  queue.Append(Large(9000));
  std::string buffer;
  const std::string before(queue.NextRecord(buffer));
  queue.Append(std::string_view("more"));
  queue.Append(Large(9000));
  const std::string_view after = queue.NextRecord(buffer);
  EXPECT_EQ(after.size(), kRecord);
  EXPECT_TRUE(after.starts_with(before));
  queue.Consume(9002);
  EXPECT_TRUE(queue.NextRecord(buffer).starts_with("rex"));
}

}  // namespace
}  // namespace portcullis::net::internal
