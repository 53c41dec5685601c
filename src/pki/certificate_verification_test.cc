// SPDX-License-Identifier: Apache-2.0

// Certificates of clients as Go's crypto/x509 reads and verifies them. The whole table, with the verdicts
// of a kube-apiserver, is in tests/reference/recorded/certificates.json.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/strings.h"
#include "pki/certificate.h"
#include "pki/certificates.h"
#include "pki/internal/der.h"
#include "pki/internal/mailbox.h"
#include "pki/x509.h"

namespace portcullis::pki {
namespace {

using namespace std::string_view_literals;

base::WallTime Now() { return base::SystemClock().Now(); }

X509_EXTENSION* RawExtension(const char* kind, bool critical, std::string_view value) {
  ASN1_OBJECT* object = OBJ_txt2obj(kind, 1);
  ASN1_OCTET_STRING* bytes = ASN1_OCTET_STRING_new();
  ASN1_OCTET_STRING_set(bytes, reinterpret_cast<const unsigned char*>(value.data()),
                        static_cast<int>(value.size()));
  X509_EXTENSION* extension =
      X509_EXTENSION_create_by_OBJ(nullptr, object, critical ? 1 : 0, bytes);
  ASN1_OCTET_STRING_free(bytes);
  ASN1_OBJECT_free(object);
  return extension;
}

// Makes certificates that Issue() would not: a root, an authority below it, and leaves.
class Maker {
 public:
  struct Extension {
    std::string kind;   // dotted numbers, or OpenSSL's name of one that it can write
    std::string value;  // DER, or OpenSSL's notation
    bool critical = false;
  };
  using Extensions = std::vector<Extension>;
  using Change = std::function<void(X509*)>;

  Maker() : root_(Make("root", "root", {{"basicConstraints", "critical,CA:TRUE"}}, {})) {}

  const std::string& root() const { return root_; }
  std::string Middle(Extensions extensions) const {
    extensions.push_back({"basicConstraints", "critical,CA:TRUE"});
    return Make("middle", "root", extensions, {});
  }
  // A leaf for clients, signed by `issuer`; `change` is made before it is signed.
  std::string Leaf(std::string_view issuer, Extensions extensions,
                   const Change& change = {}) const {
    extensions.push_back({"extendedKeyUsage", "clientAuth"});
    return Make("joe", issuer, extensions, change);
  }

 private:
  static void Name(X509_NAME* name, std::string_view common_name) {
    X509_NAME_add_entry_by_NID(name, NID_commonName, V_ASN1_UTF8STRING,
                               reinterpret_cast<const unsigned char*>(common_name.data()),
                               static_cast<int>(common_name.size()), -1, 0);
  }

  static void Add(X509* certificate, const Extension& extension) {
    const bool is_raw = extension.kind.find('.') != std::string::npos;
    X509_EXTENSION* made =
        is_raw ? RawExtension(extension.kind.c_str(), extension.critical, extension.value)
               : X509V3_EXT_conf(nullptr, nullptr, extension.kind.c_str(), extension.value.c_str());
    ASSERT_NE(made, nullptr) << extension.kind;
    X509_add_ext(certificate, made, -1);
    X509_EXTENSION_free(made);
  }

  std::string Make(std::string_view subject, std::string_view issuer, const Extensions& extensions,
                   const Change& change) const {
    const X509Ptr certificate(X509_new());
    X509* x = certificate.get();
    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 7);
    X509_time_adj_ex(X509_getm_notBefore(x), -1, 0, nullptr);
    X509_time_adj_ex(X509_getm_notAfter(x), 1, 0, nullptr);
    X509_set_pubkey(x, key_.get());
    Name(X509_get_subject_name(x), subject);
    Name(X509_get_issuer_name(x), issuer);
    for (const Extension& extension : extensions) Add(x, extension);
    if (change) change(x);
    X509_sign(x, key_.get(), EVP_sha256());
    return DerOf(x);
  }

  const KeyPtr key_{EVP_EC_gen("P-256")};  // of all of them
  const std::string root_;
};

std::string Pem(std::string_view der) {
  return base::StrCat("-----BEGIN CERTIFICATE-----\n", base::Base64Encode(der),
                      "\n-----END CERTIFICATE-----\n");
}

class ClientCertificates : public ::testing::Test {
 protected:
  std::string Verify(const std::vector<std::string>& chain) const {
    const auto pool = CertificatePool::Create(Pem(maker_.root()));
    return pool.ok() ? (*pool)->VerifyClient(chain, Now()) : std::string(pool.status().message());
  }
  // A leaf below the root that has been changed.
  std::string Changed(const Maker::Change& change) const {
    return Verify({maker_.Leaf("root", {}, change)});
  }
  // A leaf with names, below an authority with constraints on them.
  std::string Constrained(const std::string& constraints, const std::string& names) const {
    const std::string middle = maker_.Middle({{"nameConstraints", constraints}});
    return Verify({maker_.Leaf("middle", {{"subjectAltName", names}}), middle});
  }

  const Maker maker_;
};

constexpr const char* kNotAuthorized =
    "x509: a root or intermediate certificate is not authorized to sign for this name: ";

TEST_F(ClientCertificates, WithUnknownCriticalExtensionsAreRefused) {
  EXPECT_EQ(Verify({maker_.Leaf("root", {{"1.2.3.4", "x"}})}), "");
  EXPECT_EQ(Verify({maker_.Leaf("root", {{"1.2.3.4", "x", true}})}),
            "x509: unhandled critical extension");
  const std::string middle = maker_.Middle({{"1.2.3.4", "x", true}});
  EXPECT_EQ(Verify({maker_.Leaf("middle", {}), middle}),
            "x509: certificate signed by unknown authority (possibly because of \"x509: unhandled "
            "critical extension\" while trying to verify candidate authority certificate "
            "\"middle\")");
}

TEST_F(ClientCertificates, AreHeldToNameConstraints) {
  EXPECT_EQ(Constrained("permitted;DNS:example.com", "DNS:a.example.com"), "");
  EXPECT_EQ(Constrained("permitted;DNS:example.com", "DNS:a.example.org"),
            base::StrCat(kNotAuthorized,
                         "DNS name \"a.example.org\" is not permitted by any constraint"));
  EXPECT_EQ(Constrained("excluded;DNS:example.com", "DNS:a.EXAMPLE.com"),
            base::StrCat(kNotAuthorized,
                         "DNS name \"a.EXAMPLE.com\" is excluded by constraint \"example.com\""));
  // A wildcard stands for names that are excluded.
  EXPECT_EQ(
      Constrained("excluded;DNS:example.com", "DNS:*.com"),
      base::StrCat(kNotAuthorized, "DNS name \"*.com\" is excluded by constraint \"example.com\""));
  EXPECT_EQ(Constrained("excluded;DNS:example.com", "DNS:*.org"), "");
  EXPECT_EQ(Constrained("permitted;IP:10.0.0.0/255.0.0.0", "IP:10.1.2.3"), "");
  EXPECT_EQ(
      Constrained("permitted;IP:10.0.0.0/255.0.0.0", "IP:11.1.2.3"),
      base::StrCat(kNotAuthorized, "IP address \"11.1.2.3\" is not permitted by any constraint"));
  EXPECT_EQ(Constrained("excluded;IP:10.0.0.0/255.0.0.0", "IP:10.1.2.3"),
            base::StrCat(kNotAuthorized,
                         "IP address \"10.1.2.3\" is excluded by constraint \"10.0.0.0/8\""));
  EXPECT_EQ(Constrained("permitted;URI:example.com", "URI:https://example.com:1/a"), "");
  EXPECT_EQ(Constrained("permitted;URI:example.com", "URI:http://10.1.2.3/"),
            base::StrCat(kNotAuthorized,
                         "URI with IP (\"http://10.1.2.3/\") cannot be matched against "
                         "constraints"));
}

TEST_F(ClientCertificates, HostsOfMailboxesAreConstrainedAsDomains) {
  EXPECT_EQ(Constrained("permitted;email:example.com", "email:joe@a.example.com"), "");
  EXPECT_EQ(Constrained("excluded;email:example.com", "email:joe@a.example.com"),
            base::StrCat(kNotAuthorized,
                         "email address \"joe@a.example.com\" is excluded by constraint "
                         "\"example.com\""));
  EXPECT_EQ(Constrained("permitted;email:joe@example.com", "email:joe@EXAMPLE.com"), "");
  EXPECT_EQ(Constrained("permitted;email:joe@example.com", "email:Joe@example.com"),
            base::StrCat(kNotAuthorized,
                         "email address \"Joe@example.com\" is not permitted by any constraint"));
}

TEST_F(ClientCertificates, WithoutPurposesInTheListAreForAnything) {
  EXPECT_EQ(Verify({maker_.Leaf("root", {})}), "");
  const auto only = [this](std::string value) {
    return Changed([&value](X509* x) {
      X509_EXTENSION_free(X509_delete_ext(x, X509_get_ext_by_NID(x, NID_ext_key_usage, -1)));
      X509_EXTENSION* purposes = RawExtension("2.5.29.37", false, value);
      X509_add_ext(x, purposes, -1);
      X509_EXTENSION_free(purposes);
    });
  };
  EXPECT_EQ(only(std::string("\x30\x00"sv)), "");
  EXPECT_EQ(only("\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x01"),
            "x509: certificate specifies an incompatible key usage");
}

TEST_F(ClientCertificates, ThatGosParserRefusesAreRefused) {
  const auto add = [](const char* kind, std::string_view value, int times = 1) {
    return [kind, value, times](X509* x) {
      for (int i = 0; i < times; ++i) {
        X509_EXTENSION* extension = RawExtension(kind, false, value);
        X509_add_ext(x, extension, -1);
        X509_EXTENSION_free(extension);
      }
    };
  };
  const auto organization = [](int type, const char* text) {
    return [type, text](X509* x) {
      X509_NAME_add_entry_by_NID(X509_get_subject_name(x), NID_organizationName, type,
                                 reinterpret_cast<const unsigned char*>(text),
                                 static_cast<int>(std::strlen(text)), -1, 0);
    };
  };
  EXPECT_EQ(Changed([](X509* x) { X509_set_version(x, 3); }), "x509: invalid version");
  EXPECT_EQ(Changed([](X509* x) { ASN1_INTEGER_set(X509_get_serialNumber(x), -5); }),
            "x509: negative serial number");
  EXPECT_EQ(Changed(organization(V_ASN1_PRINTABLESTRING, "a_b")),
            "x509: invalid RDNSequence: invalid attribute value: invalid PrintableString");
  EXPECT_EQ(Changed(add("1.2.3.4", "x", 2)),
            "x509: certificate contains duplicate extension with OID \"1.2.3.4\"");
  EXPECT_EQ(Changed(add("2.5.29.36", "\x30\x03\x80\x01\x00"sv)),
            "x509: no valid chains built: 1 candidate chains with invalid policies");
  EXPECT_EQ(Changed(add("2.5.29.36", "\x30\x03\x80\x01"sv)),
            "x509: invalid policy constraints extension");
  EXPECT_EQ(Changed(add("2.5.29.32", "\x30\x0a\x30\x03\x06\x01\x2a\x30\x03\x06\x01\x2a")),
            "x509: invalid certificate policies");
  EXPECT_EQ(Changed(add("2.5.29.30", "\x30\x00"sv)), "x509: empty name constraints extension");
  EXPECT_EQ(Changed(add("2.5.29.17", "\x30\x03\x82\x01\xff")), "x509: SAN dNSName is malformed");
  EXPECT_EQ(Changed(add("2.5.29.17", "\x30\x05\x87\x03\x01\x02\x03")),
            "x509: cannot parse IP address of length 3");
  EXPECT_EQ(Changed(add("2.5.29.17", "\x30\x0e\x86\x0chttp://[::1/")),
            "x509: cannot parse URI \"http://[::1/\": parse \"http://[::1/\": missing ']' in host");
}

// OpenSSL reads such a certificate and finds out when it is asked for the key.
TEST_F(ClientCertificates, WithPointsOffTheirCurveAreRefused) {
  std::string leaf = maker_.Leaf("root", {});
  const auto point = leaf.find("\x03\x42\x00\x04"sv);
  ASSERT_NE(point, std::string::npos);
  leaf[point + 20] = static_cast<char>(leaf[point + 20] ^ 1);
  EXPECT_EQ(Verify({leaf}), "P256 point not on curve");
  leaf[point + 3] = '\x02';
  EXPECT_EQ(Verify({leaf}), "ecdsa: invalid uncompressed public key");
}

TEST_F(ClientCertificates, MayLastUntilTheYear9999) {
  EXPECT_EQ(
      Changed([](X509* x) { ASN1_TIME_set_string(X509_getm_notAfter(x), "99991231235959Z"); }), "");
}

TEST_F(ClientCertificates, NeedThePoliciesThatTheirAuthorityDemands) {
  const std::string middle = maker_.Middle({{"policyConstraints", "requireExplicitPolicy:0"}});
  EXPECT_EQ(Verify({maker_.Leaf("middle", {}), middle}),
            "x509: no valid chains built: 1 candidate chains with invalid policies");
}

TEST(DerReader, RefusesWhatIsNotInTheShortestForm) {
  EXPECT_TRUE(DerReader("\x04\x01x").Next());
  EXPECT_FALSE(DerReader("\x04\x81\x01x").Next());
  EXPECT_FALSE(DerReader("\x04\x80x"sv).Next());
  EXPECT_FALSE(DerReader("\x04\x02x").Next());
  EXPECT_FALSE(DerReader("\x04\x85\x00\x00\x00\x00\x01x"sv).Next());
  EXPECT_FALSE(DerReader("\x1f\x20\x00"sv).Next());
  EXPECT_FALSE(DerReader("\x02\x02\x00\x7f"sv).Integer());
  EXPECT_TRUE(DerReader("\x02\x02\x00\x80"sv).Integer());
  EXPECT_FALSE(DerReader("\x06\x02\x2a\x80").ObjectIdentifier());
  EXPECT_FALSE(DerReader("\x06\x03\x2a\x80\x01").ObjectIdentifier());
  EXPECT_FALSE(DerReader("\x01\x01\x01").Boolean());
  EXPECT_FALSE(DerReader("\x03\x02\x01\x01").BitString());
  EXPECT_EQ(DerReader("\x17\x0d"
                      "700101000001Z")
                .Time(),
            1);
  EXPECT_EQ(DerReader("\x17\x11"
                      "700101010000+0100")
                .Time(),
            0);
  EXPECT_FALSE(DerReader("\x17\x0d"
                         "700230000000Z")
                   .Time());
  EXPECT_FALSE(DerReader("\x18\x11"
                         "19700101000000.5Z")
                   .Time());
}

TEST(Mailbox, IsReadAsGoReadsIt) {
  const auto read = [](std::string_view text) {
    const auto mailbox = ParseMailbox(text);
    return mailbox ? base::StrCat(mailbox->local, " at ", mailbox->domain) : "none";
  };
  EXPECT_EQ(read("joe@example.com"), "joe at example.com");
  EXPECT_EQ(read("\"joe b\\\"\"@example.com"), "joe b\" at example.com");
  EXPECT_EQ(read("joe\\@x@example.com"), "joe@x at example.com");
  EXPECT_EQ(read("j..b@example.com"), "none");
  EXPECT_EQ(read(".b@example.com"), "none");
  EXPECT_EQ(read("joe"), "none");
  EXPECT_EQ(read("joe@a..b"), "none");
  EXPECT_EQ(read(""), "none");
}

}  // namespace
}  // namespace portcullis::pki
