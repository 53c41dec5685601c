// SPDX-License-Identifier: Apache-2.0

// The size of an object in etcd, and what etcd answers if that is too much. Portcullis stores JSON,
// kube-apiserver protobuf (custom resources: JSON); an object is accepted if kube-apiserver's etcd
// would take it.
#pragma once

#include <cstddef>
#include <string_view>

#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api {

// etcd's --max-request-bytes, as it is unless set: 1.5 MiB for the object with its key.
inline constexpr std::size_t kMaxRequestBytes = 3U << 19;

// `etcdserver: request is too large`, code 500 without a reason, as kube-apiserver passes it on.
base::Status RequestTooLargeStatus();

// Whether etcd would take the request that stores an object of `object_size` bytes under a key of
// `key_size`. The refusal is etcd's, or beyond 2 MiB that of its client.
base::Status CheckRequestSize(std::size_t object_size, std::size_t key_size);

// Whether `status` is such a refusal: kube-apiserver then tries once more without managedFields.
bool IsRequestTooLarge(const base::Status& status);

// How long kube-apiserver's protobuf of an object of a built-in kind is. Field numbers above 15 and
// inlined Go structs count a byte or two less than they take. REQUIRES: the object is canonical.
std::size_t ProtobufSize(const schema::Schema& schema, json::Value object);

}  // namespace portcullis::api
