// SPDX-License-Identifier: Apache-2.0

#include "pki/internal/asn1.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/strings.h"

namespace portcullis::pki {
namespace {

unsigned ByteAt(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

base::Status SyntaxError(std::string_view what) {
  return base::ConfigError(base::StrCat("asn1: syntax error: ", what));
}
base::Status StructureError(std::string_view what) {
  return base::ConfigError(base::StrCat("asn1: structure error: ", what));
}

// A number of seven bits a byte, the last of them without the highest bit; `at` moves past it.
base::Result<unsigned> Base128(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int count = 0; at < bytes.size(); ++count) {
    if (count == 5) return StructureError("base 128 integer too large");
    const unsigned byte = ByteAt(bytes, at);
    if (count == 0 && byte == 0x80) return SyntaxError("integer is not minimally encoded");
    value = value << 7U | (byte & 0x7fU);
    ++at;
    if ((byte & 0x80U) != 0) continue;
    if (value > std::numeric_limits<std::int32_t>::max()) {
      return StructureError("base 128 integer too large");
    }
    return static_cast<unsigned>(value);
  }
  return SyntaxError("truncated base 128 integer");
}

struct Header {
  Asn1Tag tag;
  std::size_t length = 0;
  std::size_t end = 0;  // where the body begins
};

base::Result<Header> ReadHeader(std::string_view bytes, std::size_t at) {
  Header header;
  const unsigned first = ByteAt(bytes, at++);
  header.tag = {first >> 6U, first & 0x1fU, (first & 0x20U) != 0};
  if (header.tag.number == 0x1f) {
    header.tag.number = TRY(Base128(bytes, at));
    if (header.tag.number < 0x1f) return SyntaxError("non-minimal tag");
  }
  if (at >= bytes.size()) return SyntaxError("truncated tag or length");
  const unsigned second = ByteAt(bytes, at++);
  header.length = second & 0x7fU;
  if ((second & 0x80U) != 0) {
    const std::size_t count = header.length;
    if (count == 0) return SyntaxError("indefinite length found (not DER)");
    header.length = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (at >= bytes.size()) return SyntaxError("truncated tag or length");
      if (header.length >= (1U << 23U)) return StructureError("length too large");
      header.length = header.length << 8U | ByteAt(bytes, at++);
      if (header.length == 0) return StructureError("superfluous leading zeros in length");
    }
    if (header.length < 0x80) return StructureError("non-minimal length");
  }
  header.end = at;
  return header;
}

std::string TextOf(const Header& header) {
  return base::StrCat("{class:", std::to_string(header.tag.tag_class),
                      " tag:", std::to_string(header.tag.number),
                      " length:", std::to_string(header.length),
                      " isCompound:", header.tag.compound ? "true" : "false", "}");
}

base::Result<std::vector<Asn1Element>> ReadList(std::string_view body, std::optional<Asn1Tag> tag) {
  std::vector<Asn1Element> elements;
  for (std::size_t at = 0; at < body.size();) {
    const Header header = TRY(ReadHeader(body, at));
    if (tag && header.tag != *tag) return StructureError("sequence tag mismatch");
    if (body.size() - header.end < header.length) return SyntaxError("truncated sequence");
    const std::size_t end = header.end + header.length;
    elements.push_back(
        {header.tag, body.substr(header.end, header.length), body.substr(at, end - at)});
    at = end;
  }
  return elements;
}

}  // namespace

bool Asn1Reader::NextIs(Asn1Tag tag) const {
  if (empty()) return false;
  const auto header = ReadHeader(bytes_, at_);
  return header.ok() && header->tag == tag;
}

base::Result<Asn1Element> Asn1Reader::Next() {
  if (empty()) return SyntaxError("sequence truncated");
  const Header header = TRY(ReadHeader(bytes_, at_));
  if (bytes_.size() - header.end < header.length) return SyntaxError("data truncated");
  const std::size_t end = header.end + header.length;
  const Asn1Element element{header.tag, bytes_.substr(header.end, header.length),
                            bytes_.substr(at_, end - at_)};
  at_ = end;
  return element;
}

base::Result<Asn1Element> Asn1Reader::Next(Asn1Tag tag, std::string_view go_type) {
  if (empty()) return SyntaxError("sequence truncated");
  const Header header = TRY(ReadHeader(bytes_, at_));
  if (header.tag == tag) return Next();
  return StructureError(base::StrCat(
      "tags don't match (", std::to_string(tag.number), " vs ", TextOf(header),
      ") {optional:false explicit:false application:false private:false defaultValue:<nil> "
      "tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} ",
      go_type, " @", std::to_string(header.end)));
}

base::Result<std::string_view> Asn1Reader::ObjectIdentifier() {
  const Asn1Element element = TRY(Next(kAsn1ObjectIdentifier, "ObjectIdentifier"));
  TRY(CheckAsn1ObjectIdentifier(element.body));
  return element.body;
}

base::Result<std::string_view> Asn1Reader::BitString() {
  return Asn1BitString(TRY(Next(kAsn1BitString, "BitString")).body);
}

base::Result<std::vector<Asn1Element>> Asn1List(std::string_view body, Asn1Tag tag) {
  return ReadList(body, tag);
}

base::Result<std::vector<Asn1Element>> Asn1List(std::string_view body) {
  return ReadList(body, std::nullopt);
}

base::Status CheckAsn1Integer(std::string_view body) {
  if (body.empty()) return StructureError("empty integer");
  if (body.size() > 1) {
    const unsigned first = ByteAt(body, 0);
    const bool second_negative = (ByteAt(body, 1) & 0x80U) != 0;
    if ((first == 0 && !second_negative) || (first == 0xff && second_negative)) {
      return StructureError("integer not minimally-encoded");
    }
  }
  return body.size() > 8 ? StructureError("integer too large") : base::OkStatus();
}

base::Status CheckAsn1ObjectIdentifier(std::string_view body) {
  if (body.empty()) return SyntaxError("zero length OBJECT IDENTIFIER");
  for (std::size_t at = 0; at < body.size();) TRY(Base128(body, at));
  return base::OkStatus();
}

base::Result<std::string_view> Asn1BitString(std::string_view body) {
  if (body.empty()) return SyntaxError("zero length BIT STRING");
  const unsigned unused = ByteAt(body, 0);
  const unsigned last = ByteAt(body, body.size() - 1);
  if (unused > 7 || (body.size() == 1 && unused > 0) || (last & ((1U << unused) - 1)) != 0) {
    return SyntaxError("invalid padding bits in BIT STRING");
  }
  return body.substr(1);
}

}  // namespace portcullis::pki
