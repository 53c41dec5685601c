// SPDX-License-Identifier: Apache-2.0

// The request of portcullis_admit(): an AdmissionReview, or the short form that
// include/portcullis/portcullis.h describes. Pure
// functions.
#pragma once

#include <string_view>

#include "base/status.h"
#include "offline/review.h"

namespace portcullis::library {

struct Request {
  offline::Review review;
  bool dry_run = false;
  bool wants_trace = false;
};

// YAML or JSON. Errors: no object, an unknown member, no object to judge.
base::Result<Request> ReadRequest(std::string_view text);

}  // namespace portcullis::library
