// SPDX-License-Identifier: Apache-2.0

// What webhooks are sent, and how errors about them are worded, in the release of
// --kubernetes-version (docs/legacy.md, "Webhook configurations in v1beta1"). The default is
// v1.36. Plain data, made once for each plugin from data/behavior.facts.
#pragma once

namespace portcullis::webhook {

// Which fields a review has besides those of every release.
struct ReviewForm {
  // requestKind, requestResource, requestSubResource, options, and oldObject of deletions.
  bool has_request_kind = true;
  bool has_dry_run = true;
  bool has_new_names = true;  // the name of an object that is created
  bool operator==(const ReviewForm&) const = default;
};

struct Dialect {
  // A mutating webhook's denial, or a patch of it that fails, is an internal error.
  bool wraps_denials = false;
  // A denial has the code that the webhook has given, and 500 without one; else at least 400.
  bool keeps_denial_codes = false;
  // `failed calling admission webhook`, else `failed calling webhook`.
  bool says_admission_webhook = false;
  // The text of a call error starts with what is wrong, else with the step of the call that failed;
  // a patch that cannot be read refuses the request whatever failurePolicy says.
  bool names_no_step = false;
  // `Webhook response was absent`, else `webhook response was absent`.
  bool has_capital_absence = false;
  // Requests about webhook configurations themselves are reviewed.
  bool reviews_configurations = false;
  ReviewForm v1beta1_reviews;  // those of v1 are the same in every release
};

}  // namespace portcullis::webhook
