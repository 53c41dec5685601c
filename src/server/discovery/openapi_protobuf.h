// SPDX-License-Identifier: Apache-2.0

// OpenAPI documents in protocol buffers (gnostic's openapi.v2.Document and openapi.v3.Document). That of v2 is
// the only form in which kubectl before 1.24 takes it.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace portcullis::server {

// As clients ask for it in Accept, and as the answer is labelled: an '@' is no legal part of a
// media type, and newer Go programs refuse to read one.
inline constexpr std::string_view kOpenApiProtobuf =
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
inline constexpr std::string_view kOpenApiProtobufContentType =
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

inline constexpr std::string_view kOpenApiV3Protobuf =
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
inline constexpr std::string_view kOpenApiV3ProtobufContentType =
    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

// The bytes of the document whose JSON form is `document`.
std::string EncodeOpenApiV2(json::Value document);
std::string EncodeOpenApiV3(json::Value document);

}  // namespace portcullis::server
