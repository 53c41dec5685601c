// SPDX-License-Identifier: Apache-2.0

#include "server/filters/answer_headers.h"

#include <algorithm>

#include "base/random.h"
#include "base/strings.h"
#include "server/call.h"
#include "server/options.h"

namespace portcullis::server::filters {

base::Result<AnswerHeaders> AnswerHeaders::Create(const Options& options) {
  AnswerHeaders made;
  made.goaway_chance_ = options.goaway_chance;
  made.transport_security_ = base::Join(options.strict_transport_security_directives, "; ");
  for (const std::string& origin : options.cors_allowed_origins) {
    made.origins_.push_back(TRY(cel::Regex::Compile(origin)));
  }
  return made;
}

bool AnswerHeaders::AllowsOrigin(const net::Headers& request) const {
  if (origins_.empty()) return false;
  const std::string_view origin = request.Get("Origin");
  return !origin.empty() && std::any_of(origins_.begin(), origins_.end(), [&](const auto& allowed) {
    return allowed->Matches(origin);
  });
}

void AnswerHeaders::AddTo(net::Headers& answer, const Call& call, bool is_late) const {
  if (!transport_security_.empty()) answer.Set("Strict-Transport-Security", transport_security_);
  if (goaway_chance_ > 0 && call.exchange->protocol() == net::Protocol::kHttp2 &&
      base::RandomFraction() < goaway_chance_) {
    answer.Set("Connection", "close");
  }
  if (!call.allows_origin || is_late) return;
  answer.Set("Access-Control-Allow-Origin", call.headers().Get("Origin"));
  answer.Set("Access-Control-Allow-Methods", "POST, GET, OPTIONS, PUT, DELETE, PATCH");
  answer.Set("Access-Control-Allow-Headers",
             "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, "
             "X-Requested-With, If-Modified-Since");
  answer.Set("Access-Control-Expose-Headers", "Date");
  answer.Set("Access-Control-Allow-Credentials", "true");
}

}  // namespace portcullis::server::filters
