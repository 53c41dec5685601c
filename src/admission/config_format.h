// SPDX-License-Identifier: Apache-2.0

// What a versioned configuration file may hold, as data, and the check of a file against it. The
// errors are those of kube-apiserver's decoders (k8s.io/apimachinery/pkg/runtime/serializer/json).
#pragma once

#include <span>
#include <string_view>

#include "admission/plugin.h"
#include "base/status.h"
#include "release/release.h"

namespace portcullis::admission {

struct ConfigKind {
  std::string_view api_version;
  std::string_view kind;
  int until_minor = 0;  // the last release that knows it; 0: all do
};

struct ConfigFormat {
  std::string_view scheme;  // what Go's texts call the place where the kinds are registered
  std::span<const ConfigKind> kinds;
  // The types of the fields; the first struct is that of each kind (api/schema/go_types.h).
  std::string_view types;
  // The first release that refuses unknown and repeated fields.
  int strict_since = 0;
};

// Whether the file says which of the kinds it is of: `Object 'Kind' is missing in '…'`,
// `no kind "X" is registered for version "Y" in scheme "…"`.
base::Status CheckConfigKind(const PluginConfig& config, const ConfigFormat& format,
                             const release::Release& release);

// The kind of the file if it is another one than `own` that the decoder of `apiserver.config.k8s.io/v1` knows; else
// "".
std::string_view OtherServerKind(const PluginConfig& config, std::string_view own);

// Whether the whole file is what `format` says. Besides the above: what the parser said,
// `json: cannot unmarshal string into Go struct field Limit.limits.qps of type int32` (the details
// then have a cause with the path of the field), `strict decoding error: unknown field "x"`.
// Of a file that passes, every value has the type of its field or is null.
base::Status CheckConfig(const PluginConfig& config, const ConfigFormat& format,
                         const release::Release& release);

// The same for formats without kind and version (YAML or JSON), which pass over what they do not
// know: `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal …`.
base::Status CheckPlainConfig(const PluginConfig& config, std::string_view types);

}  // namespace portcullis::admission
