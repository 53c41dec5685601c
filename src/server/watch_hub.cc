// SPDX-License-Identifier: Apache-2.0

#include "server/watch_hub.h"

#include <algorithm>
#include <utility>

#include "api/api_status.h"
#include "base/allocation_failure.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/codec/protobuf.h"
#include "json/reader.h"
#include "json/writer.h"
#include "server/rest/present.h"

namespace portcullis::server {
namespace {

constexpr std::size_t kEventsPerPoll = 256;
constexpr std::size_t kMaxBuffered = 256 << 10;
constexpr std::size_t kWriteFrom = 64 << 10;
constexpr std::chrono::seconds kBookmarkEvery{60};
constexpr std::chrono::seconds kTick{1};
constexpr std::size_t kMakers = 16;

bool IsSelected(const WatchSession& session, const store::ObjectPtr& object) {
  if (object == nullptr || session.selection.Hides(*object)) return false;
  if (session.selection.everything()) return true;
  json::Arena arena;
  const auto value = engine::FromStore(arena, object, *session.resource);
  return value.ok() && session.selection.Matches(*value);
}

// How an event looks to a watch with a selector: an object that leaves the selection is deleted.
std::string_view SeenAs(const WatchSession& session, store::EventType type,
                        const store::ObjectPtr& object, const store::ObjectPtr& previous) {
  const bool was = IsSelected(session, previous);
  if (type == store::EventType::kDeleted) {
    return was || IsSelected(session, object) ? "DELETED" : "";
  }
  const bool is = IsSelected(session, object);
  if (type == store::EventType::kAdded) return is ? "ADDED" : "";
  if (is) return was ? "MODIFIED" : "ADDED";
  return was ? "DELETED" : "";
}

// True: the client is slow, and is served again when its buffer has drained.
bool IsFull(WatchSession& session) {
  if (session.exchange->buffered_bytes() < kMaxBuffered) return false;
  session.awaits_drain->store(true);
  // It may have drained before that.
  return session.exchange->buffered_bytes() > 0;
}

// Every event's object and, where it is looked into, its predecessor.
std::vector<store::ObjectPtr> ObjectsOf(const WatchSession& session,
                                        std::span<const store::EventPtr> events) {
  std::vector<store::ObjectPtr> objects;
  objects.reserve(events.size() * 2);
  for (const store::EventPtr& event : events) {
    objects.push_back(event->object);
    if (!session.selection.everything()) objects.push_back(event->previous);
  }
  return objects;
}

// An object that cannot be read ends the watch.
base::Result<std::string> Lines(WatchSession& session, std::span<const store::EventPtr> events,
                                base::WallTime now, ConvertedViews& views) {
  const auto shown = TRY(views.InVersion(*session.resource, ObjectsOf(session, events)));
  const std::size_t step = session.selection.everything() ? 1 : 2;
  std::string lines;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const store::ObjectPtr& object = shown[i * step];
    const store::ObjectPtr& previous = step == 2 ? shown[i * step + 1] : events[i]->previous;
    const std::string_view type = SeenAs(session, events[i]->type, object, previous);
    if (!type.empty()) lines += TRY(EventLine(session, type, object, now));
  }
  return lines;
}

std::string Line(std::string_view type, std::string_view object) {
  return base::StrCat("{\"type\":\"", type, "\",\"object\":", object, "}\n");
}

base::Result<std::string> Event(MediaType media, std::string_view type, json::Value object) {
  if (media == MediaType::kJson) return Line(type, json::ToString(object));
  std::string message;
  std::string event;
  TRY(engine::WriteProtobufMessage(object, message));
  engine::WriteProtobufEvent(
      type, {object["apiVersion"].AsString(), object["kind"].AsString(), message}, event);
  return event;
}

// Of an object of the resource as it is.
base::Result<std::string> ObjectEvent(MediaType media, std::string_view type,
                                      const store::ObjectPtr& object,
                                      const api::catalog::ResourceInfo& resource) {
  std::string scratch;
  if (media == MediaType::kJson) {
    return Line(type, TRY(engine::BytesAs(object, resource, scratch)));
  }
  const std::string_view message = TRY(engine::ProtobufAs(object, resource, scratch));
  std::string event;
  engine::WriteProtobufEvent(type, {engine::ApiVersion(resource.kind), resource.kind.kind, message},
                             event);
  return event;
}

}  // namespace

base::Result<std::string> EventLine(WatchSession& session, std::string_view type,
                                    const store::ObjectPtr& object, base::WallTime now) {
  const api::catalog::ResourceInfo& resource = *session.resource;
  const MediaType media = session.accepted.type;
  if (session.accepted.form == Form::kObject) return ObjectEvent(media, type, object, resource);
  json::Arena arena;
  const json::Value value = TRY(engine::FromStore(arena, object, resource));
  if (session.accepted.form != Form::kTable) {
    return Event(media, type,
                 rest::PartialMetadata(arena, resource, value, session.accepted.form_version));
  }
  json::Value columns;
  if (!session.columns_sent) columns = table::ColumnDefinitions(arena, resource);
  session.columns_sent = true;
  const json::Value metadata =
      json::MakeObject(arena, {{"resourceVersion", value["metadata"]["resourceVersion"]}});
  const json::Value row =
      table::Row(arena, resource, value, session.include, now, session.accepted.form_version);
  return Event(media, type,
               table::Make(arena, session.accepted.form_version, metadata, columns,
                           json::MakeArray(arena, {row})));
}

std::string BookmarkLine(const WatchSession& session, std::int64_t revision,
                         bool initial_events_end) {
  const api::GroupVersionKind& kind = session.resource->kind;
  const std::string version_member =
      base::StrCat("\"resourceVersion\":\"", std::to_string(revision), "\"");
  constexpr std::string_view kEnd = R"("annotations":{"k8s.io/initial-events-end":"true"})";
  std::string metadata = base::StrCat("{", version_member);
  if (initial_events_end) metadata += base::StrCat(",", kEnd);
  metadata += '}';
  if (session.resource->custom && session.accepted.form == Form::kObject) {
    const std::string_view before = initial_events_end ? kEnd : std::string_view();
    return Line("BOOKMARK", base::StrCat("{\"apiVersion\":\"", engine::ApiVersion(kind),
                                         "\",\"kind\":\"", kind.kind, "\",\"metadata\":{", before,
                                         before.empty() ? "" : ",", version_member, "}}"));
  }
  std::string name = kind.kind;
  std::string version = engine::ApiVersion(kind);
  std::string rest;
  if (session.accepted.form == Form::kTable) {
    name = "Table";
    version = base::StrCat("meta.k8s.io/", session.accepted.form_version);
    rest = base::StrCat(
        ",\"columnDefinitions\":null,\"rows\":[{\"cells\":null,\"object\":{\"kind\":\"", kind.kind,
        "\",\"apiVersion\":\"", engine::ApiVersion(kind), "\",\"metadata\":", metadata, "}}]");
  } else if (session.accepted.form != Form::kObject) {
    name = "PartialObjectMetadata";
    version = base::StrCat("meta.k8s.io/", session.accepted.form_version);
  }
  const std::string object = base::StrCat("{\"kind\":\"", name, "\",\"apiVersion\":\"", version,
                                          "\",\"metadata\":", metadata, rest, "}");
  if (session.accepted.type == MediaType::kJson) return Line("BOOKMARK", object);
  json::Arena arena;
  auto value = json::Parse(arena, object);
  auto event = value.ok() ? Event(session.accepted.type, "BOOKMARK", *value) : value.status();
  return event.ok() ? *std::move(event) : ErrorLine(session.accepted.type, event.status());
}

std::string ErrorLine(MediaType type, const base::Status& status) {
  json::Arena arena;
  auto event = Event(type, "ERROR", api::StatusToJson(arena, status));
  return event.ok() ? *std::move(event) : std::string();
}

WatchHub::WatchHub(store::Store& store, const base::Clock& clock)
    : store_(store), clock_(clock), makers_(kMakers), thread_([this] { Run(); }) {}

WatchHub::~WatchHub() {
  Stop();
  thread_.join();
}

void WatchHub::Stop() {
  base::MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

std::size_t WatchHub::size() const {
  base::MutexLock lock(mutex_);
  return count_;
}

base::Result<bool> WatchHub::SendInitial(WatchSession& session, std::size_t max_objects) const {
  const std::size_t end = std::min(session.initial.size(), session.initial_sent + max_objects);
  std::size_t& next = session.initial_sent;
  std::string lines;
  while (next < end && session.exchange->buffered_bytes() + lines.size() < kMaxBuffered) {
    store::ObjectPtr& object = session.initial[next++];
    lines += TRY(EventLine(session, "ADDED", object, clock_.Now()));
    object = nullptr;
    if (lines.size() < kWriteFrom && next < end) continue;
    session.exchange->Write(std::exchange(lines, {}));
  }
  if (!lines.empty()) session.exchange->Write(std::move(lines));
  if (next < session.initial.size()) return false;
  std::vector<store::ObjectPtr>().swap(session.initial);
  next = 0;
  if (std::exchange(session.ends_initial, false)) {
    session.exchange->Write(BookmarkLine(session, session.after, true));
  }
  return true;
}

void WatchHub::Add(std::unique_ptr<WatchSession> session) {
  std::shared_ptr<net::Exchange> exchange = session->exchange;
  std::shared_ptr<std::atomic<bool>> awaits_drain = session->awaits_drain;
  const auto sent = SendInitial(*session, session->initial.size());
  if (!sent.ok()) {
    exchange->Write(ErrorLine(session->accepted.type, sent.status()));
    exchange->Finish();
    return;
  }
  Id id = 0;
  {
    base::MutexLock lock(mutex_);
    id = next_id_++;
    added_.emplace(id, std::move(session));
    ++count_;
    ready_.insert(id);
    changed_.NotifyAll();
  }
  exchange->OnClosed([this, id] { Wake(id); });
  // Most events are taken at once, and the hub need not hear of it.
  exchange->OnDrained([this, id, awaited = std::move(awaits_drain)] {
    if (awaited->exchange(false)) Wake(id);
  });
}

void WatchHub::Wake(Id id) {
  base::MutexLock lock(mutex_);
  if (ready_.insert(id).second) changed_.NotifyAll();
}

void WatchHub::Run() {
  const base::NeedsMemory needs;
  base::SteadyTime next_tick = clock_.Steady() + kTick;
  for (;;) {
    std::unordered_set<Id> ready;
    std::vector<Id> fresh;
    bool stop = false;
    {
      base::MutexLock lock(mutex_);
      while (ready_.empty() && !stopping_ && clock_.Steady() < next_tick) {
        if (sessions_.empty() && added_.empty()) {
          changed_.Wait(mutex_);
          next_tick = clock_.Steady() + kTick;
        } else {
          changed_.WaitUntil(mutex_, next_tick);
        }
      }
      ready.swap(ready_);
      for (auto& [id, session] : added_) {
        fresh.push_back(id);
        sessions_.emplace(id, std::move(session));
      }
      added_.clear();
      stop = stopping_;
    }
    if (stop) break;
    for (Id id : fresh) Begin(id);
    for (Id id : ready) Serve(id);
    last_.clear();
    if (clock_.Steady() >= next_tick) {
      next_tick = clock_.Steady() + kTick;
      SendBookmarks();
    }
  }
  std::vector<Id> all;
  for (const auto& entry : sessions_) all.push_back(entry.first);
  for (Id id : all) End(id);
}

void WatchHub::Begin(Id id) {
  WatchSession& session = *sessions_.find(id)->second;
  session.next_bookmark = clock_.Steady() + kBookmarkEvery;
  store::WatchRequest request;
  request.collection = {session.resource->storage_kind.group, session.resource->resource.resource};
  request.ns = session.selection.ns;
  request.after = session.after;
  auto watch = store_.StartWatch(request, [this, id] { Wake(id); });
  if (!watch.ok()) {
    session.exchange->Write(ErrorLine(session.accepted.type, watch.status()));
    End(id);
    return;
  }
  session.watch = *std::move(watch);
}

void WatchHub::Serve(Id id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  WatchSession& session = *found->second;
  if (session.exchange->closed()) return End(id);
  if (session.lent) {
    std::optional<base::Result<std::string>> made;
    {
      base::MutexLock lock(mutex_);
      if (auto node = made_.extract(id); !node.empty()) made = std::move(node.mapped());
    }
    if (!made) return;
    session.lent = false;
    if (!Send(id, session, *std::move(made))) return;
  }
  if (!session.initial.empty() || session.ends_initial) {
    if (IsFull(session)) return;
    auto sent = SendInitial(session, kEventsPerPoll);
    if (!sent.ok()) {
      (void)Send(id, session, std::move(sent).status());
      return;
    }
    // The others have their turns in between.
    if (!*sent) return Wake(id);
  }
  while (!IsFull(session)) {
    std::vector<store::EventPtr> events;
    const auto polled = session.watch->Poll(kEventsPerPoll, events);
    if (!polled.ok()) {
      (void)Send(id, session, polled.status());
      return;
    }
    if (*polled == 0) return;
    if (engine::NeedsWebhook(*session.resource, ObjectsOf(session, events))) {
      return Lend(id, found->second, std::move(events));
    }
    if (session.accepted.form == Form::kObject && session.selection.everything()) {
      auto lines = SharedLines(session, events);
      if (!lines.ok()) {
        (void)Send(id, session, std::move(lines).status());
        return;
      }
      session.exchange->Write(*std::move(lines));
    } else if (!Send(id, session, Lines(session, events, clock_.Now(), views_))) {
      return;
    }
  }
}

base::Result<std::shared_ptr<const std::string>> WatchHub::SharedLines(
    WatchSession& session, const std::vector<store::EventPtr>& events) {
  Shared& last = last_[session.accepted.type];
  const bool initialized_only = session.selection.initialized_only;
  if (last.resource != session.resource || last.initialized_only != initialized_only ||
      last.events != events) {
    auto lines = TRY(Lines(session, events, clock_.Now(), views_));
    last = {session.resource, initialized_only, events,
            std::make_shared<const std::string>(std::move(lines))};
  }
  return last.lines;
}

void WatchHub::Lend(Id id, const SessionPtr& session, std::vector<store::EventPtr> events) {
  session->lent = true;
  makers_.Post([this, id, session, events = std::move(events)] {
    base::Result<std::string> lines = base::InternalError("cannot allocate memory");
    base::UnlessMemoryRunsOut([&] { lines = Lines(*session, events, clock_.Now(), views_); });
    const base::NeedsMemory needs;  // without an answer the session would never go on
    {
      base::MutexLock lock(mutex_);
      made_.insert_or_assign(id, std::move(lines));
    }
    Wake(id);
  });
}

bool WatchHub::Send(Id id, WatchSession& session, base::Result<std::string> lines) {
  if (!lines.ok()) {
    session.exchange->Write(ErrorLine(session.accepted.type, lines.status()));
    End(id);
    return false;
  }
  if (!lines->empty()) session.exchange->Write(*std::move(lines));
  return true;
}

void WatchHub::SendBookmarks() {
  const base::SteadyTime now = clock_.Steady();
  std::vector<Id> over;
  for (auto& [id, session] : sessions_) {
    if (now >= session->ends || session->exchange->closed()) {
      over.push_back(id);
      continue;
    }
    if (!session->bookmarks || session->lent || !session->initial.empty() ||
        now < session->next_bookmark || session->watch == nullptr) {
      continue;
    }
    session->next_bookmark = now + kBookmarkEvery;
    session->exchange->Write(BookmarkLine(*session, session->watch->revision(), false));
  }
  for (Id id : over) End(id);
}

void WatchHub::End(Id id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  const SessionPtr session = std::move(found->second);
  sessions_.erase(found);
  session->watch.reset();
  session->exchange->Finish();
  if (session->on_end) session->on_end();
  base::MutexLock lock(mutex_);
  made_.erase(id);
  --count_;
}

}  // namespace portcullis::server
