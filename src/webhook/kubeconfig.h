// Kubeconfig files, as far as a server reads them to call others
// (k8s.io/client-go/tools/clientcmd).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::webhook {

// The document; null for an empty text. A value of another type than its field is an error with
// Go's text: `json: cannot unmarshal string into Go struct field Config.users of type
// []v1.NamedAuthInfo`.
base::Result<json::Value> ParseKubeconfig(json::Arena& arena, std::string_view text);

// The same of a file: `stat <path>: no such file or directory`, `error loading config file
// "<path>": yaml: line 2: …`.
base::Result<json::Value> LoadKubeconfig(json::Arena& arena, const std::string& path);

}  // namespace portcullis::webhook
