// SPDX-License-Identifier: Apache-2.0

// ConversionReview: what a conversion webhook is asked, and what may come back
// (apiextensions.k8s.io/v1 and v1beta1; Kubernetes documentation, "Versions in
// CustomResourceDefinitions").
//
// Pure functions. Error texts are kube-apiserver's.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/names.h"
#include "base/status.h"
#include "json/value.h"
#include "webhook/review.h"

namespace portcullis::webhook {

// Why a conversion failed, as the label failure_type has it.
enum class ConversionFailure : std::uint8_t {
  kNone,
  kCall,
  kMalformedResponse,
  kPartialResponse,
  kInvalidObject,
};
std::string_view ConversionFailureText(ConversionFailure failure);  // "" for kNone

// The body of a request for `objects` in version `to`.
std::string EncodeConversionReview(ReviewVersion version, std::string_view uid,
                                   std::span<const json::Value> objects,
                                   const api::GroupVersion& to);

// The objects of a sound answer, unchecked; or what follows "conversion webhook for … failed: ".
base::Result<std::vector<json::Value>> DecodeConversionReview(json::Arena& arena,
                                                              ReviewVersion sent,
                                                              std::string_view uid, int http_status,
                                                              std::string_view content_type,
                                                              std::string_view body);

// The converted objects with the metadata of their originals but their own labels and annotations.
// The error names the originals' kind: `conversion webhook for example.com/v1, Kind=Foo returned
// …`; `failure` tells its sort.
base::Result<std::vector<json::Value>> CheckConverted(json::Arena& arena,
                                                      std::span<const json::Value> originals,
                                                      std::span<const json::Value> converted,
                                                      const api::GroupVersion& to,
                                                      ConversionFailure& failure);

// `example.com/v1, Kind=Foo`, of the object.
std::string GvkTextOf(json::Value object);

}  // namespace portcullis::webhook
