// SPDX-License-Identifier: Apache-2.0

// Any text: label and field selectors never crash; what parses prints as a text that parses to an
// equal selector.
#include <cstdlib>

#include "api/selector/field_selector.h"
#include "api/selector/label_selector.h"

namespace api = portcullis::api;
namespace json = portcullis::json;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  json::Arena arena;
  const json::Value labels = json::MakeObject(arena, {{"a", json::Value::StringView("1")}});
  const auto selector = api::LabelSelector::Parse(text);
  if (selector.ok()) {
    const auto again = api::LabelSelector::Parse(selector->ToString());
    if (!again.ok() || again->ToString() != selector->ToString()) std::abort();
    if (again->Matches(labels) != selector->Matches(labels)) std::abort();
  } else if (selector.status().message().empty()) {
    std::abort();
  }
  const auto fields = api::FieldSelector::Parse(text);
  if (fields.ok()) {
    const auto again = api::FieldSelector::Parse(fields->ToString());
    if (!again.ok() || again->terms().size() != fields->terms().size()) std::abort();
    (void)fields->Matches(labels);
  } else if (fields.status().message().empty()) {
    std::abort();
  }
  return 0;
}
