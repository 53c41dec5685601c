// SPDX-License-Identifier: Apache-2.0

// What the checks of built-in kinds say of objects, in the order in which the server calls them.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "api/names.h"
#include "base/clock.h"
#include "json/reader.h"
#include "registry/kind_table.h"
#include "release/release.h"

namespace portcullis::registry::testing {

// Each error ends with a line break.
inline std::string TextOf(const api::FieldErrors& errors) {
  std::string text;
  for (const api::FieldError& error : errors) text += error.ToString() + "\n";
  return text;
}

class KindTest : public ::testing::Test {
 protected:
  json::Value Parse(std::string_view text) {
    auto value = json::Parse(arena_, text);
    EXPECT_TRUE(value.ok()) << text;
    return value.ok() ? *value : json::Value();
  }

  // From now on; at the beginning the newest.
  void SetRelease(std::string_view version) { release_.emplace(*release::Release::Open(version)); }

  // Of a request for an object "a" without a namespace. Valid until SetRelease().
  Context ContextOf(std::string_view subresource = {}) {
    Context context{arena_, resource_, kind_, subresource, "a", "", user_, base::SystemClock()};
    if (release_) context.release = &*release_;
    return context;
  }

  // What is wrong with the object; if `old` is given, with the update of that.
  std::string Errors(std::string_view group, std::string_view resource, std::string_view object,
                     std::string_view old = {}, std::string_view subresource = {}) {
    const DefaultStrategy strategy(*KindTable::BuiltIn().Find(group, resource));
    const Context context = ContextOf(subresource);
    const json::Value value = Parse(object);
    api::FieldErrors errors;
    if (old.empty()) {
      strategy.Validate(context, value, errors);
    } else {
      const json::Value before = Parse(old);
      strategy.ValidateBetween(context, value, before, errors);
      strategy.ValidateUpdate(context, value, before, errors);
    }
    return TextOf(errors);
  }

  json::Arena arena_;
  api::GroupVersionResource resource_;
  api::GroupVersionKind kind_;
  api::UserInfo user_;

 private:
  std::optional<release::Release> release_;
};

}  // namespace portcullis::registry::testing
