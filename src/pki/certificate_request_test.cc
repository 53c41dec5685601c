// SPDX-License-Identifier: Apache-2.0

#include "pki/certificate_request.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace portcullis::pki {
namespace {

using namespace std::string_view_literals;

// Signed with the key in it, on the curve P-256.
constexpr std::string_view kSigned =
    "MIHFMG4CAQAwDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJpgSH/17/OO4DyKE89GHY3bcj"
    "MUR9qE6Z+zRhrr2WvCL1LS4pBelSKZS1MCIhyvXnu98LxnQKIcQYH5xKw3otqgADAKBggqhkjOPQQDAgNHADBEAiB7"
    "W8c8ZK000u8ipf9r30g11HbAPyMbWZcu80fE1UDuFgIgGjuFWcAZD7tDWWAJ4T8eszRcfee4hkg7PupD9Mni5Xg=";

std::string Element(unsigned char tag, std::string_view body) {
  std::string out(1, static_cast<char>(tag));
  if (body.size() >= 128) out += '\x81';
  out += static_cast<char>(body.size());
  return base::StrCat(out, body);
}

std::string Sequence(std::string_view body) { return Element(0x30, body); }

// An attribute of a subject, 2.5.4.`type`.
std::string Attribute(char type, std::string_view value) {
  return Sequence(
      base::StrCat(Element(0x06, base::StrCat("\x55\x04", std::string(1, type))), value));
}

std::string Organization(unsigned char tag, std::string_view value) {
  return Element(0x31, Attribute(10, Element(tag, value)));
}

// A request with a subject and attributes (RFC 2986 §4), its key and signature of a type 1.2.3.
std::string Request(std::string_view subject, std::string_view attributes = "") {
  const std::string algorithm = Sequence(Element(0x06, "\x2a\x03"));
  const std::string bits = Element(0x03, "\0x"sv);
  const std::string content =
      base::StrCat(Element(0x02, "\0"sv), Sequence(subject),
                   Sequence(base::StrCat(algorithm, bits)), Element(0xa0, attributes));
  return Sequence(base::StrCat(Sequence(content), algorithm, bits));
}

// "CN: O, O" or the error.
std::string Read(std::string_view der) {
  const auto request = ParseCertificateRequest(der);
  if (!request.ok()) return std::string(request.status().message());
  const DistinguishedName& name = request->subject;
  return base::StrCat(name.common_name, ": ", base::Join(name.organizations, ", "));
}

std::string ReadRequested(std::string_view value) {
  return Read(
      Request("", Sequence(base::StrCat(Element(0x06, "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x0e"),
                                        Element(0x31, Sequence(value))))));
}

std::string Extension(std::string_view value) {
  return Sequence(base::StrCat(Element(0x06, "\x55\x1d\x11"), Element(0x04, value)));
}

TEST(CertificateRequestTest, DecodesEachTypeOfString) {
  EXPECT_EQ(Read(Request(Organization(0x0c, "a\xc3\xa4"))), ": a\xc3\xa4");
  EXPECT_EQ(Read(Request(Organization(0x12, "1 2"))), ": 1 2");
  EXPECT_EQ(Read(Request(Organization(0x13, "a*&"))), ": a*&");
  EXPECT_EQ(Read(Request(Organization(0x14, "\xe4"))), ": \xc3\xa4");
  EXPECT_EQ(Read(Request(Organization(0x16, "a@b"))), ": a@b");
  EXPECT_EQ(Read(Request(Organization(0x1e, "\0a\0b"sv))), ": ab");
  EXPECT_EQ(Read(Request(Organization(0x1e, "\0a\0\0"sv))), ": a");
}

TEST(CertificateRequestTest, RefusesWrongCharacters) {
  EXPECT_EQ(Read(Request(Organization(0x0c, "\xff"))), "asn1: invalid UTF-8 string");
  EXPECT_EQ(Read(Request(Organization(0x12, "a"))),
            "asn1: syntax error: NumericString contains invalid character");
  EXPECT_EQ(Read(Request(Organization(0x13, "a@b"))),
            "asn1: syntax error: PrintableString contains invalid character");
  EXPECT_EQ(Read(Request(Organization(0x16, "\xe4"))),
            "asn1: syntax error: IA5String contains invalid character");
  for (const std::string_view text : {"\0a\0"sv, "\xd8\0"sv, "\xff\xfe"sv}) {
    EXPECT_EQ(Read(Request(Organization(0x1e, text))), "invalid BMPString");
  }
}

TEST(CertificateRequestTest, PassesOverWhatIsNoString) {
  for (const int tag : {0x04, 0x19, 0x1a, 0x1b, 0x1c, 0x8c, 0x2c}) {
    EXPECT_EQ(Read(Request(Organization(static_cast<unsigned char>(tag), "a"))), ": ") << tag;
  }
  EXPECT_EQ(Read(Request(Element(0x31, Attribute(10,
                                                 "\x1f\x1f\x01"
                                                 "a")))),
            ": ");
  EXPECT_EQ(Read(Request(Organization(0x01, "a"))), "asn1: syntax error: invalid boolean");
  EXPECT_EQ(Read(Request(Organization(0x02, "\0\1"sv))),
            "asn1: structure error: integer not minimally-encoded");
}

TEST(CertificateRequestTest, KeepsEveryOrganizationAndTheLastCommonName) {
  const std::string first = Attribute(3, Element(0x0c, "x"));
  const std::string second = Attribute(3, Element(0x0c, "y"));
  EXPECT_EQ(Read(Request(base::StrCat(Element(0x31, first), Organization(0x0c, "a"),
                                      Organization(0x1e, "\0b"sv), Element(0x31, second)))),
            "y: a, b");
  EXPECT_EQ(Read(Request(Element(0x31, base::StrCat(second, Attribute(10, Element(0x0c, "a")))))),
            "y: a");
}

TEST(CertificateRequestTest, ReadsTheFrameAsGoDoes) {
  EXPECT_EQ(Read(""), "asn1: syntax error: sequence truncated");
  EXPECT_EQ(Read("\x30"), "asn1: syntax error: truncated tag or length");
  EXPECT_EQ(Read("\x30\x00"sv), "asn1: syntax error: sequence truncated");
  EXPECT_EQ(Read("\x30\x82\x01\x00\x01"sv), "asn1: syntax error: data truncated");
  EXPECT_EQ(Read("\x30\x80"), "asn1: syntax error: indefinite length found (not DER)");
  EXPECT_EQ(Read("\x30\x81\x01"), "asn1: structure error: non-minimal length");
  EXPECT_EQ(Read("\x02\x01\x00"sv),
            "asn1: structure error: tags don't match (16 vs {class:0 tag:2 length:1 "
            "isCompound:false}) {optional:false explicit:false application:false private:false "
            "defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} "
            "certificateRequest @2");
  EXPECT_EQ(Read(Request("") + "+"), "asn1: syntax error: trailing data");
  EXPECT_EQ(Read(Request(Sequence(""))), "asn1: structure error: sequence tag mismatch");
}

TEST(CertificateRequestTest, ReadsRequestedAlternativeNames) {
  const std::string names = Extension(Sequence(Element(0x82, "a.b")));
  EXPECT_EQ(ReadRequested(names), ": ");
  EXPECT_EQ(ReadRequested(names + names),
            "x509: certificate request contains duplicate requested extensions");
  EXPECT_EQ(ReadRequested(Extension("")), "x509: invalid subject alternative names");
  EXPECT_EQ(ReadRequested(Extension(Sequence(Element(0x87, "abc")))),
            "x509: cannot parse IP address of length 3");
  EXPECT_EQ(ReadRequested(Element(0x02, "a")), "asn1: structure error: sequence tag mismatch");
}

TEST(CertificateRequestTest, KnowsWhoSigned) {
  std::string der = base::Base64Decode(kSigned).value_or("");
  EXPECT_EQ(RequestSignatureProblem(*ParseCertificateRequest(der)), "");
  der.back() ^= 1;
  EXPECT_EQ(RequestSignatureProblem(*ParseCertificateRequest(der)),
            "x509: ECDSA verification failure");
  EXPECT_EQ(RequestSignatureProblem(*ParseCertificateRequest(Request(""))),
            "x509: cannot verify signature: algorithm unimplemented");
}

TEST(CertificateRequestTest, IsInTheFirstBlock) {
  constexpr std::string_view kProblem = "PEM block type must be CERTIFICATE REQUEST";
  const std::string block = base::StrCat("-----BEGIN CERTIFICATE REQUEST-----\n", kSigned,
                                         "\n-----END CERTIFICATE REQUEST-----\n");
  EXPECT_EQ(ReadCertificateRequest(block)->subject.common_name, "a");
  EXPECT_EQ(ReadCertificateRequest("").status().message(), kProblem);
  EXPECT_EQ(ReadCertificateRequest(" " + block).status().message(), kProblem);
  EXPECT_EQ(
      ReadCertificateRequest("-----BEGIN A-----\n-----END A-----\n" + block).status().message(),
      kProblem);
}

}  // namespace
}  // namespace portcullis::pki
