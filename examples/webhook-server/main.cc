// SPDX-License-Identifier: Apache-2.0

// An admission webhook server to start from: TLS, optional client certificates, and one path per
// kind of answer. See README.md.
#include <pthread.h>
#include <sys/stat.h>

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "base/strings.h"
#include "golang/netip.h"
#include "net/server.h"
#include "net/url.h"
#include "pki/certificates.h"
#include "review.h"

namespace {

namespace base = portcullis::base;
namespace golang = portcullis::golang;
namespace net = portcullis::net;
namespace pki = portcullis::pki;

constexpr const char* kUsage =
    R"(example-webhook-server: answers AdmissionReviews; what it answers depends on the path.

  --listen=ADDRESS               where to listen (127.0.0.1:9443)
  --tls-cert-file=FILE           serving certificate
  --tls-private-key-file=FILE    its key
  --client-ca-file=FILE          accept only clients with a certificate of this authority
  --make-certs=DIR [--host=NAME]...
                                 write an authority and a serving certificate for the hosts
                                 (localhost, 127.0.0.1) to DIR, print the caBundle, and exit

paths: /allow /deny /delay/N /add-label /patch /warn /audit
)";

struct Options {
  std::string listen = "127.0.0.1:9443";
  std::string certificate_file;
  std::string key_file;
  std::string client_ca_file;
  std::string make_certs;
  std::vector<std::string> hosts;
};

base::Result<Options> ParseOptions(int argc, char** argv) {
  Options options;
  const std::map<std::string_view, std::string*> flags = {
      {"--listen", &options.listen},
      {"--tls-cert-file", &options.certificate_file},
      {"--tls-private-key-file", &options.key_file},
      {"--client-ca-file", &options.client_ca_file},
      {"--make-certs", &options.make_certs}};
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    std::string value;
    if (const auto equals = name.find('='); equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    }
    const auto flag = flags.find(name);
    if (name == "--host") {
      options.hosts.push_back(value);
    } else if (flag != flags.end() && !value.empty()) {
      *flag->second = value;
    } else {
      return base::ConfigError(base::StrCat("unknown flag or missing value: ", name));
    }
  }
  if (options.hosts.empty()) options.hosts = {"localhost", "127.0.0.1"};
  return options;
}

base::Status WriteFile(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream file(path, std::ios::trunc);
  chmod(path.c_str(), mode);
  file << text;
  file.close();
  return file ? base::OkStatus() : base::ConfigError(base::StrCat("cannot write ", path));
}

base::Status MakeCertificates(const Options& options) {
  const auto now = base::SystemClock().Now();
  const auto authority = TRY(pki::MakeAuthority("example-webhook-ca", now));
  pki::CertificateRequest request;
  request.common_name = options.hosts[0];
  request.server = true;
  for (const auto& host : options.hosts) {
    (portcullis::golang::ParseIp(host).has_value() ? request.ip_addresses : request.dns_names)
        .push_back(host);
  }
  const auto serving = TRY(pki::Issue(authority, request, now));
  const std::string& folder = options.make_certs;
  mkdir(folder.c_str(), 0700);
  TRY(WriteFile(folder + "/ca.crt", authority.certificate_pem, 0644));
  TRY(WriteFile(folder + "/ca.key", authority.key_pem, 0600));
  TRY(WriteFile(folder + "/tls.crt", serving.certificate_pem, 0644));
  TRY(WriteFile(folder + "/tls.key", serving.key_pem, 0600));
  std::printf("%s\n", base::Base64Encode(authority.certificate_pem).c_str());
  return base::OkStatus();
}

// Answers late without keeping a network thread: one thread sleeps until the next answer is due.
class DelayedAnswers {
 public:
  DelayedAnswers() : thread_([this] { Run(); }) {}
  ~DelayedAnswers() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    condition_.notify_one();
    thread_.join();
  }

  void Add(double seconds, std::function<void()> answer) {
    const auto due = base::SystemClock().Steady() +
                     std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.emplace(due, std::move(answer));
    condition_.notify_one();
  }

 private:
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopping_) {
      if (waiting_.empty()) {
        condition_.wait(lock);
      } else if (waiting_.begin()->first > base::SystemClock().Steady()) {
        const auto due = waiting_.begin()->first;
        condition_.wait_until(lock, due);
      } else {
        const auto answer = waiting_.extract(waiting_.begin());
        lock.unlock();
        answer.mapped()();
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable condition_;
  std::multimap<base::SteadyTime, std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

void Reply(const std::shared_ptr<net::Exchange>& exchange) {
  const net::Request& request = exchange->request();
  net::Response response;
  if (request.path() == "/healthz") {
    response.body = "ok";
  } else if (exchange->body_too_large()) {
    response.status = 413;
  } else if (auto answer = example::Answer(request.path(), request.query(), request.body);
             answer.ok()) {
    response.headers.Set("Content-Type", "application/json");
    response.body = std::move(*answer);
  } else {
    response.status = answer.status().http_code();
    response.headers.Set("Content-Type", "text/plain");
    response.body = answer.status().message() + "\n";
  }
  std::printf("%s %s %d\n", request.method.c_str(), request.target.c_str(), response.status);
  exchange->Respond(std::move(response));
}

base::Result<std::shared_ptr<const net::ServerTls>> LoadTls(const Options& options) {
  if (options.certificate_file.empty() || options.key_file.empty()) {
    return base::ConfigError(
        "--tls-cert-file and --tls-private-key-file are needed; --make-certs makes some");
  }
  const auto pair = TRY(pki::LoadKeyPair(options.certificate_file, options.key_file));
  net::ServerTlsOptions tls;
  tls.certificate = {pair.certificate_pem, pair.key_pem, {}};
  if (!options.client_ca_file.empty()) {
    tls.client_certificates = net::ClientCertificates::kRequire;
    tls.client_ca_pem = TRY(pki::LoadCertificates(options.client_ca_file));
  }
  return net::ServerTls::Create(tls);
}

base::Status Serve(const Options& options) {
  // Before any thread starts, so that the signals wait for sigwait.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  net::ServerOptions server_options;
  server_options.address = options.listen;
  server_options.tls = TRY(LoadTls(options));
  net::IoThreads threads;
  DelayedAnswers delayed;
  auto handler = [&delayed](const std::shared_ptr<net::Exchange>& exchange) {
    const auto& request = exchange->request();
    const double seconds = example::DelaySeconds(request.path(), request.query());
    if (seconds == 0) return Reply(exchange);
    delayed.Add(seconds, [exchange] { Reply(exchange); });
  };
  const auto server = TRY(net::HttpsServer::Listen(threads, std::move(server_options), handler));
  std::printf("listening on %s\n", server->address().c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  server->Shutdown(std::chrono::seconds(2));
  return base::OkStatus();
}

base::Status Run(int argc, char** argv) {
  const Options options = TRY(ParseOptions(argc, argv));
  return options.make_certs.empty() ? Serve(options) : MakeCertificates(options);
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc > 1 && std::string_view(argv[1]) == "--help") {
    std::printf("%s", kUsage);
    return 0;
  }
  const auto status = Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "example-webhook-server: %s\n", status.message().c_str());
  return 2;
}
