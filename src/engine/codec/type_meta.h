// What every decoder of the Go server reads first: apiVersion and kind.
#pragma once

#include <string>

#include "json/value.h"

namespace portcullis::engine {

// What Go says of a document that holds no such fields as texts ("json: cannot unmarshal array into
// Go value of type …"); "" if it can be read. null counts as an empty object.
std::string TypeMetaError(json::Value document);

}  // namespace portcullis::engine
