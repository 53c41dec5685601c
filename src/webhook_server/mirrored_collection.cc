// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/mirrored_collection.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "admission/object_interfaces.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "golang/url.h"
#include "json/reader.h"

namespace portcullis::webhook_server {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::chrono::minutes kWatchFor{5};
constexpr std::chrono::seconds kFirstPause{1};
constexpr std::chrono::seconds kLongestPause{30};
// How long until the cluster is asked again for a collection that it does not have.
constexpr std::chrono::seconds kAbsentPause{30};
// What has been fetched for a request is kept for the longest that one may take.
constexpr std::chrono::seconds kFetchedFor{60};

std::string PathOf(const api::catalog::ResourceInfo& info, std::string_view ns,
                   std::string_view name) {
  const auto& [group, version, resource] = info.resource;
  std::string path =
      group.empty() ? base::StrCat("/api/", version) : base::StrCat("/apis/", group, "/", version);
  if (info.namespaced && !ns.empty()) {
    path += base::StrCat("/namespaces/", golang::PathEscape(ns));
  }
  path += base::StrCat("/", resource);
  if (!name.empty()) path += base::StrCat("/", golang::PathEscape(name));
  return path;
}

std::string Position(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : base::StrCat(ns, "/", name);
}

std::pair<std::string_view, std::string_view> SplitPosition(std::string_view position) {
  const auto cut = base::Cut(position, "/");
  return cut ? *cut : std::pair<std::string_view, std::string_view>("", position);
}

// Versions of the objects of a resource are numbers that grow. 0: it has another form, and is compared with none.
std::int64_t NumberOf(std::string_view version) { return base::ParseInt(version).value_or(0); }

base::Status Expired() { return base::Status(base::Reason::kExpired, "the watch was left behind"); }

base::Result<json::Value> Get(const kubeconfig::Client& client, const std::string& path,
                              json::Arena& arena) {
  const net::CallResult result = TRY(client.Get(path, kJson));
  if (!result.ok()) return base::ConfigError(result.failure->message);
  const int status = result.response.status;
  const std::string message =
      base::StrCat("GET ", path, ": the server answered ", std::to_string(status));
  if (status == 404) return base::NotFound(message);
  if (status == 410) return Expired();
  if (status != 200) return base::ConfigError(message);
  auto parsed = json::Parse(arena, result.response.content());
  if (!parsed.ok()) return parsed.status().Annotate(path);
  return parsed;
}

}  // namespace

struct MirroredCollection::Arrivals {
  base::Mutex mutex;
  base::CondVar changed;
  std::string text PC_GUARDED_BY(mutex);
  int status PC_GUARDED_BY(mutex) = 0;
  std::optional<net::CallResult> result PC_GUARDED_BY(mutex);
};

std::string KeyText(const store::Key& key) {
  return base::StrCat(key.group, "/", key.resource, "/", key.ns, "/", key.name);
}

MirroredCollection::MirroredCollection(const MirrorEnds& ends, api::GroupResource resource,
                                       Mode mode, std::function<void()> changed)
    : ends_(ends), resource_(std::move(resource)), mode_(mode), changed_(std::move(changed)) {
  if (mode_ == Mode::kFetches) {
    synced_.store(true, std::memory_order_release);
    return;
  }
  thread_ = std::thread([this] { Run(); });
}

MirroredCollection::~MirroredCollection() {
  ending_.store(true, std::memory_order_release);
  std::shared_ptr<net::PendingCall> call;
  {
    const base::MutexLock lock(mutex_);
    call = call_;
    wake_.NotifyAll();
  }
  if (call != nullptr) call->Cancel();
  if (thread_.joinable()) thread_.join();
}

std::string MirroredCollection::problem() const {
  const base::MutexLock lock(mutex_);
  return problem_;
}

void MirroredCollection::SetProblem(const base::Status& status) {
  const base::MutexLock lock(mutex_);
  if (!status.ok() && status.message() != problem_) {
    base::LogWarning("a collection of the cluster cannot be followed",
                     {{"resource", resource_.ToString()}, {"err", status.message()}});
  }
  problem_ = status.message();
}

bool MirroredCollection::Pause(base::Duration duration) {
  const auto until = ends_.world.clock->Steady() + duration;
  const base::MutexLock lock(mutex_);
  while (!is_ending() && ends_.world.clock->Steady() < until) wake_.WaitUntil(mutex_, until);
  return !is_ending();
}

void MirroredCollection::Run() {
  const base::NeedsMemory needs;
  base::Duration pause = kFirstPause;
  while (!is_ending()) {
    std::string version;
    const base::Status listed = List(version);
    SetProblem(listed);
    if (!listed.ok()) {
      if (!Pause(pause)) return;
      pause = std::min<base::Duration>(pause * 2, kLongestPause);
      continue;
    }
    pause = kFirstPause;
    changed_();  // first: it may begin to follow what this names
    synced_.store(true, std::memory_order_release);
    if (version.empty()) {  // the cluster has no such collection
      if (!Pause(kAbsentPause)) return;
      continue;
    }
    while (!is_ending()) {
      const base::Status watched = Watch(version);
      if (watched.reason() == base::Reason::kExpired) break;
      SetProblem(watched);
      if (!watched.ok() && !Pause(kFirstPause)) return;
    }
  }
}

// The one that objects are stored in comes first: those need no conversion.
std::vector<const api::catalog::ResourceInfo*> MirroredCollection::Versions(
    const api::catalog::Catalog& catalog) const {
  const ResourceInfo* preferred = catalog.FindPreferred(resource_.group, resource_.resource);
  if (preferred == nullptr) return {};
  std::vector<const ResourceInfo*> versions = catalog.Equivalents(*preferred);
  std::erase_if(versions,
                [&](const ResourceInfo* info) { return info->resource.group != resource_.group; });
  std::stable_partition(versions.begin(), versions.end(),
                        [](const ResourceInfo* info) { return info->kind == info->storage_kind; });
  return versions;
}

const api::catalog::ResourceInfo* MirroredCollection::Served(
    const api::catalog::Catalog& catalog) const {
  const base::MutexLock lock(mutex_);
  if (!version_.empty()) return catalog.Find(resource_.group, version_, resource_.resource);
  const auto versions = Versions(catalog);
  return versions.empty() ? nullptr : versions.front();
}

base::Status MirroredCollection::List(std::string& version) {
  const auto catalog = ends_.world.catalog->Get();
  for (const ResourceInfo* info : Versions(*catalog)) {
    base::Status listed = ListAll(*info, version);
    if (listed.reason() == base::Reason::kNotFound) continue;
    const base::MutexLock lock(mutex_);
    version_ = info->resource.version;
    return listed;
  }
  const base::MutexLock lock(write_mutex_);
  RemoveOthers({}, "");
  watched_ = 0;
  return base::OkStatus();
}

base::Status MirroredCollection::ListAll(const ResourceInfo& info, std::string& version) {
  Positions seen;
  std::string token;
  do {
    json::Arena arena;
    const std::string path =
        base::StrCat(PathOf(info, "", ""), "?limit=500",
                     token.empty() ? "" : "&continue=", golang::QueryEscape(token));
    const json::Value page = TRY(Get(ends_.client, path, arena));
    const base::MutexLock lock(write_mutex_);
    for (const json::Value object : page["items"].elements()) {
      const json::Value metadata = object["metadata"];
      seen.insert(Position(metadata["namespace"].AsString(), metadata["name"].AsString()));
      TRY(Put(arena, info, object));
    }
    token = page["metadata"]["continue"].AsString();
    version = page["metadata"]["resourceVersion"].AsString();
  } while (!token.empty() && !is_ending());
  const base::MutexLock lock(write_mutex_);
  RemoveOthers(seen, "");
  watched_ = NumberOf(version);
  return base::OkStatus();
}

void MirroredCollection::RemoveOthers(const Positions& seen, std::string_view ns) {
  std::vector<std::string> gone;
  for (const auto& [position, version] : known_) {
    const bool concerns = ns.empty() || SplitPosition(position).first == ns;
    if (concerns && !seen.contains(position)) gone.push_back(position);
  }
  for (const std::string& position : gone) {
    const auto [place, name] = SplitPosition(position);
    Remove(place, name);
  }
}

void MirroredCollection::Fetch(std::string_view ns, std::string_view name) {
  const auto catalog = ends_.world.catalog->Get();
  const ResourceInfo* info = Served(*catalog);
  if (info == nullptr) return;
  const base::Status fetched = FetchInto(*info, ns, name);
  if (fetched.ok() || fetched.reason() == base::Reason::kNotFound) return;
  base::LogWarning("an object of the cluster could not be fetched",
                   {{"resource", resource_.ToString()},
                    {"namespace", std::string(ns)},
                    {"name", std::string(name)},
                    {"err", fetched.message()}});
}

// The list and the watch of a followed collection say what is not there; one object that has not been found may
// have been made since.
base::Status MirroredCollection::FetchInto(const ResourceInfo& info, std::string_view ns,
                                           std::string_view name) {
  json::Arena arena;
  const auto answer = Get(ends_.quick, PathOf(info, ns, name), arena);
  const base::MutexLock lock(write_mutex_);
  const bool is_followed = mode_ == Mode::kFollows;
  if (!is_followed) ForgetOld();
  if (!name.empty()) {
    const bool is_gone = answer.status().reason() == base::Reason::kNotFound;
    if (is_gone && !is_followed) Remove(ns, name);
    TRY(answer.status());
    return PutFetched(arena, info, *answer);
  }
  TRY(answer.status());
  Positions seen;
  for (const json::Value object : (*answer)["items"].elements()) {
    seen.insert(Position(ns, object["metadata"]["name"].AsString()));
    TRY(PutFetched(arena, info, object));
  }
  if (!is_followed) RemoveOthers(seen, ns);
  return base::OkStatus();
}

// While it was under way, the watch or another fetch may have brought a newer one, or its deletion: whatever
// is as old as the watch is known, or has been deleted.
base::Status MirroredCollection::PutFetched(json::Arena& arena, const ResourceInfo& info,
                                            json::Value object) {
  const json::Value metadata = object["metadata"];
  const std::string position =
      Position(metadata["namespace"].AsString(), metadata["name"].AsString());
  if (mode_ == Mode::kFetches) fetched_[position] = ends_.world.clock->Steady();
  const auto known = known_.find(position);
  const std::int64_t newest =
      std::max(watched_, known == known_.end() ? 0 : NumberOf(known->second));
  const std::int64_t number = NumberOf(metadata["resourceVersion"].AsString());
  if (number > 0 && number <= newest) return base::OkStatus();
  return Put(arena, info, object);
}

void MirroredCollection::ForgetOld() {
  const auto now = ends_.world.clock->Steady();
  std::vector<std::string> old;
  for (const auto& [position, when] : fetched_) {
    if (now - when > kFetchedFor) old.push_back(position);
  }
  for (const std::string& position : old) {
    fetched_.erase(position);
    const auto [ns, name] = SplitPosition(position);
    Remove(ns, name);
  }
}

// The next piece of text; false when the watch is over.
bool MirroredCollection::Next(Arrivals& arrivals, std::string& text) {
  const base::MutexLock lock(arrivals.mutex);
  while (arrivals.text.empty() && !arrivals.result) arrivals.changed.Wait(arrivals.mutex);
  text = std::exchange(arrivals.text, {});
  return !text.empty();
}

base::Status MirroredCollection::Watch(std::string& version) {
  const auto catalog = ends_.world.catalog->Get();
  const ResourceInfo* info = Served(*catalog);
  if (info == nullptr) return Expired();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kWatchFor).count();
  const std::string path =
      base::StrCat(PathOf(*info, "", ""), "?watch=true&allowWatchBookmarks=true&resourceVersion=",
                   golang::QueryEscape(version), "&timeoutSeconds=", std::to_string(seconds));
  const auto arrivals = std::make_shared<Arrivals>();
  auto call = TRY(ends_.client.Begin(
      path, ends_.world.clock->Steady() + kWatchFor + std::chrono::seconds(30),
      [arrivals](const net::ResponseHead& head, std::string_view piece) {
        const base::MutexLock lock(arrivals->mutex);
        arrivals->status = head.status;
        arrivals->text.append(piece);
        arrivals->changed.NotifyAll();
      },
      [arrivals](net::CallResult result) {
        const base::MutexLock lock(arrivals->mutex);
        arrivals->result = std::move(result);
        arrivals->changed.NotifyAll();
      }));
  {
    const base::MutexLock lock(mutex_);
    call_ = call;
  }
  if (is_ending()) call->Cancel();
  std::string pending;
  std::string text;
  base::Status taken;
  while (Next(*arrivals, text)) {
    pending += text;
    std::size_t begin = 0;
    for (std::size_t end; (end = pending.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string_view line = std::string_view(pending).substr(begin, end - begin);
      if (taken.ok()) taken = TakeEvent(line, version);
    }
    pending.erase(0, begin);
    if (!taken.ok()) call->Cancel();
  }
  {
    const base::MutexLock lock(mutex_);
    call_ = nullptr;
  }
  if (!taken.ok() || is_ending()) return taken;
  const base::MutexLock lock(arrivals->mutex);
  const net::CallResult& result = *arrivals->result;
  if (result.failure && !result.failure->timed_out)
    return base::ConfigError(result.failure->message);
  const int status = result.response.status;
  if (status == 410) return Expired();
  if (status == 200 || result.failure) return base::OkStatus();
  return base::ConfigError(
      base::StrCat("GET ", path, ": the server answered ", std::to_string(status)));
}

base::Status MirroredCollection::TakeEvent(std::string_view line, std::string& version) {
  json::Arena arena;
  const json::Value event = TRY(json::Parse(arena, line));
  const std::string_view type = event["type"].AsString();
  const json::Value object = event["object"];
  if (type == "ERROR") {
    if (object["code"].AsInt() == 410) return Expired();
    return base::ConfigError(std::string(object["message"].AsString()));
  }
  const json::Value metadata = object["metadata"];
  const auto catalog = ends_.world.catalog->Get();
  const ResourceInfo* info = Served(*catalog);
  if (info == nullptr) return Expired();
  {
    const base::MutexLock lock(write_mutex_);
    if (type == "DELETED") {
      Remove(metadata["namespace"].AsString(), metadata["name"].AsString());
    } else if (type == "ADDED" || type == "MODIFIED") {
      TRY(Put(arena, *info, object));
    }
    if (const auto seen = metadata["resourceVersion"].AsString(); !seen.empty()) {
      version = seen;
      watched_ = NumberOf(seen);
    }
  }
  if (type != "BOOKMARK") changed_();
  return base::OkStatus();
}

base::Status MirroredCollection::Put(json::Arena& arena, const ResourceInfo& info,
                                     json::Value object) {
  const json::Value metadata = object["metadata"];
  const std::string_view ns = info.namespaced ? metadata["namespace"].AsString() : "";
  const std::string_view name = metadata["name"].AsString();
  const std::string_view seen = metadata["resourceVersion"].AsString();
  std::string& known = known_[Position(ns, name)];
  if (known == seen && !seen.empty()) return base::OkStatus();
  const store::Key key{info.storage_kind.group, info.resource.resource, ns, name};
  if (ends_.kept.contains(KeyText(key))) return base::OkStatus();
  // The elements of a list do not say what they are.
  object = json::ObjectBuilder(arena, object)
               .Set("kind", info.kind.kind)
               .Set("apiVersion", engine::ApiVersion(info.kind))
               .Build();
  object = json::RemovePath(arena, object, {"metadata", "managedFields"});
  if (!info.custom) object = TRY(ends_.world.objects->Decode(arena, object, info.kind));
  store::Encoded encoded = TRY(engine::EncodeForStore(arena, object, info));
  store::Store& store = *ends_.world.store;
  if (store.Get(key) == nullptr) {
    TRY(store.Create(key, std::move(encoded)));
  } else {
    TRY(store.Update(key, std::move(encoded), {}));
  }
  known = seen;
  return base::OkStatus();
}

void MirroredCollection::Remove(std::string_view ns, std::string_view name) {
  if (known_.erase(Position(ns, name)) == 0) return;
  const auto catalog = ends_.world.catalog->Get();
  const ResourceInfo* info = catalog->FindPreferred(resource_.group, resource_.resource);
  if (info == nullptr) return;
  const store::Key key{info->storage_kind.group, info->resource.resource, ns, name};
  if (ends_.kept.contains(KeyText(key))) return;
  const auto deleted = ends_.world.store->Delete(key, {});
  if (!deleted.ok() && deleted.status().reason() != base::Reason::kNotFound) {
    base::LogWarning("an object of the cluster stays although it is gone",
                     {{"resource", resource_.ToString()}, {"err", deleted.status().message()}});
  }
}

}  // namespace portcullis::webhook_server
