// SPDX-License-Identifier: Apache-2.0

// Attribute-based access control: a file with one policy in JSON per line
// (https://kubernetes.io/docs/reference/access-authn-authz/abac/).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "authz/authorizer.h"
#include "base/status.h"

namespace portcullis::authz::abac {

// `text` is the file's content, `path` names it in errors: `error reading policy file p, line 3:
// {…: unexpected end of JSON input`. Lines of the form of old, without kind, count too.
base::Result<std::unique_ptr<Authorizer>> Parse(std::string_view text, std::string_view path);

}  // namespace portcullis::authz::abac
