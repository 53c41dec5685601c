// Kubernetes' protobuf form of objects, read only: kubectl sends what it creates without a file in
// it (Kubernetes docs: API Concepts, "Kubernetes Protobuf encoding").
//
// The numbers of the fields are data/protobuf.fields: after "@<package>" one line per message,
// "Message field=<number><mode><type>…". Modes: * repeated, % map of strings to the type, ^ a
// message whose members belong to the object around it. Types: s string, b bytes, i integer, t
// bool, d double, or a message of the package, of "meta", or of another package by its full name.
#pragma once

#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::engine {

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

// The object in a body of that type, as JSON. Errors are BadRequest.
base::Result<json::Value> ParseProtobuf(json::Arena& arena, std::string_view body);

}  // namespace portcullis::engine
