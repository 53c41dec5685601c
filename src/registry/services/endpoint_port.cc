// SPDX-License-Identifier: Apache-2.0

#include "registry/services/endpoint_port.h"

namespace portcullis::registry {

void CheckProtocolAndApp(json::Value port, const FieldPath& path, FieldErrors& errors) {
  if (port["protocol"].is_null()) {
    errors.push_back(api::Required(path.Child("protocol"), ""));
  } else {
    CheckOneOf(port["protocol"], path.Child("protocol"), {"SCTP", "TCP", "UDP"}, errors);
  }
  if (const json::Value protocol = port["appProtocol"]; !protocol.is_null()) {
    AddInvalid(path.Child("appProtocol"), protocol.AsString(),
               api::IsQualifiedName(protocol.AsString()), errors);
  }
}

}  // namespace portcullis::registry
