// SPDX-License-Identifier: Apache-2.0

#include "base/status.h"

#include <gtest/gtest.h>

namespace portcullis::base {
namespace {

Result<std::unique_ptr<int>> MakeNumber(bool fail) {
  if (fail) return NotFound("no number");
  return std::make_unique<int>(7);
}

Result<int> AddOne(bool fail) {
  std::unique_ptr<int> number = TRY(MakeNumber(fail));
  TRY(OkStatus());
  return *TRY(MakeNumber(false)) + *number - 6;
}

TEST(StatusTest, TryMovesAMoveOnlyValueOut) { EXPECT_EQ(*AddOne(false), 8); }

TEST(StatusTest, TryReturnsTheErrorToTheCaller) {
  Result<int> result = AddOne(true);

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().http_code(), 404);
  EXPECT_EQ(result.status().reason_text(), "NotFound");
  EXPECT_EQ(result.status().message(), "no number");
}

TEST(StatusTest, InternalErrorCarriesTheErrorAsItsCause) {
  Status status = InternalError("boom");

  EXPECT_EQ(status.message(), "Internal error occurred: boom");
  ASSERT_NE(status.details(), nullptr);
  EXPECT_EQ(status.details()->causes[0].message, "boom");
}

TEST(StatusTest, CustomKeepsCodeAndReasonApart) {
  Status status = Status::Custom(418, "Teapot", "short and stout");

  EXPECT_EQ(status.http_code(), 418);
  EXPECT_EQ(status.reason_text(), "Teapot");
  EXPECT_EQ(status.reason(), Reason::kOther);
}

}  // namespace
}  // namespace portcullis::base
