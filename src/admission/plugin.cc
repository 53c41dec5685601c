// SPDX-License-Identifier: Apache-2.0

#include "admission/plugin.h"

namespace portcullis::admission {

base::Status Plugin::Mutate(Request&) const { return base::OkStatus(); }

base::Status Plugin::Validate(const Request&) const { return base::OkStatus(); }

}  // namespace portcullis::admission
