// SPDX-License-Identifier: Apache-2.0

// Claims count as objects and by the storage they ask for, in all and per storage class.
#pragma once

#include <memory>

#include "api/quota/evaluator.h"

namespace portcullis::api::quota {

std::unique_ptr<const Evaluator> MakePersistentVolumeClaimsEvaluator(
    const EvaluatorOptions& options);

// The claim's storage class: the annotation volume.beta.kubernetes.io/storage-class if present,
// else spec.storageClassName; "" if neither is.
std::string_view StorageClassOf(json::Value claim);

}  // namespace portcullis::api::quota
