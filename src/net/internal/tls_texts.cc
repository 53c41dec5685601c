// SPDX-License-Identifier: Apache-2.0

#include "net/internal/tls_texts.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string_view>

#include "base/strings.h"

namespace portcullis::net::internal {
namespace {

struct AlertName {
  int number;
  std::string_view text;
};
// The alerts of RFC 8446 §6, named as Go names them.
constexpr AlertName kAlerts[] = {
    {0, "close notify"},
    {10, "unexpected message"},
    {20, "bad record MAC"},
    {21, "decryption failed"},
    {22, "record overflow"},
    {30, "decompression failure"},
    {40, "handshake failure"},
    {42, "bad certificate"},
    {43, "unsupported certificate"},
    {44, "revoked certificate"},
    {45, "expired certificate"},
    {46, "unknown certificate"},
    {47, "illegal parameter"},
    {48, "unknown certificate authority"},
    {49, "access denied"},
    {50, "error decoding message"},
    {51, "error decrypting message"},
    {60, "export restriction"},
    {70, "protocol version not supported"},
    {71, "insufficient security level"},
    {80, "internal error"},
    {86, "inappropriate fallback"},
    {90, "user canceled"},
    {100, "no renegotiation"},
    {109, "missing extension"},
    {110, "unsupported extension"},
    {111, "certificate unobtainable"},
    {112, "unrecognized name"},
    {113, "bad certificate status response"},
    {114, "bad certificate hash value"},
    {115, "unknown PSK identity"},
    {116, "certificate required"},
    {120, "no application protocol"},
    {121, "encrypted client hello required"},
};

}  // namespace

std::string AlertText(int alert) {
  for (const auto& known : kAlerts) {
    if (known.number == alert) return std::string(known.text);
  }
  return base::StrCat("alert(", std::to_string(alert), ")");
}

std::string TlsErrorText(unsigned long code) {
  const int reason = ERR_GET_REASON(code);
  if (ERR_GET_LIB(code) == ERR_LIB_SSL) {
    if (reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256) {
      return base::StrCat("remote error: tls: ", AlertText(reason - SSL_AD_REASON_OFFSET));
    }
    switch (reason) {
      case SSL_R_WRONG_VERSION_NUMBER:
      case SSL_R_HTTP_REQUEST:
      case SSL_R_HTTPS_PROXY_REQUEST:
      case SSL_R_PACKET_LENGTH_TOO_LONG:
        return "tls: first record does not look like a TLS handshake";
      case SSL_R_UNSUPPORTED_PROTOCOL:
        return "tls: server selected unsupported protocol version 301";
      case SSL_R_NO_SHARED_CIPHER:
        return "tls: no cipher suite supported by both client and server";
      case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
        return "local error: tls: bad record MAC";
      case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return "tls: client didn't provide a certificate";
      default:
        break;
    }
  }
  const char* text = ERR_reason_error_string(code);
  return base::StrCat("tls: ", text != nullptr ? text : "unknown error");
}

}  // namespace portcullis::net::internal
