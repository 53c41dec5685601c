// SPDX-License-Identifier: Apache-2.0

#include "pki/x509.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>

#include "base/strings.h"
#include "golang/netip.h"
#include "pki/certificate.h"

namespace portcullis::pki {
namespace {

constexpr std::string_view kBegin = "-----BEGIN ";
constexpr std::string_view kEnd = "-----END ";
constexpr std::string_view kDashes = "-----";

// The line at the front of `text`, without its end; `text` moves past it.
std::string_view TakeLine(std::string_view& text) {
  const auto end = text.find('\n');
  auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) {
    line.remove_suffix(1);
  }
  return line;
}

bool ReadBlockBody(std::string_view& text, PemBlock& block) {
  std::string encoded;
  while (!text.empty()) {
    const auto line = TakeLine(text);
    if (line.starts_with(kEnd)) {
      auto decoded = base::Base64Decode(encoded);
      if (!decoded || line != base::StrCat(kEnd, block.type, kDashes)) return false;
      block.bytes = std::move(*decoded);
      return true;
    }
    if (line.starts_with(kBegin)) return false;
    if (line.find(':') != std::string_view::npos) {
      block.has_headers = true;
    } else {
      encoded.append(line);
    }
  }
  return false;
}

}  // namespace

bool NextPemBlock(std::string_view& text, PemBlock& block) {
  while (!text.empty()) {
    const auto line = TakeLine(text);
    if (!line.starts_with(kBegin) || !line.ends_with(kDashes) ||
        line.size() < kBegin.size() + kDashes.size()) {
      continue;
    }
    block = {};
    block.type = line.substr(kBegin.size(), line.size() - kBegin.size() - kDashes.size());
    auto rest = text;
    if (ReadBlockBody(rest, block)) {
      text = rest;
      return true;
    }
  }
  return false;
}

X509Ptr ParseDer(std::string_view der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  X509Ptr certificate(d2i_X509(nullptr, &bytes, static_cast<long>(der.size())));
  if (!certificate) ERR_clear_error();
  return certificate;
}

base::Result<X509Ptr> ParseAsGo(std::string_view der) {
  TRY(ParseCertificate(der));
  auto certificate = ParseDer(der);
  if (!certificate) return base::ConfigError("x509: malformed certificate");
  return certificate;
}

std::string DerOf(X509* certificate) {
  const int size = i2d_X509(certificate, nullptr);
  std::string der(static_cast<std::size_t>(std::max(size, 0)), '\0');
  auto* out = reinterpret_cast<unsigned char*>(der.data());
  i2d_X509(certificate, &out);
  return der;
}

std::string SerialOf(const X509* certificate) {
  BIGNUM* number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr);
  char* text = BN_bn2dec(number);
  std::string serial = text != nullptr ? text : "";
  OPENSSL_free(text);
  BN_free(number);
  return serial;
}

std::string IpText(const unsigned char* bytes, int size) {
  if (size != 4 && size != 16) return "";
  golang::IpAddress address;
  address.is_v6 = size == 16;
  std::copy(bytes, bytes + size, address.bytes.begin());
  return address.Unmap().ToString();
}

base::Result<std::vector<X509Ptr>> ParseChain(std::string_view pem) {
  std::vector<X509Ptr> chain;
  std::vector<std::string> skipped;
  PemBlock block;
  while (NextPemBlock(pem, block)) {
    if (block.type != "CERTIFICATE") {
      skipped.push_back(block.type);
      continue;
    }
    chain.push_back(TRY(ParseAsGo(block.bytes)));
  }
  if (!chain.empty()) return chain;
  if (skipped.empty()) {
    return base::ConfigError("tls: failed to find any PEM data in certificate input");
  }
  if (skipped.size() == 1 && skipped[0].ends_with("PRIVATE KEY")) {
    return base::ConfigError(
        "tls: failed to find certificate PEM data in certificate input, but did find a private "
        "key; PEM inputs may have been switched");
  }
  return base::ConfigError(
      base::StrCat("tls: failed to find \"CERTIFICATE\" PEM block in certificate input after "
                   "skipping PEM blocks of the following types: [",
                   base::Join(skipped, " "), "]"));
}

base::Result<KeyPtr> ParsePrivateKey(std::string_view pem) {
  std::vector<std::string> skipped;
  PemBlock block;
  while (NextPemBlock(pem, block)) {
    if (block.type != "PRIVATE KEY" && !block.type.ends_with(" PRIVATE KEY")) {
      skipped.push_back(block.type);
      continue;
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(block.bytes.data());
    KeyPtr key(d2i_AutoPrivateKey(nullptr, &bytes, static_cast<long>(block.bytes.size())));
    if (key) return key;
    ERR_clear_error();
    return base::ConfigError("tls: failed to parse private key");
  }
  if (skipped.empty()) return base::ConfigError("tls: failed to find any PEM data in key input");
  if (skipped.size() == 1 && skipped[0] == "CERTIFICATE") {
    return base::ConfigError(
        "tls: found a certificate rather than a key in the PEM for the private key");
  }
  return base::ConfigError(
      base::StrCat("tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input "
                   "after skipping PEM blocks of the following types: [",
                   base::Join(skipped, " "), "]"));
}

base::Result<ChainAndKey> ParseKeyPair(std::string_view certificate_pem, std::string_view key_pem) {
  ChainAndKey pair;
  pair.chain = TRY(ParseChain(certificate_pem));
  pair.key = TRY(ParsePrivateKey(key_pem));
  EVP_PKEY* public_key = X509_get0_pubkey(pair.chain[0].get());
  if (public_key == nullptr || EVP_PKEY_base_id(public_key) != EVP_PKEY_base_id(pair.key.get())) {
    return base::ConfigError("tls: private key type does not match public key type");
  }
  if (EVP_PKEY_eq(public_key, pair.key.get()) != 1) {
    ERR_clear_error();
    return base::ConfigError("tls: private key does not match public key");
  }
  return pair;
}

base::Status AddRoots(X509_STORE& store, std::string_view pem) {
  bool any = false;
  base::Status first_error;
  PemBlock block;
  bool any_block = false;
  while (NextPemBlock(pem, block)) {
    any_block = true;
    if (block.type != "CERTIFICATE" || block.has_headers) continue;
    const auto certificate = ParseAsGo(block.bytes);
    if (!certificate.ok()) {
      if (first_error.ok()) {
        first_error = base::ConfigError(
            base::StrCat("failed to parse certificate: ", certificate.status().message()));
      }
      continue;
    }
    X509_STORE_add_cert(&store, certificate->get());
    any = true;
  }
  ERR_clear_error();
  if (any) return base::OkStatus();
  if (!first_error.ok()) return first_error;
  return base::ConfigError(any_block ? "no valid certificate authority data seen"
                                     : "unable to parse bytes as PEM block");
}

}  // namespace portcullis::pki
