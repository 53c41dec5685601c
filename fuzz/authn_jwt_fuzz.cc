// Any text as a bearer token and as a token file: taking it apart and judging it never crashes, and
// no token made up here is accepted.
#include <cstdlib>

#include "authn/methods.h"
#include "authn/service_account.h"
#include "base/clock.h"

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
  static const auto verifier = authn::MakeServiceAccountTokens(
      {{"https://issuer"}, {kPublicKey}, {"api"}, {}}, portcullis::base::SystemClock());
  if (!verifier.ok()) std::abort();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto identity = (*verifier)->AuthenticateToken(text, {});
  if (identity.ok() && identity->has_value()) std::abort();
  (void)authn::ParseTokenFile("file", text);
  return 0;
}
