// SPDX-License-Identifier: Apache-2.0

#include "server/watch_hub.h"

#include <algorithm>
#include <utility>

#include "api/api_status.h"
#include "base/allocation_failure.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/strings.h"
#include "cbor/writer.h"
#include "engine/codec/cbor.h"
#include "engine/codec/codec.h"
#include "engine/codec/protobuf.h"
#include "json/merge_patch.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "json/writer.h"
#include "registry/kind_table.h"
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

// How an event looks to a watch: which type it has, "" if it is not shown, and of what.
struct Seen {
  std::string_view type;
  store::ObjectPtr object;
};

// An object that leaves the selection is deleted as it was before, in the version in which it left.
Seen SeenAs(const WatchSession& session, const store::Event& event, const store::ObjectPtr& object,
            const store::ObjectPtr& previous) {
  const bool was = IsSelected(session, previous);
  if (event.type == store::EventType::kDeleted) {
    return {was || IsSelected(session, object) ? "DELETED" : "", object};
  }
  const bool is = IsSelected(session, object);
  if (event.type == store::EventType::kAdded) return {is ? "ADDED" : "", object};
  if (is) return {was ? "MODIFIED" : "ADDED", object};
  if (!was) return {"", nullptr};
  return {"DELETED", previous->WithRevision(event.revision)};
}

// True: the client is slow, and is served again when its buffer has drained.
bool IsFull(WatchSession& session) {
  if (session.exchange->buffered_bytes() < kMaxBuffered) return false;
  session.awaits_drain->store(true);
  // It may have drained before that.
  return session.exchange->buffered_bytes() > 0;
}

// Whether the definition of the custom resource has another spec or other names now, or is gone:
// kube-apiserver makes the storage anew then, which ends its watches. One that is being deleted is the same.
bool IsOutdated(const WatchSession& session, const api::catalog::Catalog& catalog) {
  const api::catalog::ResourceInfo& watched = *session.resource;
  if (watched.definition == nullptr) return false;
  const api::catalog::ResourceInfo* served = catalog.Find(watched.resource);
  if (served == nullptr || served->definition == nullptr) return true;
  return served->number != watched.number &&
         served->definition->terminating() == watched.definition->terminating();
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
base::Result<Told> Lines(WatchSession& session, std::span<const store::EventPtr> events,
                         base::WallTime now, ConvertedViews& views) {
  const auto shown = TRY(views.InVersion(*session.resource, ObjectsOf(session, events)));
  const std::size_t step = session.selection.everything() ? 1 : 2;
  Told told;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const store::ObjectPtr& object = shown[i * step];
    const store::ObjectPtr& previous = step == 2 ? shown[i * step + 1] : events[i]->previous;
    const Seen seen = SeenAs(session, *events[i], object, previous);
    if (!seen.type.empty()) told.Add(TRY(EventLine(session, seen.type, seen.object, now)));
  }
  return told;
}

std::string Line(std::string_view type, std::string_view object) {
  return base::StrCat("{\"type\":\"", type, "\",\"object\":", object, "}\n");
}

// `schema` is null for objects without byte fields.
std::string CborEvent(std::string_view type, const api::schema::Schema* schema,
                      json::Value object) {
  std::string event(cbor::kSelfDescribed);
  cbor::WriteHead(cbor::Major::kMap, 2, event);
  cbor::WriteString("type", event);
  cbor::WriteString(type, event);
  cbor::WriteString("object", event);
  event += cbor::kSelfDescribed;
  engine::WriteCbor(schema, object, event);
  return event;
}

base::Result<std::string> Event(MediaType media, std::string_view type, json::Value object) {
  if (media == MediaType::kJson) return Line(type, json::ToString(object));
  if (media == MediaType::kCbor) return CborEvent(type, nullptr, object);
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
  if (media == MediaType::kCbor) {
    json::Arena arena;
    const json::Value value = TRY(
        json::Parse(arena, TRY(engine::BytesAs(object, resource, scratch)), {.borrow_text = true}));
    return CborEvent(type, resource.custom ? nullptr : resource.schema, value);
  }
  const std::string_view message = TRY(engine::ProtobufAs(object, resource, scratch));
  std::string event;
  engine::WriteProtobufEvent(type, {engine::ApiVersion(resource.kind), resource.kind.kind, message},
                             event);
  return event;
}

// Of an object of the resource as the watch shows objects, if that is another form than its own.
base::Result<std::string> ShownEvent(WatchSession& session, json::Arena& arena,
                                     std::string_view type, json::Value value, base::WallTime now,
                                     const store::ObjectPtr& object = nullptr) {
  const api::catalog::ResourceInfo& resource = *session.resource;
  const MediaType media = session.accepted.type;
  const std::string_view version = session.accepted.form_version;
  if (session.accepted.form != Form::kTable) {
    return Event(media, type, rest::PartialMetadata(arena, resource, value, version));
  }
  json::Value columns;
  if (!session.columns_sent) columns = table::ColumnDefinitions(arena, resource);
  session.columns_sent = true;
  const json::Value metadata =
      json::MakeObject(arena, {{"resourceVersion", value["metadata"]["resourceVersion"]}});
  const json::Value row =
      session.rows->Row(arena, value, now, table::ObjectOfCells(arena, resource, object));
  return Event(media, type,
               table::Make(arena, version, metadata, columns, json::MakeArray(arena, {row})));
}

// With the fields that the internal type writes where nothing is set.
json::Value WithZeroFields(json::Arena& arena, const api::GroupVersionResource& resource,
                           json::Value object) {
  const registry::Kind* kind =
      registry::KindTable::BuiltIn().Find(resource.group, resource.resource);
  if (kind == nullptr || kind->zero_fields.empty()) return object;
  const auto fields = json::Parse(arena, kind->zero_fields);
  return *json::MergePatch(arena, object, *fields);
}

// An object of the resource with nothing but its version: a Go value of which nothing else is set.
json::Value BookmarkObject(json::Arena& arena, const WatchSession& session, std::int64_t revision,
                           bool initial_events_end) {
  const api::catalog::ResourceInfo& resource = *session.resource;
  json::ObjectBuilder metadata(arena);
  metadata.Set("resourceVersion", json::String(arena, std::to_string(revision)));
  if (initial_events_end) {
    metadata.Set(
        "annotations",
        json::MakeObject(arena, {{"k8s.io/initial-events-end", json::Value::StringView("true")}}));
  }
  json::Value object = json::MakeObject(
      arena, {{"kind", json::String(arena, resource.kind.kind)},
              {"apiVersion", json::String(arena, engine::ApiVersion(resource.kind))},
              {"metadata", metadata.Build()}});
  object = WithZeroFields(arena, resource.resource, object);
  return resource.custom ? json::Sorted(arena, object)
                         : engine::Recanonicalize(*session.catalog, arena, resource.kind, object);
}

// As it leaves: a frame of a WebSocket needs no length before it.
std::string Framed(const WatchSession& session, std::string event) {
  constexpr std::size_t kLengthBytes = 4;
  if (!session.web_socket) return event;
  const MediaType media = session.accepted.type;
  std::string_view payload = event;
  if (media == MediaType::kProtobuf) payload.remove_prefix(kLengthBytes);
  std::string frame;
  net::AppendFrame(media == MediaType::kJson ? net::FrameKind::kText : net::FrameKind::kBinary,
                   payload, frame);
  return frame;
}

}  // namespace

base::Result<std::string> EventLine(WatchSession& session, std::string_view type,
                                    const store::ObjectPtr& object, base::WallTime now) {
  const api::catalog::ResourceInfo& resource = *session.resource;
  if (session.accepted.form == Form::kObject) {
    return Framed(session, TRY(ObjectEvent(session.accepted.type, type, object, resource)));
  }
  json::Arena arena;
  const json::Value value = TRY(engine::FromStore(arena, object, resource));
  return Framed(session, TRY(ShownEvent(session, arena, type, value, now, object)));
}

std::string BookmarkLine(WatchSession& session, std::int64_t revision, bool initial_events_end,
                         base::WallTime now) {
  json::Arena arena;
  const json::Value object = BookmarkObject(arena, session, revision, initial_events_end);
  auto event = session.accepted.form == Form::kObject
                   ? Event(session.accepted.type, "BOOKMARK", object)
                   : ShownEvent(session, arena, "BOOKMARK", object, now);
  return event.ok() ? Framed(session, *std::move(event)) : ErrorLine(session, event.status());
}

std::string ErrorLine(const WatchSession& session, const base::Status& status) {
  json::Arena arena;
  auto event = Event(session.accepted.type, "ERROR", api::StatusToJson(arena, status));
  return event.ok() ? Framed(session, *std::move(event)) : std::string();
}

WatchHub::WatchHub(store::Store& store, const base::Published<api::catalog::Catalog>& catalog,
                   const base::Clock& clock, const metrics::WatchMetrics& metrics)
    : store_(store),
      catalog_(catalog),
      clock_(clock),
      metrics_(metrics),
      makers_(kMakers),
      thread_([this] { Run(); }) {}

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
  std::uint64_t told = 0;
  while (next < end && session.exchange->buffered_bytes() + lines.size() < kMaxBuffered) {
    store::ObjectPtr& object = session.initial[next++];
    const std::string line = TRY(EventLine(session, "ADDED", object, clock_.Now()));
    object = nullptr;
    lines += line;
    session.NoteSent(line.size());
    ++told;
    if (lines.size() < kWriteFrom && next < end) continue;
    session.exchange->Write(std::exchange(lines, {}));
  }
  if (!lines.empty()) session.exchange->Write(std::move(lines));
  if (told != 0) {
    const api::catalog::ResourceInfo& resource = *session.resource;
    metrics_.initial_events.With({resource.storage_kind.group, resource.resource.resource})
        .Increment(told);
  }
  if (next < session.initial.size()) return false;
  std::vector<store::ObjectPtr>().swap(session.initial);
  next = 0;
  if (std::exchange(session.ends_initial, false)) {
    SendOne(session, BookmarkLine(session, session.after, true, clock_.Now()));
    if (session.on_initial_end) session.on_initial_end();
  }
  return true;
}

void WatchHub::Add(std::unique_ptr<WatchSession> session) {
  std::shared_ptr<net::Exchange> exchange = session->exchange;
  std::shared_ptr<std::atomic<bool>> awaits_drain = session->awaits_drain;
  const auto& [group, version, resource] = session->resource->resource;
  session->series.emplace(metrics_.Of(group, version, resource));
  const auto sent = SendInitial(*session, session->initial.size());
  if (!sent.ok()) {
    SendOne(*session, ErrorLine(*session, sent.status()));
    exchange->Finish();
    if (session->on_end) session->on_end();
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
      Tick();
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
    SendOne(session, ErrorLine(session, watch.status()));
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
    std::optional<base::Result<Told>> made;
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
      NoteEnd(session, polled.status());
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
      const Shared& shared = last_[{session.accepted.type, session.web_socket}];
      for (const std::uint32_t size : shared.sizes) session.NoteSent(size);
    } else if (!Send(id, session, Lines(session, events, clock_.Now(), views_))) {
      return;
    }
  }
}

base::Result<std::shared_ptr<const std::string>> WatchHub::SharedLines(
    WatchSession& session, const std::vector<store::EventPtr>& events) {
  Shared& last = last_[{session.accepted.type, session.web_socket}];
  const bool initialized_only = session.selection.initialized_only;
  if (last.resource != session.resource || last.initialized_only != initialized_only ||
      last.events != events) {
    Told told = TRY(Lines(session, events, clock_.Now(), views_));
    last = {session.resource, initialized_only, events,
            std::make_shared<const std::string>(std::move(told.lines)), std::move(told.sizes)};
  }
  return last.lines;
}

void WatchHub::Lend(Id id, const SessionPtr& session, std::vector<store::EventPtr> events) {
  session->lent = true;
  makers_.Post([this, id, session, events = std::move(events)] {
    base::Result<Told> told = base::InternalError("cannot allocate memory");
    base::UnlessMemoryRunsOut([&] { told = Lines(*session, events, clock_.Now(), views_); });
    const base::NeedsMemory needs;  // without an answer the session would never go on
    {
      base::MutexLock lock(mutex_);
      made_.insert_or_assign(id, std::move(told));
    }
    Wake(id);
  });
}

bool WatchHub::Send(Id id, WatchSession& session, base::Result<Told> told) {
  if (!told.ok()) {
    SendOne(session, ErrorLine(session, told.status()));
    End(id);
    return false;
  }
  for (const std::uint32_t size : told->sizes) session.NoteSent(size);
  if (!told->lines.empty()) session.exchange->Write(std::move(told->lines));
  return true;
}

void WatchHub::SendOne(WatchSession& session, std::string line) {
  session.NoteSent(line.size());
  session.exchange->Write(std::move(line));
}

void WatchHub::NoteEnd(const WatchSession& session, const base::Status& status) const {
  if (status.reason() != base::Reason::kExpired) return;
  const api::catalog::ResourceInfo& resource = *session.resource;
  metrics_.ended_unread.With({resource.storage_kind.group, resource.resource.resource}).Increment();
}

void WatchHub::Tick() {
  const base::SteadyTime now = clock_.Steady();
  const auto catalog = catalog_.Get();
  std::vector<Id> over;
  for (auto& [id, session] : sessions_) {
    // An outdated one gets a second for what has happened before.
    const bool outdated = std::exchange(session->outdated, IsOutdated(*session, *catalog));
    if (outdated || now >= session->ends || session->exchange->closed()) {
      over.push_back(id);
      continue;
    }
    if (!session->bookmarks || session->lent || !session->initial.empty() ||
        now < session->next_bookmark || session->watch == nullptr) {
      continue;
    }
    session->next_bookmark = now + kBookmarkEvery;
    SendOne(*session, BookmarkLine(*session, session->watch->revision(), false, clock_.Now()));
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
