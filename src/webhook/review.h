// SPDX-License-Identifier: Apache-2.0

// AdmissionReview: the request that is sent to a webhook, and what may come back
// (admission.k8s.io/v1 and v1beta1, https://kubernetes.io/docs/reference/access-authn-authz/
// extensible-admission-controllers/#webhook-request-and-response).
//
// Pure functions. Error texts are kube-apiserver's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/object_interfaces.h"
#include "admission/request.h"
#include "api/names.h"
#include "base/status.h"
#include "json/value.h"
#include "webhook/dialect.h"

namespace portcullis::webhook {

// v1alpha1 is that of external admission hooks (review_v1alpha1.h).
enum class ReviewVersion : std::uint8_t { kV1, kV1beta1, kV1alpha1 };
std::string_view ReviewVersionText(ReviewVersion version);  // "v1"

// What a webhook is called with: the kind and resource its rule has matched.
struct Invocation {
  api::GroupVersionKind kind;
  api::GroupVersionResource resource;
  bool operator==(const Invocation&) const = default;
};

// What reviews of one Invocation and ReviewForm share whatever becomes of the object: everything behind
// the uid but the object.
class ReviewFrame {
 public:
  // `old_object` is of the invocation's kind, as the objects are; their members are written in Go's order
  // if `objects` knows the kind. `request` and `objects` outlive the frame.
  ReviewFrame(const admission::Request& request, const Invocation& invocation,
              json::Value old_object, const ReviewForm& form,
              const admission::ObjectInterfaces* objects);

  // The object with its members in the order of reviews. `known`: what this has returned for an earlier
  // state of it: what both share is not looked at again.
  json::Value Ordered(json::Arena& arena, json::Value object, json::Value known = {}) const;
  // Everything behind the uid. REQUIRES: `ordered` comes from Ordered().
  std::string With(json::Value ordered) const;

 private:
  const admission::Request* request_;
  const admission::ObjectInterfaces* objects_;
  api::GroupVersionKind kind_;
  std::string head_;  // up to the object
  std::string tail_;
};

// The part of a review that all webhooks with one Invocation and ReviewForm share.
std::string EncodeSharedPart(const admission::Request& request, const Invocation& invocation,
                             json::Value object, json::Value old_object, const ReviewForm& form,
                             const admission::ObjectInterfaces* objects = nullptr);
// What comes before it in the body.
std::string EncodeReviewFront(ReviewVersion version, std::string_view uid);

struct GoStruct;

// A kind of review in its two versions, v1 and v1beta1.
struct ReviewKind {
  std::string_view group;  // "admission.k8s.io"
  std::string_view kind;   // "AdmissionReview"
  const GoStruct& shape;
};

enum class HookType : std::uint8_t { kMutating, kValidating };

// A decoded, verified answer.
struct ReviewAnswer {
  bool allowed = false;
  json::Value status;      // the Status object, or null
  std::string patch;       // decoded; "" if there is none
  std::string patch_type;  // "JSONPatch" or what the webhook has made up
  std::vector<std::pair<std::string, std::string>> audit_annotations;
  std::vector<std::string> warnings;
};

// The body of an answer with status 200 to 206, decoded into an AdmissionReview of the version that
// was sent. The error is what follows "failed to call webhook: ".
base::Result<json::Value> DecodeReview(json::Arena& arena, ReviewVersion sent, int http_status,
                                       std::string_view content_type, std::string_view body);
// The same for another kind of review.
base::Result<json::Value> DecodeReviewOf(const ReviewKind& expected, json::Arena& arena,
                                         ReviewVersion sent, int http_status,
                                         std::string_view content_type, std::string_view body);
// Checks a decoded review. The error is what follows "received invalid webhook response: ".
base::Result<ReviewAnswer> VerifyReview(json::Value review, ReviewVersion sent, HookType type,
                                        std::string_view uid);

// What a denial is answered with: the webhook's status with Kubernetes' code and message.
base::Status DenialStatus(std::string_view webhook_name, json::Value status,
                          const Dialect& dialect);

}  // namespace portcullis::webhook
