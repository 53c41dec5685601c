// SPDX-License-Identifier: Apache-2.0

#include "server/filters/streamed_answer.h"

#include <zlib.h>

#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"

namespace portcullis::server::filters {
namespace {

constexpr std::size_t kMaxUnsent = 1024 * 1024;

// gzip at the fastest level, piece by piece.
class Compressor {
 public:
  Compressor() {
    ok_ = deflateInit2(&stream_, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~Compressor() { deflateEnd(&stream_); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  bool ok() const { return ok_; }
  std::string Add(std::string_view text, bool last) {
    std::string out(deflateBound(&stream_, static_cast<uLong>(text.size())) + 64, '\0');
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
    ok_ = ok_ && stream_.avail_in == 0 && result == (last ? Z_STREAM_END : Z_OK);
    out.resize(out.size() - stream_.avail_out);
    out.shrink_to_fit();  // it may wait long for its client
    return out;
  }

 private:
  z_stream stream_{};
  bool ok_ = false;
};

// Between the worker that writes and the I/O thread that tells what the client has taken.
class Pace {
 public:
  Pace(net::Exchange& exchange, base::SteadyTime deadline)
      : exchange_(exchange), deadline_(deadline), state_(std::make_shared<State>()) {
    const auto changed = [state = state_] {
      base::MutexLock lock(state->mutex);
      state->changed.NotifyAll();
    };
    exchange.OnDrained(changed);
    exchange.OnClosed(changed);
  }

  // False: the client has gone, or its time is up.
  bool Write(std::string piece) {
    if (piece.empty()) return true;
    exchange_.Write(std::move(piece));
    if (exchange_.buffered_bytes() < kMaxUnsent) return !exchange_.closed();
    base::MutexLock lock(state_->mutex);
    while (exchange_.buffered_bytes() > 0 && !exchange_.closed()) {
      if (!state_->changed.WaitUntil(state_->mutex, deadline_)) return false;
    }
    return !exchange_.closed();
  }

 private:
  struct State {
    base::Mutex mutex;
    base::CondVar changed;
  };
  net::Exchange& exchange_;
  const base::SteadyTime deadline_;
  const std::shared_ptr<State> state_;
};

// True if all of it has been written.
bool SendPieces(Call& call, Reply& reply, Compressor* compressor, std::size_t& size) {
  Pace pace(*call.exchange, call.deadline);
  std::string text = std::move(reply.body);
  for (bool more = true;;) {
    size += text.size();
    if (!pace.Write(compressor != nullptr ? compressor->Add(text, !more) : std::move(text))) {
      return false;
    }
    if (compressor != nullptr && !compressor->ok()) return false;
    if (!more) return true;
    text.clear();
    auto appended = reply.rest->Append(text);
    if (!appended.ok()) {
      base::LogError("answer cut off", {{"error", appended.status().message()}});
      return false;
    }
    more = *appended;
  }
}

// An answer that is left for any reason is cut off: the client must not take it for a whole one.
class CutOff {
 public:
  explicit CutOff(net::Exchange& exchange) : exchange_(exchange) {}
  ~CutOff() { exchange_.Abort(); }  // without effect on a finished one
  CutOff(const CutOff&) = delete;
  CutOff& operator=(const CutOff&) = delete;

 private:
  net::Exchange& exchange_;
};

}  // namespace

std::string Compress(std::string_view text) {
  Compressor compressor;
  if (!compressor.ok()) return {};
  std::string out = compressor.Add(text, true);
  return compressor.ok() ? out : std::string();
}

std::size_t SendStreamed(Call& call, net::ResponseHead head, Reply& reply) {
  std::unique_ptr<Compressor> compressor;
  if (call.headers().HasToken("Accept-Encoding", "gzip")) {
    compressor = std::make_unique<Compressor>();
    if (!compressor->ok()) compressor.reset();
  }
  if (compressor) {
    head.headers.Set("Content-Encoding", "gzip");
    head.headers.Add("Vary", "Accept-Encoding");
  }
  call.exchange->Start(std::move(head));
  const CutOff unless_finished(*call.exchange);
  std::size_t size = 0;
  if (SendPieces(call, reply, compressor.get(), size)) call.exchange->Finish();
  return size;
}

}  // namespace portcullis::server::filters
