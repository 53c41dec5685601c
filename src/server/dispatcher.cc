// SPDX-License-Identifier: Apache-2.0

#include "server/dispatcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/api_status.h"
#include "base/fiber.h"
#include "base/strings.h"
#include "engine/verbs.h"
#include "golang/time.h"
#include "server/admission_traces.h"
#include "server/aggregation/pass_on.h"
#include "server/allocation_failure.h"
#include "server/discovery/documents.h"
#include "server/filters/access.h"
#include "server/filters/answer_headers.h"
#include "server/filters/finish.h"
#include "server/memory_budget.h"
#include "server/options.h"
#include "server/reply.h"
#include "server/router.h"
#include "server/seats.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/rules.h"

namespace portcullis::server {
namespace {

// More requests than so many are not even looked at, and so many more may wait for other servers to
// authenticate them.
constexpr int kMaxEntering = 1000;
constexpr int kSpareThreads = 16;
// What is larger would hold up the other requests of an I/O thread.
constexpr std::size_t kMaxBodyOnIoThread = 64 * 1024;
constexpr std::size_t kMaxAnswerOnIoThread = 128 * 1024;

std::size_t MaxThreads(const Options& options) {
  const int threads = options.max_requests_inflight + options.max_mutating_requests_inflight +
                      kMaxAway + kMaxEntering + kSpareThreads;
  return static_cast<std::size_t>(threads);
}

// A shorter time is over before a request can begin.
constexpr std::chrono::microseconds kLeastTime{1};

// When the request must be answered: --request-timeout, or less if the client says so.
base::Result<base::SteadyTime> DeadlineOf(const Call& call) {
  auto timeout = call.env.options->request_timeout;
  const std::string_view wanted = call.info.query.Get("timeout");
  if (!wanted.empty()) {
    const auto given = golang::ParseDuration(wanted);
    if (!given.ok()) {
      return base::BadRequest(base::StrCat("invalid timeout specified in the request URL - ",
                                           given.status().message()));
    }
    if (*given > 0) timeout = std::min(timeout, std::chrono::nanoseconds(*given));
  }
  return call.exchange->received_at() + timeout;
}

// As kube-apiserver answers what it has no room for.
Reply TooManyRequests() {
  Reply reply = TextReply(429, "Too many requests, please try again later.\n");
  reply.headers.Set("Retry-After", "1");
  return reply;
}

// Deletions make room, and who looks after the server has to be answered.
bool HasMemory(const Call& call) {
  if (call.info.method == "DELETE" || !call.info.is_resource) return true;
  return call.env.memory->Admits(call.exchange->received_at());
}

Reply NoMemory(Call& call) {
  if (!IsLongRunning(call.info)) return TooManyRequests();
  Reply reply =
      ErrorReply(call, base::Status(base::Reason::kServiceUnavailable,
                                    "the server is currently unable to handle the request"));
  reply.headers.Set("Retry-After", "1");
  return reply;
}

// The answer to a request whose time is over before it has begun; its client is not authenticated.
Reply TooLate(Call& call) {
  if (call.audit_id.empty()) call.audit_id = audit::AuditId(call.headers().Get("Audit-ID"));
  if (call.info.is_resource) {
    call.resource =
        call.catalog->Find(call.info.api_group, call.info.api_version, call.info.resource);
  }
  return TimeoutReply(
      call, api::TimeoutStatus("request did not complete within the allotted timeout", 0));
}

// What authorization refuses is told with one header more than what a verb does.
Reply RefusalOf(Call& call, const base::Status& status) {
  Reply reply = ErrorReply(call, status);
  if (reply.status == 403) reply.headers.Set("X-Content-Type-Options", "nosniff");
  return reply;
}

template <std::size_t N>
bool IsOneOf(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool MustConfirm(const Call& call) { return call.rules_revision && !call.is_settled; }

// Pods are no rules, but a token may be bound to one, and a node has the rights that its pods need.
bool IsJudgedByPods(const api::UserInfo& user) {
  const auto& groups = user.groups;
  return user.extra.contains("authentication.kubernetes.io/pod-name") ||
         std::find(groups.begin(), groups.end(), "system:nodes") != groups.end();
}

// The aggregated API server that has a document of OpenAPI v3 which is not of here; null: none.
std::shared_ptr<const ApiService> OpenApiAt(Call& call, std::string_view document) {
  const Aggregation& aggregation = *call.env.aggregation;
  auto any = aggregation.WithOpenApi(document);
  if (any == nullptr) return nullptr;
  constexpr std::string_view kApis = "apis/";
  if (document.starts_with(kApis)) {
    const auto group = base::Cut(document.substr(kApis.size()), "/");
    auto own = group ? aggregation.Find(group->first, group->second) : nullptr;
    if (own != nullptr && aggregation.OpenApiOf(own->name).contains(document)) return own;
  }
  const auto ours = call.env.documents->OpenApiV3Url(call, document);
  return ours.ok() && ours->empty() ? any : nullptr;
}

// The aggregated API server that the path leads to; null: none.
std::shared_ptr<const ApiService> AggregatedAt(Call& call) {
  const Aggregation* const aggregation = call.env.aggregation;
  if (aggregation == nullptr || !aggregation->any()) return nullptr;
  std::string_view path = call.info.path;
  constexpr std::string_view kOpenApi = "/openapi/v3/";
  constexpr std::string_view kApis = "/apis/";
  if (path.starts_with(kOpenApi)) return OpenApiAt(call, path.substr(kOpenApi.size()));
  if (!path.starts_with(kApis)) return nullptr;
  const auto group = base::Cut(path.substr(kApis.size()), "/");
  if (!group) return nullptr;
  return aggregation->Find(group->first, group->second.substr(0, group->second.find('/')));
}

// Ends the count of a request that has been among those entering.
class Entry {
 public:
  explicit Entry(std::atomic<int>& count) : count_(count) {}
  ~Entry() { count_.fetch_sub(1); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  std::atomic<int>& count_;
};

}  // namespace

class Dispatcher::Flight {
 public:
  explicit Flight(Dispatcher& dispatcher) : dispatcher_(dispatcher) {
    base::MutexLock lock(dispatcher_.mutex_);
    among_ = ++dispatcher_.flights_;
  }
  ~Flight() {
    base::MutexLock lock(dispatcher_.mutex_);
    if (--dispatcher_.flights_ == 0) dispatcher_.landed_.NotifyAll();
  }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;
  // How many there were when it began, with itself.
  std::size_t among() const { return among_; }

 private:
  Dispatcher& dispatcher_;
  std::size_t among_ = 0;
};

Dispatcher::Dispatcher(const Environment& env) : env_(env), pool_(MaxThreads(*env.options)) {}

Dispatcher::~Dispatcher() {
  base::MutexLock lock(mutex_);
  while (flights_ > 0) landed_.Wait(mutex_);
}

void Dispatcher::Handle(const std::shared_ptr<net::Exchange>& exchange) {
  AnswerIfMemoryRunsOut(*exchange, [&] {
    const auto call = std::make_shared<Call>(env_, exchange);
    const net::Request& request = exchange->request();
    call->info = ParseRequestInfo(request.method, request.target);
    call->on_io_thread = !env_.begins_may_wait && FitsIoThread(*call);
    if (!NeedsFreshening(*call)) return BeginOrQueue(call);
    const auto rules = env_.etcd->rules_revision();
    if (rules && MayAssume(*call)) {
      call->rules_revision = rules;
      return Begin(call);
    }
    Freshen(call, [this, call] { BeginOrQueue(call); });
  });
}

void Dispatcher::BeginOrQueue(const std::shared_ptr<Call>& call) {
  call->on_io_thread ? Begin(call) : Queue(call);
}

// Reads of "any" state (resourceVersion=0) say that it may be old. What is not of the API (health,
// metrics) must be answered also without a store.
bool Dispatcher::NeedsFreshening(const Call& call) const {
  if (env_.etcd == nullptr) return false;
  const RequestInfo& info = call.info;
  if (!info.is_resource) return info.path.starts_with("/api") || info.path.starts_with("/openapi");
  const bool reads = info.verb == "get" || info.verb == "list" || info.verb == "watch";
  return !reads || info.query.Get("resourceVersion") != "0";
}

// Not writes of rules, nor what stores nothing, nor what is traced.
bool Dispatcher::MayAssume(const Call& call) const {
  constexpr std::string_view kWrites[] = {"create", "update", "patch", "delete"};
  const RequestInfo& info = call.info;
  if (!call.on_io_thread || !IsOneOf(info.verb, kWrites)) return false;
  if (!info.subresource.empty() && info.subresource != "status") return false;
  if (store::HasRules({info.api_group, info.resource}) || env_.initializers) return false;
  if (info.query.Has("dryRun") || call.headers().Has(kTraceHeader)) return false;
  engine::Operation expected(env_);
  expected.catalog = env_.catalog->Get();
  expected.resource = expected.catalog->Find(info.api_group, info.api_version, info.resource);
  if (expected.resource == nullptr) return false;
  if (!info.subresource.empty()) {
    expected.subresource = expected.resource->FindSubresource(info.subresource);
  }
  expected.verb = engine::VerbNamed(info.verb);
  expected.ns = info.name_space;
  expected.name = info.name;
  return engine::WaitsOf(expected) == admission::Waits::kForNothing &&
         !engine::MayTakeLong(expected);
}

void Dispatcher::Freshen(const std::shared_ptr<Call>& call, std::function<void()> next) {
  const auto deadline = DeadlineOf(*call);
  if (!deadline.ok()) return next();  // where it is refused
  if (!IsLongRunning(call->info)) call->exchange->SetDeadline(*deadline);
  env_.etcd->Freshen(*deadline, [flight = std::make_shared<Flight>(*this), call,
                                 next = std::move(next)](base::Status status) {
    call->freshness = std::move(status);
    call->exchange->RunOnIoThread(
        [flight, call, next] { AnswerIfMemoryRunsOut(*call->exchange, next); });
  });
}

void Dispatcher::Confirm(const std::shared_ptr<Call>& call) {
  call->recorder.Clear();
  call->request_object = {};
  call->sent = {};
  Freshen(call, [this, call, assumed = std::exchange(call->rules_revision, {})] {
    call->catalog = env_.catalog->Get();
    const bool holds = call->freshness.ok() && assumed == env_.etcd->rules_revision();
    if (!holds || !call->is_authorized || !call->on_io_thread) return BeginOrQueue(call);
    filters::NoteIdentity(*call);
    Serve(call);
  });
}

void Dispatcher::Answer(const std::shared_ptr<Call>& call, Reply reply) {
  if (MustConfirm(*call)) return Confirm(call);
  filters::Finish(*call, std::move(reply));
}

bool Dispatcher::FitsIoThread(const Call& call) {
  constexpr std::string_view kVerbs[] = {"get", "list", "create", "update", "patch", "delete"};
  constexpr std::string_view kSubresources[] = {"", "status", "scale", "binding", "eviction"};
  const RequestInfo& info = call.info;
  return info.is_resource && IsOneOf(info.verb, kVerbs) &&
         IsOneOf(info.subresource, kSubresources) && call.exchange->body_complete() &&
         call.exchange->request().body.size() <= kMaxBodyOnIoThread;
}

void Dispatcher::Queue(const std::shared_ptr<Call>& call) {
  std::atomic<int>& line = LineOf(*call);
  if (line.fetch_add(1) >= kMaxEntering) {
    line.fetch_sub(1);
    Reply reply = TooManyRequests();
    net::Response response;
    response.status = reply.status;
    response.headers = std::move(reply.headers);
    response.headers.Set("Content-Type", reply.content_type);
    if (env_.answer_headers != nullptr) {
      env_.answer_headers->AddTo(response.headers, *call, /*is_late=*/true);
    }
    response.body = std::move(reply.body);
    call->exchange->Respond(std::move(response));
    return;
  }
  bool posted = false;
  AnswerIfMemoryRunsOut(*call->exchange, [&] {
    pool_.Post([this, call] { AnswerIfMemoryRunsOut(*call->exchange, [&] { Begin(call); }); });
    posted = true;
  });
  if (!posted) line.fetch_sub(1);
}

void Dispatcher::Begin(std::shared_ptr<Call> call) {
  std::optional<Entry> entry;
  if (!call->on_io_thread) entry.emplace(LineOf(*call));
  call->catalog = env_.catalog->Get();
  std::optional<Reply> instead;
  const base::Status status = CheckHead(*call, instead);
  entry.reset();
  if (call->would_wait) {
    call->on_io_thread = false;
    MustConfirm(*call) ? Confirm(call) : Queue(call);
  } else if (!status.ok()) {
    Answer(call, RefusalOf(*call, status));
  } else if (instead) {
    Answer(call, *std::move(instead));
  } else if (call->rules_revision && IsJudgedByPods(call->user)) {
    Confirm(call);
  } else if (!IsLongRunning(call->info) || call->info.verb == "watch") {
    TakeSeat(std::move(call));
  } else {
    Enter(std::move(call));
  }
}

base::Status Dispatcher::CheckHead(Call& call, std::optional<Reply>& instead) {
  call.deadline = TRY(DeadlineOf(call));
  if (!IsLongRunning(call.info)) {
    // No clock is asked: those of connections and of the engine may differ.
    if (call.deadline - call.exchange->received_at() < kLeastTime) {
      instead = TooLate(call);
      return base::OkStatus();
    }
    call.exchange->SetDeadline(call.deadline);
  }
  TRY(filters::Identify(call, instead));
  if (instead || call.would_wait) return base::OkStatus();
  if (call.user.name != "system:anonymous") call.exchange->MarkKnown();
  if (!HasMemory(call)) instead = NoMemory(call);
  return call.freshness;
}

void Dispatcher::TakeSeat(std::shared_ptr<Call> call) {
  if (call->seat != nullptr) return Enter(std::move(call));  // it begins again
  switch (env_.seats->Take(call, *this)) {
    case Seats::Outcome::kTaken:
      return Enter(std::move(call));
    case Seats::Outcome::kWaits:
      return;  // OnSeat() goes on, or has already
    case Seats::Outcome::kRefused:
      return filters::Refuse(*call);
  }
}

void Dispatcher::OnSeat(std::shared_ptr<Call> call, bool taken) {
  AnswerIfMemoryRunsOut(*call->exchange, [&] {
    pool_.Post([this, call, taken] {
      call->on_io_thread = false;
      AnswerIfMemoryRunsOut(*call->exchange, [&] { taken ? Enter(call) : filters::Refuse(*call); });
    });
  });
}

void Dispatcher::Enter(std::shared_ptr<Call> call) {
  call->recorder.set_place(call->seat.get());
  // A client that does not read its answer keeps its seat; a watch gives it back with the call.
  if (call->seat != nullptr && call->info.verb != "watch") call->exchange->Attach(call->seat);
  std::optional<Reply> instead;
  const base::Status access = filters::Authorize(*call, instead);
  call->is_authorized = access.ok() && !instead;
  if (!access.ok()) {
    Answer(call, RefusalOf(*call, access));
  } else if (instead) {
    Answer(call, *std::move(instead));
  } else if (!call->exchange->body_complete()) {
    ReadBody(std::move(call));
  } else {
    Serve(call);
  }
}

// While the body is on its way the seat is free for others and no thread waits.
void Dispatcher::ReadBody(std::shared_ptr<Call> call) {
  if (admission::Place* place = call->recorder.place()) place->Leave();
  const auto exchange = call->exchange;  // the call may be over before ReadBody returns
  net::BodyRequest wanted{call->user.name, call->deadline};
  exchange->ReadBody(std::move(wanted), [this, call = std::move(call)](net::BodyRead outcome) {
    AnswerIfMemoryRunsOut(*call->exchange, [&] {
      pool_.Post([this, call, outcome] {
        call->on_io_thread = false;
        AnswerIfMemoryRunsOut(*call->exchange, [&] { Resume(call, outcome); });
      });
    });
  });
}

void Dispatcher::Resume(const std::shared_ptr<Call>& call, net::BodyRead outcome) {
  if (admission::Place* place = call->recorder.place()) place->Return();
  switch (outcome) {
    case net::BodyRead::kComplete:
    case net::BodyRead::kTooLarge:
      return Serve(call);
    case net::BodyRead::kTimedOut:
      return filters::Finish(*call, TooLate(*call));
    case net::BodyRead::kRefused:
      return filters::Finish(*call, TooManyRequests());
    case net::BodyRead::kClosed:  // for the audit log
      return filters::Finish(*call, ErrorReply(*call, base::BadRequest("unexpected EOF")));
  }
}

void Dispatcher::Serve(const std::shared_ptr<Call>& call) {
  if (call->body.empty()) call->body = call->exchange->TakeBody();
  if (const auto service = AggregatedAt(*call)) {
    return MustConfirm(*call) ? Confirm(call) : PassOn(*env_.aggregation, service, call);
  }
  Destination destination = FindDestination(*call);
  if (destination.reply) return Answer(call, *std::move(destination.reply));
  if (!call->on_io_thread) {
    if (MustConfirm(*call)) return Confirm(call);
    return filters::Finish(*call, ReplyOf(*call, destination.verb(*call)));
  }
  // MayAssume() has asked.
  switch (MustConfirm(*call) ? admission::Waits::kForNothing : WaitsOf(*call)) {
    case admission::Waits::kForNothing:
      return RunOnIoThread(call, destination.verb);
    case admission::Waits::kOnFiber:
      return RunOnFiber(call, destination.verb);
    case admission::Waits::kOnThread:
      return RunOnWorker(call, destination.verb);
  }
}

admission::Waits Dispatcher::WaitsOf(const Call& call) {
  if (call.trace != nullptr || rest::AsksComponents(call)) return admission::Waits::kOnThread;
  const admission::Waits waits = engine::WaitsOf(call);
  return engine::MayTakeLong(call) ? admission::Waits::kOnThread : waits;
}

void Dispatcher::RunOnWorker(const std::shared_ptr<Call>& call, rest::Verb verb) {
  call->on_io_thread = false;
  pool_.Post([call, verb] {
    AnswerIfMemoryRunsOut(*call->exchange,
                          [&] { filters::Finish(*call, ReplyOf(*call, verb(*call))); });
  });
}

void Dispatcher::RunOnIoThread(const std::shared_ptr<Call>& call, rest::Verb verb) {
  if (verb != &rest::Write) return FinishOnIoThread(call, ReplyOf(*call, verb(*call)));
  call->recorder.ForbidWaiting();
  BeginWrite(std::make_shared<Flight>(*this), call,
             [exchange = call->exchange](std::function<void()> step) {
               exchange->RunOnIoThread(
                   [exchange, step = std::move(step)] { AnswerIfMemoryRunsOut(*exchange, step); });
             });
}

void Dispatcher::RunOnFiber(const std::shared_ptr<Call>& call, rest::Verb verb) {
  auto flight = std::make_shared<Flight>(*this);
  // There are as many at most as there may be threads.
  if (flight->among() > MaxThreads(*env_.options)) return RunOnWorker(call, verb);
  StepOnFiber(call, [flight = std::move(flight), this, call, verb] {
    if (verb != &rest::Write) return FinishOnIoThread(call, ReplyOf(*call, verb(*call)));
    BeginWrite(flight, call,
               [this, call](std::function<void()> step) { StepOnFiber(call, std::move(step)); });
  });
}

// Where there is no stack for a fiber, a worker has one.
void Dispatcher::StepOnFiber(const std::shared_ptr<Call>& call, std::function<void()> step) {
  call->exchange->RunOnFiber([step = std::move(step), this, exchange = call->exchange] {
    if (base::Fiber* const fiber = base::Fiber::Current()) {
      fiber->set_elsewhere([this](std::function<void()> resume) { pool_.Post(std::move(resume)); });
      return AnswerIfMemoryRunsOut(*exchange, step);
    }
    AnswerIfMemoryRunsOut(*exchange, [&] {
      pool_.Post([step, exchange] { AnswerIfMemoryRunsOut(*exchange, step); });
    });
  });
}

void Dispatcher::BeginWrite(std::shared_ptr<Flight> flight, const std::shared_ptr<Call>& call,
                            engine::Resume resume) {
  // The flight ends when the call is no longer held: captures go in the reverse order.
  rest::BeginWrite(*call, std::move(resume),
                   [flight = std::move(flight), this, call](rest::VerbResult result) {
                     if (MustConfirm(*call)) return Confirm(call);
                     if (!call->recorder.refused_to_wait()) {
                       return FinishOnIoThread(call, ReplyOf(*call, std::move(result)));
                     }
                     call->recorder.Clear();
                     filters::NoteIdentity(*call);
                     call->request_object = {};
                     RunOnWorker(call, &rest::Write);
                   });
}

// What takes long, or waits for the client, is a worker's.
void Dispatcher::FinishOnIoThread(const std::shared_ptr<Call>& call, Reply reply) {
  const std::size_t size = reply.shared_body ? reply.shared_body->size() : reply.body.size();
  if (!reply.rest && size <= kMaxAnswerOnIoThread) {
    return filters::Finish(*call, std::move(reply));
  }
  pool_.Post([call, shared = std::make_shared<Reply>(std::move(reply))] {
    AnswerIfMemoryRunsOut(*call->exchange, [&] { filters::Finish(*call, std::move(*shared)); });
  });
}

}  // namespace portcullis::server
