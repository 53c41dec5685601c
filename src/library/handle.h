// SPDX-License-Identifier: Apache-2.0

// Handle: what stands behind a portcullis_cluster of include/portcullis/portcullis.h, which says what its
// functions take and return.
//
// Review() may be called from any thread at any time; Admit() and Add() lock.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"
#include "engine/operation.h"
#include "json/value.h"
#include "offline/cluster.h"
#include "offline/inputs.h"
#include "offline/review.h"
#include "review/review.h"

namespace portcullis::library {

class Handle {
 public:
  // `options` is JSON, or "". Errors name the member that is wrong, or the place in a file.
  static base::Result<std::unique_ptr<Handle>> Open(std::string_view options);

  base::Result<int> Add(std::string_view objects) PC_EXCLUDES(mutex_);
  base::Result<std::string> Admit(std::string_view request) PC_EXCLUDES(mutex_);
  base::Result<std::string> Review(std::string_view body, const review::Scope& scope) const;

 private:
  Handle() = default;
  base::Status Give(const offline::Inputs& inputs) PC_REQUIRES(mutex_);
  base::Status GiveOne(const offline::Manifest& manifest) PC_REQUIRES(mutex_);
  base::Status Resolve(engine::Operation& op, offline::Review& review) PC_REQUIRES(mutex_);
  base::Status Prepare(engine::Operation& op, const offline::Review& review) PC_REQUIRES(mutex_);
  base::Result<engine::Outcome> Submit(engine::Operation& op, const offline::Review& review,
                                       bool dry_run) PC_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::unique_ptr<offline::Cluster>
      cluster_;  // never null after Open(); what it points to is locked
};

}  // namespace portcullis::library
