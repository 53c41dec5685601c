// SPDX-License-Identifier: Apache-2.0

// Plain objects: of each common kind the smallest one that an API server takes. What `test --init` begins
// a test with, and what lint tries policies with.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "json/value.h"

namespace portcullis::offline {

struct Sample {
  std::string_view resource;     // "deployments"
  std::string_view api_version;  // "apps/v1"
  std::string_view kind;
  std::string_view fields;  // YAML behind metadata; each line is indented by two spaces

  std::string_view group() const;    // "apps"
  std::string_view version() const;  // "v1"
};

std::span<const Sample> Samples();

// The sample of the first rule that names one (of resourceRules); null if none does.
const Sample* SampleFor(json::Value rules);

// The object as YAML, each line indented by two spaces; `labels` may be null.
std::string SampleText(const Sample& sample, json::Value labels = {});

}  // namespace portcullis::offline
