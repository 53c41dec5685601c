// SPDX-License-Identifier: Apache-2.0

#include "harness/test_server.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::testing {
namespace {

constexpr std::chrono::seconds kPatience{20};

std::string MakeFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "portcullis-test-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) std::abort();
  return path;
}

// A test that cannot start its server has nothing to tell.
[[noreturn]] void Give(std::string_view what, const base::Status& status) {
  std::fprintf(stderr, "%s: %s\n", std::string(what).c_str(), status.message().c_str());
  std::abort();
}

std::string Content(const std::string& path) {
  auto content = base::ReadFile(path);
  if (!content.ok()) Give("reading", content.status());
  return *std::move(content);
}

Answer ToAnswer(net::CallResult result) {
  Answer answer;
  if (!result.ok()) {
    answer.error = result.failure->message;
    return answer;
  }
  answer.status = result.response.status;
  answer.headers = std::move(result.response.headers);
  answer.body = std::move(result.response.body);
  if (auto document = json::ParseDocument(answer.body); document.ok()) {
    answer.document = *std::move(document);
  }
  return answer;
}

}  // namespace

std::vector<std::string> Answer::warnings() const {
  std::vector<std::string> texts;
  for (std::string_view text : headers.All("Warning")) texts.emplace_back(text);
  return texts;
}

TestServer::TestServer(const std::function<void(server::Options&)>& adjust,
                       const base::Clock& clock)
    : clock_(clock), folder_(MakeFolder()) {
  base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kWarning);
  options_.bind_address = "127.0.0.1";
  options_.secure_port = 0;
  options_.store = "memory";
  options_.data_dir = folder_;
  options_.controllers = {"-*"};
  if (adjust) adjust(options_);
  client_ = net::HttpsClient::Create(io_);
  Start();
}

TestServer::~TestServer() {
  client_.reset();
  server_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TestServer::Start() {
  auto made = server::ApiServer::Create(options_, clock_);
  if (!made.ok()) Give("creating the server", made.status());
  server_ = *std::move(made);
  if (const base::Status status = server_->Start(); !status.ok()) Give("starting", status);
  net::ClientTlsOptions tls;
  tls.ca_pem = Content(folder_ + "/pki/ca.crt");
  auto nobody = net::ClientTls::Create(tls);
  tls.certificate_pem = Content(folder_ + "/pki/admin.crt");
  tls.key_pem = Content(folder_ + "/pki/admin.key");
  auto administrator = net::ClientTls::Create(tls);
  if (!administrator.ok() || !nobody.ok()) Give("client certificates", administrator.status());
  administrator_ = *std::move(administrator);
  nobody_ = *std::move(nobody);
}

void TestServer::Restart() {
  client_->CloseIdle();
  server_.reset();
  Start();
}

Answer TestServer::Call(std::string_view method, std::string_view path, std::string_view body,
                        net::Headers headers) {
  net::ClientRequest request;
  request.method = std::string(method);
  request.url = base::StrCat(server_->url(), path);
  request.headers = std::move(headers);
  if (!body.empty()) request.body = std::make_shared<const std::string>(body);
  request.tls = administrator_;
  return ToAnswer(client_->Call(std::move(request), base::SystemClock().Steady() + kPatience));
}

Answer TestServer::Anonymous(std::string_view path) { return As("", "GET", path); }

Answer TestServer::As(std::string_view token, std::string_view method, std::string_view path,
                      std::string_view body) {
  net::ClientRequest request;
  request.method = std::string(method);
  request.url = base::StrCat(server_->url(), path);
  if (!token.empty()) request.headers.Set("Authorization", base::StrCat("Bearer ", token));
  if (!body.empty()) {
    request.headers.Set("Content-Type", "application/json");
    request.body = std::make_shared<const std::string>(body);
  }
  request.tls = nobody_;
  return ToAnswer(client_->Call(std::move(request), base::SystemClock().Steady() + kPatience));
}

std::vector<json::Document> TestServer::Watch(std::string_view path, std::size_t count,
                                              const std::function<void()>& meanwhile,
                                              std::size_t after) {
  base::Mutex mutex;
  base::CondVar more;
  std::string received;
  bool over = false;
  net::ClientRequest request;
  request.method = "GET";
  request.url = base::StrCat(server_->url(), path);
  request.tls = administrator_;
  request.on_data = [&](const net::ResponseHead&, std::string_view piece) {
    base::MutexLock lock(mutex);
    received.append(piece);
    more.NotifyAll();
  };
  const auto deadline = base::SystemClock().Steady() + kPatience;
  auto call = client_->Begin(std::move(request), deadline, [&](const net::CallResult& result) {
    base::MutexLock lock(mutex);
    over = true;
    has_ended_watch_ = result.ok();
    more.NotifyAll();
  });
  const auto wait_for = [&](std::size_t lines) {
    base::MutexLock lock(mutex);
    const auto have = [&] {
      return static_cast<std::size_t>(std::count(received.begin(), received.end(), '\n'));
    };
    while (have() < lines && !over && more.WaitUntil(mutex, deadline)) {
    }
  };
  wait_for(after);
  if (meanwhile) meanwhile();
  wait_for(count);
  call->Cancel();
  base::MutexLock lock(mutex);
  while (!over) more.Wait(mutex);
  std::vector<json::Document> events;
  for (std::string_view line : base::Split(received, '\n')) {
    if (line.empty() || events.size() == count) continue;
    if (auto event = json::ParseDocument(std::string(line)); event.ok()) {
      events.push_back(*std::move(event));
    }
  }
  return events;
}

}  // namespace portcullis::testing
