// SPDX-License-Identifier: Apache-2.0

// How much annotations hold, and may
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/).
#pragma once

#include <cstddef>

#include "json/value.h"

namespace portcullis::api {

// Of all annotations of an object, in bytes: 256 KiB.
inline constexpr std::size_t kMaxAnnotationBytes = 256 * 1024;

// The bytes of their names and values. Thread-safe.
std::size_t AnnotationBytes(json::Value annotations);

}  // namespace portcullis::api
