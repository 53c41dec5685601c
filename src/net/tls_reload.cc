// SPDX-License-Identifier: Apache-2.0

#include "net/tls_reload.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "net/internal/loop.h"
#include "pki/certificates.h"

namespace portcullis::net {

struct TlsReloader::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<internal::Loop> io_loop, HttpsServer& https_server,
        ServerTlsOptions tls_options, TlsFiles tls_files, std::chrono::milliseconds every)
      : loop(std::move(io_loop)),
        server(https_server),
        files(std::move(tls_files)),
        interval(every),
        options(std::move(tls_options)) {}

  base::Result<ServerTlsOptions> Read() PC_REQUIRES(mutex) {
    ServerTlsOptions fresh = options;
    if (!files.certificate.empty()) {
      fresh.certificate.certificate_pem = TRY(base::ReadFile(files.certificate));
      fresh.certificate.key_pem = TRY(base::ReadFile(files.key));
    }
    if (!files.client_ca.empty()) {
      fresh.client_ca_pem = TRY(base::ReadFile(files.client_ca)) + files.more_client_cas_pem;
    }
    for (std::size_t i = 0; i < files.sni.size() && i < fresh.sni.size(); ++i) {
      fresh.sni[i].certificate_pem = TRY(base::ReadFile(files.sni[i].first));
      fresh.sni[i].key_pem = TRY(base::ReadFile(files.sni[i].second));
    }
    return fresh;
  }

  base::Result<Outcome> Reload() PC_REQUIRES(mutex) {
    ServerTlsOptions fresh = TRY(Read());
    if (fresh.certificate == options.certificate && fresh.sni == options.sni &&
        fresh.client_ca_pem == options.client_ca_pem) {
      return Outcome::kUnchanged;
    }
    server.SetTls(TRY(ServerTls::Create(fresh)));
    options = std::move(fresh);
    return Outcome::kReloaded;
  }

  Outcome Check() {
    base::MutexLock lock(mutex);
    const auto outcome = Reload();
    if (!outcome.ok()) {
      const std::string reason = outcome.status().message();
      if (reason != last_error) {
        base::LogWarning("serving certificate not reloaded", {{"error", reason}});
      }
      last_error = reason;
      return Outcome::kFailed;
    }
    last_error.clear();
    if (*outcome == Outcome::kReloaded) {
      base::LogInfo("serving certificate reloaded", {{"file", files.certificate}});
    }
    return *outcome;
  }

  // On the loop's thread.
  void Schedule() {
    timer = loop->At(loop->now() + interval, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->Check();
        self->Schedule();
      }
    });
  }

  const std::shared_ptr<internal::Loop> loop;
  HttpsServer& server;
  const TlsFiles files;
  const std::chrono::milliseconds interval;
  internal::Loop::TimerKey timer;  // the loop's thread

  base::Mutex mutex;
  ServerTlsOptions options PC_GUARDED_BY(mutex);
  std::string last_error PC_GUARDED_BY(mutex);
};

TlsReloader::TlsReloader(IoThreads& threads, HttpsServer& server, ServerTlsOptions options,
                         TlsFiles files, std::chrono::milliseconds interval)
    : state_(std::make_shared<State>(threads.Next(), server, std::move(options), std::move(files),
                                     interval)) {
  state_->loop->Post([state = state_] { state->Schedule(); });
}

TlsReloader::~TlsReloader() {
  // Also waits for a check under way.
  state_->loop->RunAndWait([this] { state_->loop->Cancel(state_->timer); });
}

TlsReloader::Outcome TlsReloader::Check() { return state_->Check(); }

}  // namespace portcullis::net
