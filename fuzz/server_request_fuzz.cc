// SPDX-License-Identifier: Apache-2.0

// The head of a request as the server reads it before it knows who asks: target and query, the media
// types of bodies and answers, addresses of proxies. The input is lines: method, target, and values
// of headers.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "audit/event.h"
#include "base/strings.h"
#include "server/negotiation.h"
#include "server/query.h"
#include "server/request_info.h"

namespace server = portcullis::server;

namespace {

void Negotiate(std::string_view header, bool cbor) {
  using server::Offers;
  for (const auto offers : {Offers::kObjectOnly, Offers::kMetadata, Offers::kTableAndMetadata,
                            Offers::kCustomResource, Offers::kAggregatedDiscovery}) {
    const auto accepted = server::NegotiateOutput(header, header, header, offers, cbor);
    if (accepted.ok() && accepted->ContentType().empty()) std::abort();
  }
  (void)server::NegotiateInput(header, cbor);
  (void)server::CheckAcceptedTypes(header, server::OutputTypes(cbor));
  (void)server::CheckContentType(header, header);
  (void)portcullis::audit::SourceIps(header, header, header);
  (void)portcullis::audit::AuditId(header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto lines = portcullis::base::Split(text, '\n');
  const std::string_view target = lines.size() > 1 ? lines[1] : lines[0];
  const server::RequestInfo info = server::ParseRequestInfo(lines[0], target);
  // A method that is none has no verb.
  const bool known = lines[0] == "GET" || lines[0] == "POST" || lines[0] == "DELETE";
  if (known && info.verb.empty()) std::abort();
  // Nothing of a path may be taken for another namespace or name than the path itself says.
  if (info.path.find(info.name_space) == std::string::npos) std::abort();
  if (info.path.find(info.resource) == std::string::npos) std::abort();
  for (const auto& [name, value] : info.query.pairs()) {
    if (!info.query.Has(name) || info.query.All(name).empty()) std::abort();
  }
  for (std::size_t i = 2; i < lines.size() && i < 10; ++i) {
    for (const bool cbor : {false, true}) Negotiate(lines[i], cbor);
  }
  return 0;
}
