// SPDX-License-Identifier: Apache-2.0

// Content negotiation: which of the forms we can write a client asks for, and in which form a body
// came (RFC 9110 §12.5.1 as k8s.io/apiserver/pkg/endpoints/handlers/negotiation reads it).
#pragma once

#include <cstdint>
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
  std::string form_version = "v1";  // of meta.k8s.io, or of apidiscovery.k8s.io
  bool pretty = false;

  std::string_view ContentType() const;  // "application/json", "application/yaml", …
  // The Content-Type of a streamed watch; "" if the type has no streams.
  std::string_view StreamContentType() const;
};

// What an endpoint can show.
enum class Offers : std::uint8_t {
  kObjectOnly,           // errors, documents of discovery
  kMetadata,             // reviews, objects of some subresources: besides the metadata alone
  kTableAndMetadata,     // objects of built-in resources: besides as Tables
  kCustomResource,       // as kTableAndMetadata, but objects not in protobuf
  kAggregatedDiscovery,  // APIGroupDiscoveryList, and nothing else
};

// Fails with NotAcceptable. An empty header accepts everything. `user_agent` and `pretty` decide
// about indentation as kube-apiserver does. `cbor`: the endpoint writes CBOR, too.
base::Result<Accepted> NegotiateOutput(std::string_view accept, std::string_view pretty,
                                       std::string_view user_agent, Offers offers,
                                       bool cbor = false);

// The same for /statusz and /flagz, which show text, then `form_version` is empty, or an object of
// config.k8s.io of this kind. No header at all means text.
base::Result<Accepted> NegotiateComponentPage(std::string_view accept, std::string_view pretty,
                                              std::string_view user_agent, std::string_view kind,
                                              bool cbor = false);

// What NegotiateOutput() fails with; `types` are the accepted ones.
base::Status NotAcceptable(std::string_view types);

// The check of the router of built-in resources (go-restful), which compares the names of types and
// knows no parameters: NotAcceptable if `accept` names none of `produced`, types separated by ", ".
base::Status CheckAcceptedTypes(std::string_view accept, std::string_view produced);
// The same of a Content-Type and the types that a route takes: UnsupportedMediaType.
base::Status CheckContentType(std::string_view content_type, std::string_view consumed);

// A list of media types whose last one is CBOR's, as it is offered with and without CBOR.
std::string_view OfferedTypes(std::string_view types, bool cbor);
// The types that answers may have, as errors list them, and those of watches.
std::string_view OutputTypes(bool cbor);
std::string_view StreamTypes(bool cbor);

// Of a request body. An empty Content-Type is JSON. Fails with UnsupportedMediaType.
base::Result<MediaType> NegotiateInput(std::string_view content_type, bool cbor = false);

// The media type without parameters, in lower case: "Application/JSON; charset=x" ->
// "application/json".
std::string BareMediaType(std::string_view header);

}  // namespace portcullis::server
