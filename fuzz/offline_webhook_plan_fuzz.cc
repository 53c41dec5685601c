// SPDX-License-Identifier: Apache-2.0

// Any bytes as the file of --webhooks=FILE. A plan that is read answers for no webhook that it does not name, and
// its answers are objects.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "offline/webhooks.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plan = portcullis::offline::ReadWebhookPlan("answers.txt", text);
  if (!plan.ok()) return 0;
  const auto answer = plan->stand_in->AnswerFor("configuration", "a");
  if (plan->stand_in->AnswerFor("configuration", "") || (answer && !answer->response.is_object())) {
    std::fprintf(stderr, "an answer of no webhook, or one without a response\n");
    std::abort();
  }
  return 0;
}
