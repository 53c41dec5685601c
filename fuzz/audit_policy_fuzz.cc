// SPDX-License-Identifier: Apache-2.0

// Any text as an audit policy: parsing never crashes, and what was parsed judges any request.
#include "audit/policy.h"

namespace audit = portcullis::audit;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto policy = audit::ParsePolicy(text);
  if (!policy.ok()) return 0;
  const portcullis::api::UserInfo user{"joe", "", {"devs"}, {}};
  audit::RequestAttributes request{&user,         "get",   true, "apps", "v1",
                                   "deployments", "scale", "n",  "d",    ""};
  (void)policy->For(request);
  request.resource_request = false;
  request.path = "/healthz";
  (void)policy->For(request);
  return 0;
}
