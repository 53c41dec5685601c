// SPDX-License-Identifier: Apache-2.0

#include "encodings.h"

#include "engine/codec/cbor.h"
#include "engine/codec/protobuf.h"
#include "json/reader.h"

namespace portcullis::load {
namespace {

std::string AsProtobuf(std::string_view text) {
  json::Arena arena;
  std::string out;
  const auto object = json::Parse(arena, text);
  if (!object.ok() || !engine::WriteProtobuf(*object, out).ok()) return "";
  return out;
}

std::string AsCbor(std::string_view text) {
  json::Arena arena;
  std::string out;
  const auto object = json::Parse(arena, text);
  if (object.ok()) engine::WriteCbor(nullptr, *object, out);
  return out;
}

}  // namespace

const Encoding kJson{"application/json", [](std::string_view text) { return std::string(text); }};
const Encoding kProtobuf{engine::kProtobufType, &AsProtobuf};
const Encoding kCbor{engine::kCborType, &AsCbor};

net::ClientRequest In(const Encoding& encoding, net::ClientRequest request) {
  request.headers.Set("Accept", std::string(encoding.media_type));
  if (request.body) request.headers.Set("Content-Type", std::string(encoding.media_type));
  return request;
}

}  // namespace portcullis::load
