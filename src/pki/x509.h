// SPDX-License-Identifier: Apache-2.0

// Owning pointers for OpenSSL's types. Only sources of this module that speak OpenSSL include this.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "pki/pem.h"

namespace portcullis::pki {

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
struct StackFreer {
  void operator()(STACK_OF(X509) * stack) const { sk_X509_pop_free(stack, X509_free); }
};
using X509Ptr = std::unique_ptr<X509, Freer<X509_free>>;
using X509StackPtr = std::unique_ptr<STACK_OF(X509), StackFreer>;
using X509StorePtr = std::unique_ptr<X509_STORE, Freer<X509_STORE_free>>;
using X509StoreContextPtr = std::unique_ptr<X509_STORE_CTX, Freer<X509_STORE_CTX_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;

X509Ptr ParseDer(std::string_view der);
// One that Go's parser reads as well (certificate.h); else the error is Go's.
base::Result<X509Ptr> ParseAsGo(std::string_view der);
std::string DerOf(X509* certificate);
std::string SerialOf(const X509* certificate);  // decimal
// The SubjectPublicKeyInfo of a key, as i2d_PUBKEY() writes it; "" if there is none.
std::string PublicKeyDer(const EVP_PKEY* key);
// An IPv4 or IPv6 address from its 4 or 16 bytes, printed as Go does.
std::string IpText(const unsigned char* bytes, int size);

// Errors of these are those of Go's tls.X509KeyPair.
base::Result<KeyPtr> ParsePrivateKey(std::string_view pem);
// Chain and key, checked against each other.
struct ChainAndKey {
  std::vector<X509Ptr> chain;
  KeyPtr key;
};
base::Result<ChainAndKey> ParseKeyPair(std::string_view certificate_pem, std::string_view key_pem);
// Adds all certificates of a PEM text to a store, as Go's CertPool.AppendCertsFromPEM; the error,
// if there is not one, is client-go's for CA data.
base::Status AddRoots(X509_STORE& store, std::string_view pem);

}  // namespace portcullis::pki
