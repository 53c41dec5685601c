// SPDX-License-Identifier: Apache-2.0

#include "net/internal/answer_reader.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "net/internal/client_call.h"

namespace portcullis::net::internal {

void AnswerReader::OnField(std::string_view name, std::string_view value) {
  constexpr std::size_t kFewFields = 8;
  if (response_.headers.empty()) response_.headers.Reserve(kFewFields);
  response_.headers.Add(name, value);
}

void AnswerReader::OnHead(std::int64_t content_length) {
  constexpr std::int64_t kMaxReserve = 1 << 20;
  const auto& on_data = call_.request->on_data;
  const bool is_packed = call_.prepared->wants_gzip &&
                         base::EqualsIgnoreCase(response_.headers.Get("Content-Encoding"), "gzip");
  if (is_packed) inflater_.emplace(on_data ? 0 : call_.max_response_bytes);
  if (on_data && response_.status >= 200 && !call_.prepared->upgrades) {
    if (is_packed) {
      response_.headers.Remove("Content-Encoding");
      response_.headers.Remove("Content-Length");
    }
    on_data({response_.status, response_.headers}, {});
  } else if (!is_packed && content_length > 0 && !on_data) {
    response_.body.reserve(static_cast<std::size_t>(std::min(content_length, kMaxReserve)));
  }
}

bool AnswerReader::OnBody(std::string_view piece) {
  body_bytes_ += piece.size();
  if (call_.prepared->upgrades) return true;
  if (call_.request->on_data) {
    std::string plain;
    if (inflater_) {
      const base::Status inflated = inflater_->Add(piece, plain);
      if (!inflated.ok()) return Failed(CallPhase::kDecode, std::string(inflated.message()));
      piece = plain;
    }
    call_.request->on_data({response_.status, response_.headers}, piece);
    return true;
  }
  const auto limit = call_.max_response_bytes;
  if (limit > 0 && body_bytes_ > limit) {
    is_too_large_ = true;
    return Failed(CallPhase::kRead,
                  base::StrCat("response body is larger than ", std::to_string(limit), " bytes"));
  }
  if (!inflater_) {
    response_.body.append(piece);
    return true;
  }
  const base::Status inflated = inflater_->Add(piece, response_.body);
  if (inflated.ok()) return true;
  is_too_large_ = inflater_->is_too_large();
  return Failed(CallPhase::kDecode, std::string(inflated.message()));
}

bool AnswerReader::Finish() {
  if (!inflater_) return true;
  if (const base::Status whole = inflater_->Finish(); !whole.ok()) {
    return Failed(CallPhase::kDecode, std::string(whole.message()));
  }
  response_.headers.Remove("Content-Encoding");
  response_.headers.Remove("Content-Length");
  return true;
}

bool AnswerReader::Failed(CallPhase phase, std::string cause) {
  failed_phase_ = phase;
  cause_ = std::move(cause);
  return false;
}

}  // namespace portcullis::net::internal
