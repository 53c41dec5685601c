// SPDX-License-Identifier: Apache-2.0

// Name constraints as Go checks them: the names of each certificate of a chain against the
// constraints of every one above it. Constraints of directory names are not heeded.
// Source: crypto/x509/constraints.go of Go 1.26.
#pragma once

#include <span>
#include <string>

#include "pki/certificate.h"

namespace portcullis::pki {

// Of a chain, leaf first: "" or what is wrong, `DNS name "a.b" is not permitted by any constraint`.
std::string NameConstraintError(std::span<const Certificate* const> chain);

}  // namespace portcullis::pki
