// SPDX-License-Identifier: Apache-2.0

// The headers that flags add to answers: --strict-transport-security-directives (HSTS),
// --cors-allowed-origins, and --goaway-chance, where `Connection: close` becomes a GOAWAY of HTTP/2.
// Source: apiserver/pkg/server/filters, hsts.go, cors.go and goaway.go. Immutable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cel/library/regex.h"
#include "net/http.h"

namespace portcullis::server {
struct Call;
struct Options;
}  // namespace portcullis::server

namespace portcullis::server::filters {

class AnswerHeaders {
 public:
  // The error is that of an origin that is no regular expression.
  static base::Result<AnswerHeaders> Create(const Options& options);

  // False: no flag adds any.
  bool any() const {
    return !transport_security_.empty() || !origins_.empty() || goaway_chance_ > 0;
  }
  // CORS: whether scripts of the page that sent the request may read the answer.
  bool AllowsOrigin(const net::Headers& request) const;
  // Of an answer that is late, none of CORS.
  void AddTo(net::Headers& answer, const Call& call, bool is_late) const;

 private:
  double goaway_chance_ = 0;
  std::string transport_security_;
  std::vector<std::shared_ptr<const cel::Regex>> origins_;
};

}  // namespace portcullis::server::filters
