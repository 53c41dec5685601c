// SPDX-License-Identifier: Apache-2.0

#include "net/tls.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "pki/certificates.h"

namespace portcullis::net {
namespace {

TEST(ClientTlsOptionsTest, CaBundleErrorsAreClientGos) {
  const auto make = [](std::string pem) {
    return ClientTls::Create({.ca_pem = std::move(pem)}).status().message();
  };

  EXPECT_EQ(make("nonsense"),
            "unable to load root certificates: unable to parse bytes as PEM block");
  EXPECT_EQ(make("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            "unable to load root certificates: failed to parse certificate: x509: malformed "
            "certificate");
  EXPECT_EQ(make(pki::MakeAuthority("a", base::SystemClock().Now()).value().key_pem),
            "unable to load root certificates: no valid certificate authority data seen");
}

TEST(ClientTlsOptionsTest, ACacheGivesEqualOptionsTheSameIdentity) {
  const auto ca = pki::MakeAuthority("a", base::SystemClock().Now()).value();
  ClientTlsCache cache;
  const auto first = cache.Get({.ca_pem = ca.certificate_pem}).value();

  EXPECT_EQ(cache.Get({.ca_pem = ca.certificate_pem}).value(), first);
  EXPECT_NE(cache.Get({.ca_pem = ca.certificate_pem, .server_name = "x"}).value(), first);
}

}  // namespace
}  // namespace portcullis::net
