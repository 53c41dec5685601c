// SPDX-License-Identifier: Apache-2.0

// Attribute-based access control: a file with one policy per line, in JSON or YAML
// (https://kubernetes.io/docs/reference/access-authn-authz/abac/).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "authz/authorizer.h"
#include "base/status.h"

namespace portcullis::authz::abac {

// `text` is the file's content, `path` names it in errors: `error reading policy file p, line 3:
// {…: couldn't get version/kind; json parse error: unexpected end of JSON input`. A line without
// apiVersion is of v0, where what is left out means everything.
base::Result<std::unique_ptr<Authorizer>> Parse(std::string_view text, std::string_view path);

}  // namespace portcullis::authz::abac
