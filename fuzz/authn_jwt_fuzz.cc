// SPDX-License-Identifier: Apache-2.0

// Any text as a bearer token, as a token file and as a JSON Web Key Set: taking it apart and judging
// it never crashes, and no token made up here is accepted.
#include <cstdlib>
#include <string>

#include "authn/jwt.h"
#include "authn/methods.h"
#include "authn/service_account.h"
#include "base/clock.h"
#include "json/reader.h"

namespace authn = portcullis::authn;

namespace {

// A public key whose private half was thrown away.
constexpr const char* kPublicKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEVs/o5+uQbTjL3chynL4wXgUg2R9\n"
    "q9UU8I5mEovUf86QZ7kOBIjJwqnzD1omageEHWwHdBO6B+dFabmdT9POxg==\n"
    "-----END PUBLIC KEY-----\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const authn::ServiceAccountTokenOptions options{
      {"https://issuer"}, {kPublicKey}, {"api"}, {}, {}};
  static const auto verifier =
      authn::MakeServiceAccountTokens(options, portcullis::base::SystemClock());
  static const auto legacy = authn::MakeLegacyServiceAccountTokens(options);
  if (!verifier.ok() || !legacy.ok()) std::abort();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto* tokens : {&*verifier, &*legacy}) {
    const auto identity = (*tokens)->AuthenticateToken(text, {}, {});
    if (identity.ok() && identity->has_value()) std::abort();
  }
  (void)authn::ParseTokenFile("file", text, {});
  (void)authn::UntrustedIssuer(text);
  if (const auto set = portcullis::json::ParseDocument(std::string(text)); set.ok()) {
    (void)authn::ParseJsonWebKeySet(*set);
  }
  return 0;
}
