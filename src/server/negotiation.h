// Content negotiation: which of the forms we can write a client asks for, and in which form a body
// came (RFC 9110 §12.5.1 as k8s.io/apiserver/pkg/endpoints/handlers/negotiation reads it).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/codec/media_type.h"

namespace portcullis::server {

using engine::MediaType;
enum class Form { kObject, kTable, kPartialObject, kPartialObjectList };

struct Accepted {
  MediaType type = MediaType::kJson;
  Form form = Form::kObject;
  std::string form_version = "v1";  // of meta.k8s.io
  bool pretty = false;

  std::string_view ContentType() const;  // "application/json", "application/yaml"
  // The Content-Type of a streamed watch.
  std::string_view StreamContentType() const;
};

// Which transformations the endpoint offers.
enum class Offers { kObjectOnly, kTableAndMetadata, kDiscovery };

// Fails with NotAcceptable. An empty header accepts everything. `user_agent` and `pretty` decide
// about indentation as kube-apiserver does.
base::Result<Accepted> NegotiateOutput(std::string_view accept, std::string_view pretty,
                                       std::string_view user_agent, Offers offers);

// Of a request body. An empty Content-Type is JSON. Fails with UnsupportedMediaType.
base::Result<MediaType> NegotiateInput(std::string_view content_type);

// The media type without parameters, in lower case: "Application/JSON; charset=x" ->
// "application/json".
std::string BareMediaType(std::string_view header);

// True if `accept` asks for aggregated discovery; `version` receives "v2" or "v2beta1".
bool AsksForAggregatedDiscovery(std::string_view accept, std::string& version);

}  // namespace portcullis::server
