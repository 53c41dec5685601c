// SPDX-License-Identifier: Apache-2.0

#include "target.h"

#include <unistd.h>

#include <ctime>
#include <fstream>

#include "base/strings.h"

namespace portcullis::load {
namespace {

constexpr auto kCallLimit = std::chrono::seconds(120);

// To the nanosecond; /proc counts in hundredths.
double CpuSeconds(int pid) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double ResidentMegabytes(int pid) {
  std::ifstream file(base::StrCat("/proc/", std::to_string(pid), "/statm"));
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

}  // namespace

Usage UsageOf(const std::vector<int>& pids) {
  Usage usage;
  for (const int pid : pids) {
    usage.cpu_seconds += CpuSeconds(pid);
    usage.memory_megabytes += ResidentMegabytes(pid);
  }
  return usage;
}

base::Result<std::unique_ptr<Target>> Target::Create(net::IoThreads& threads,
                                                     const TargetOptions& options) {
  auto target = std::make_unique<Target>();
  target->options_ = options;
  while (target->options_.url.ends_with('/')) target->options_.url.pop_back();
  net::ClientTlsOptions tls;
  tls.ca_pem = options.ca_pem;
  tls.insecure_skip_verify = options.ca_pem.empty();
  tls.certificate_pem = options.certificate_pem;
  tls.key_pem = options.key_pem;
  target->tls_ = TRY(net::ClientTls::Create(tls));
  net::ClientOptions client;
  client.max_idle_per_host = 2000;
  target->client_ = net::HttpsClient::Create(threads, client);
  return target;
}

net::ClientRequest Target::Request(std::string method, std::string_view path,
                                   std::shared_ptr<const std::string> body) const {
  net::ClientRequest request;
  request.method = std::move(method);
  request.url = base::StrCat(options_.url, path);
  request.tls = tls_;
  request.headers.Add("User-Agent", "portcullis-load");
  request.headers.Add("Accept", "application/json");
  request.headers.Add("Accept-Encoding", "identity");
  if (!options_.token.empty()) {
    request.headers.Add("Authorization", base::StrCat("Bearer ", options_.token));
  }
  if (body) request.headers.Add("Content-Type", "application/json");
  request.body = std::move(body);
  return request;
}

int Target::Call(std::string method, std::string_view path, std::string body,
                 std::string* text) const {
  auto shared = body.empty() ? nullptr : std::make_shared<const std::string>(std::move(body));
  const auto result = client_->Call(Request(std::move(method), path, std::move(shared)),
                                    base::SystemClock().Steady() + kCallLimit);
  if (text != nullptr) *text = result.ok() ? result.response.body : result.failure->message;
  return result.ok() ? result.response.status : 0;
}

base::Status Target::Create(std::string_view collection, const std::string& body) const {
  std::string text;
  const int status = Call("POST", collection, body, &text);
  if (status == 201 || status == 200 || status == 409) return base::OkStatus();
  return base::ConfigError(
      base::StrCat("POST ", collection, ": ", std::to_string(status), " ", text.substr(0, 300)));
}

void Target::Delete(std::string_view path) const { Call("DELETE", path); }

}  // namespace portcullis::load
