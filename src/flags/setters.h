// SPDX-License-Identifier: Apache-2.0

// What the rows of a flag table store: one template per type of value, with pflag's error texts.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"
#include "base/strings.h"
#include "golang/strconv.h"
#include "golang/time.h"

namespace portcullis::flags {

template <typename Member>
struct MemberTraits;
template <typename Class, typename Type>
struct MemberTraits<Type Class::*> {
  using Owner = Class;
  using Value = Type;
};
template <auto Member>
using OwnerOf = typename MemberTraits<decltype(Member)>::Owner;

template <auto Member>
base::Status SetText(OwnerOf<Member>& options, std::string_view value) {
  options.*Member = std::string(value);
  return base::OkStatus();
}

template <auto Member>
base::Status SetBool(OwnerOf<Member>& options, std::string_view value) {
  options.*Member = TRY(golang::ParseBool(value));
  return base::OkStatus();
}

template <auto Member>
base::Status SetInt(OwnerOf<Member>& options, std::string_view value) {
  using Number = typename MemberTraits<decltype(Member)>::Value;
  options.*Member = static_cast<Number>(TRY(golang::ParseInt(value, 0, 8 * sizeof(Number))));
  return base::OkStatus();
}

template <auto Member>
base::Status SetDuration(OwnerOf<Member>& options, std::string_view value) {
  options.*Member = std::chrono::nanoseconds(TRY(golang::ParseDuration(value)));
  return base::OkStatus();
}

// A number of things: 0 or more.
template <auto Member>
base::Status SetCount(OwnerOf<Member>& options, std::string_view value) {
  const std::int64_t count = TRY(golang::ParseInt(value, 0, 31));
  if (count < 0) return base::BadRequest("must not be negative");
  options.*Member = static_cast<typename MemberTraits<decltype(Member)>::Value>(count);
  return base::OkStatus();
}

// The whole text; adds up over repeated flags.
template <auto Member>
base::Status AddText(OwnerOf<Member>& options, std::string_view value) {
  (options.*Member).emplace_back(value);
  return base::OkStatus();
}

// Splits at commas; adds up over repeated flags.
template <auto Member>
base::Status AddToList(OwnerOf<Member>& options, std::string_view value) {
  for (const std::string_view piece : base::Split(value, ',')) {
    if (!piece.empty()) (options.*Member).emplace_back(piece);
  }
  return base::OkStatus();
}

template <auto Member>
void ClearList(OwnerOf<Member>& options) {
  (options.*Member).clear();
}

// One of the words of the array `Allowed`: `must be one of table, json, markdown`.
template <auto Member, const auto& Allowed>
base::Status SetOneOf(OwnerOf<Member>& options, std::string_view value) {
  for (const std::string_view word : Allowed) {
    if (value == word) return SetText<Member>(options, value);
  }
  return base::BadRequest(base::StrCat("must be one of ", base::Join(Allowed, ", ")));
}

}  // namespace portcullis::flags
