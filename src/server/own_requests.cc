// SPDX-License-Identifier: Apache-2.0

#include "server/own_requests.h"

#include <utility>

#include "base/allocation_failure.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "json/writer.h"
#include "server/filters/access.h"
#include "server/filters/finish.h"
#include "server/memory_budget.h"
#include "server/options.h"
#include "server/reply.h"
#include "server/rest/present.h"
#include "server/router.h"
#include "server/seats.h"

namespace portcullis::server {
namespace {

using controllers::Request;
using engine::Verb;

struct Method {
  std::string_view name;
  std::string_view content_type;
};

Method MethodOf(const Request& request) {
  switch (request.verb) {
    case Verb::kCreate:
      return {"POST", "application/json"};
    case Verb::kUpdate:
      return {"PUT", "application/json"};
    case Verb::kPatch:
      return {"PATCH", request.patch == engine::PatchType::kApply ? "application/apply-patch+yaml"
                                                                  : "application/merge-patch+json"};
    default:
      return {"DELETE", ""};
  }
}

std::string TargetOf(const Request& request) {
  const api::GroupVersionResource& resource = request.resource;
  std::string target =
      resource.group.empty() ? "/api/" : base::StrCat("/apis/", resource.group, "/");
  target += resource.version;
  if (!request.ns.empty()) target += base::StrCat("/namespaces/", request.ns);
  target += base::StrCat("/", resource.resource);
  if (!request.name.empty()) target += base::StrCat("/", request.name);
  if (!request.subresource.empty()) target += base::StrCat("/", request.subresource);
  std::string_view next = "?";
  if (request.force) target += base::StrCat(std::exchange(next, "&"), "force=true");
  if (!request.field_manager.empty()) {
    target += base::StrCat(next, "fieldManager=", request.field_manager);
  }
  return target;
}

// The head of the request as it would have come by HTTP.
net::Request HeadOf(const Request& request, std::string_view agent) {
  const Method method = MethodOf(request);
  net::Request head;
  head.method = method.name;
  head.target = TargetOf(request);
  head.headers.Add("User-Agent", agent);
  if (!method.content_type.empty()) head.headers.Add("Content-Type", method.content_type);
  return head;
}

// Waits for a seat on the calling thread.
class SeatWait final : public SeatReceiver {
 public:
  explicit SeatWait(Seats& seats) : seats_(seats) {}

  bool Take(const std::shared_ptr<Call>& call) {
    const Seats::Outcome outcome = seats_.Take(call, *this);
    if (outcome != Seats::Outcome::kWaits) return outcome == Seats::Outcome::kTaken;
    base::MutexLock lock(mutex_);
    while (!answered_) changed_.Wait(mutex_);
    return taken_;
  }

  void OnSeat(std::shared_ptr<Call> call, bool taken) override {
    base::MutexLock lock(mutex_);
    call_ = std::move(call);  // flow control must not be the last to hold it
    taken_ = taken;
    answered_ = true;
    changed_.NotifyAll();
  }

 private:
  Seats& seats_;
  base::Mutex mutex_;
  base::CondVar changed_;
  std::shared_ptr<Call> call_ PC_GUARDED_BY(mutex_);
  bool answered_ PC_GUARDED_BY(mutex_) = false;
  bool taken_ PC_GUARDED_BY(mutex_) = false;
};

class OwnClient final : public controllers::Client {
 public:
  OwnClient(const Environment& env, controllers::Identity identity, Limits limits)
      : env_(env), identity_(std::move(identity)), limits_(limits) {}

  base::Result<store::ObjectPtr> Do(const Request& request) override {
    base::Result<store::ObjectPtr> result =
        base::Status(base::Reason::kTooManyRequests, "there is no memory for the request");
    base::UnlessMemoryRunsOut([&] { result = Run(request); });
    return result;
  }

 private:
  base::Result<store::ObjectPtr> Run(const Request& request) const {
    const auto call = std::make_shared<Call>(env_, HeadOf(request, identity_.agent));
    call->info = ParseRequestInfo(call->request().method, call->request().target);
    call->catalog = env_.catalog->Get();
    call->deadline = call->started + env_.options->request_timeout;
    std::optional<Reply> instead;
    filters::IdentifyOwn(*call, identity_.user, instead);
    if (!instead) TRY(Enter(call));
    if (!instead) {
      const base::Status access = filters::Authorize(*call, instead);
      if (!access.ok()) return Refused(*call, access);
    }
    if (!instead) return Serve(*call, request);
    filters::Finish(*call, *std::move(instead));
    return base::InternalError("the request could not be audited or authorized");
  }

  // As far as the seat. What is refused has been answered.
  base::Status Enter(const std::shared_ptr<Call>& call) const {
    if (limits_ == Limits::kNone) return base::OkStatus();
    base::Status full(base::Reason::kTooManyRequests, "Too many requests, please try again later.");
    if (call->info.method != "DELETE" && !env_.memory->Admits(call->started)) {
      filters::Finish(*call, ErrorReply(*call, full));
      return full;
    }
    SeatWait wait(*env_.seats);
    if (!wait.Take(call)) {
      filters::Refuse(*call);
      return full;
    }
    call->recorder.set_place(call->seat.get());
    return base::OkStatus();
  }

  base::Result<store::ObjectPtr> Serve(Call& call, const Request& request) const {
    const base::Status resolved = controllers::Resolve(call, request);
    if (!resolved.ok()) return Refused(call, resolved);
    call.is_routed = true;
    if (call.audit && request.verb == Verb::kPatch) call.audit->SetRequestPatch(request.body);
    auto done = controllers::Perform(call, request, identity_);
    if (!done.ok()) return Refused(call, WriteFailure(call, std::move(done).status()));
    auto reply = ReplyOf(call, *done);
    if (!reply.ok()) return Refused(call, reply.status());
    filters::Finish(call, *std::move(reply));
    return controllers::StoredBy(*done);
  }

  static base::Result<Reply> ReplyOf(Call& call, const controllers::Done& done) {
    if (const auto* listing = std::get_if<engine::Listing>(&done)) {
      return rest::ListReply(call, listing->objects, listing->meta);
    }
    return rest::OutcomeReply(call, std::get<engine::Outcome>(done));
  }

  static base::Status Refused(Call& call, base::Status status) {
    filters::Finish(call, ErrorReply(call, status));
    return status;
  }

  const Environment& env_;
  const controllers::Identity identity_;
  const Limits limits_;
};

}  // namespace

std::unique_ptr<controllers::Client> MakeOwnClient(const Environment& env,
                                                   controllers::Identity identity, Limits limits) {
  return std::make_unique<OwnClient>(env, std::move(identity), limits);
}

}  // namespace portcullis::server
