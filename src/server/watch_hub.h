// SPDX-License-Identifier: Apache-2.0

// WatchHub serves all watches from one thread: it polls what the store reports ready, turns events
// into lines, hands them to the I/O threads, sends bookmarks, and ends watches when their time is
// up, the client has gone, it is too slow for the store's history, or the definition of the custom
// resource has changed. Events of custom resources
// that a webhook converts are made by threads of their own, so that such a watch holds up no other;
// what one watch has had converted the others use too.
//
// Thread-safe. Its thread is started by the constructor and joined by the destructor; watches still
// open then are finished.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/catalog/catalog.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/published.h"
#include "base/status.h"
#include "engine/read/selection.h"
#include "metrics/watch_metrics.h"
#include "net/server.h"
#include "server/converted_views.h"
#include "server/negotiation.h"
#include "server/table/table.h"
#include "server/worker_pool.h"
#include "store/store.h"

namespace portcullis::server {

// What one watch shows and how long it lasts.
struct WatchSession {
  std::shared_ptr<net::Exchange> exchange;
  std::shared_ptr<const api::catalog::Catalog> catalog;  // keeps `resource` alive
  const api::catalog::ResourceInfo* resource = nullptr;
  std::optional<metrics::WatchSeries> series;  // set once it has been added
  std::size_t sent = 0;                        // bytes
  engine::Selection selection;
  Accepted accepted;
  std::optional<table::RowPrinter> rows;  // set if it shows tables
  bool web_socket = false;                // each event is a frame
  bool bookmarks = false;
  base::SteadyTime ends;
  std::int64_t after = 0;  // events with a greater revision
  std::function<void()> on_end;
  // The objects that there were at `after`, to be sent first. They are shared with the store;
  // their lines are made as the client takes them.
  std::vector<store::ObjectPtr> initial;
  bool ends_initial = false;             // then a bookmark says that these were all
  std::function<void()> on_initial_end;  // when that has been sent; may be empty

  // Set by the hub while the client has to take what is buffered before there may be more.
  const std::shared_ptr<std::atomic<bool>> awaits_drain =
      std::make_shared<std::atomic<bool>>(false);

  void NoteSent(std::size_t bytes) {
    series->Sent(bytes);
    sent += bytes;
  }

  // State of the hub's thread; while `lent`, of the one that makes lines for it.
  std::unique_ptr<store::Watch> watch;
  std::size_t initial_sent = 0;
  bool columns_sent = false;
  base::SteadyTime next_bookmark;
  bool lent = false;
  bool outdated = false;
};

// Events as a client gets them, one behind the other.
struct Told {
  std::string lines;
  std::vector<std::uint32_t> sizes;  // of each
  void Add(std::string_view line) {
    lines += line;
    sizes.push_back(static_cast<std::uint32_t>(line.size()));
  }
};

class WatchHub {
 public:
  WatchHub(store::Store& store, const base::Published<api::catalog::Catalog>& catalog,
           const base::Clock& clock, const metrics::WatchMetrics& metrics);
  ~WatchHub();
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;

  // Tells of session.initial, on this thread as far as the client takes it at once, and goes on
  // with what happens after session.after. The head of the answer must have been started.
  void Add(std::unique_ptr<WatchSession> session);
  // Ends every watch: the server stops.
  void Stop();
  std::size_t size() const;
  void ForgetViews() { views_.Forget(); }  // memory is short

 private:
  using Id = std::uint64_t;
  using SessionPtr = std::shared_ptr<WatchSession>;
  void Run();
  void Begin(Id id);
  void Serve(Id id);
  // Writes what it can of the initial state; false: not all of it yet. An object that cannot be
  // read is an error.
  base::Result<bool> SendInitial(WatchSession& session, std::size_t max_objects) const;
  // Has the lines of these events made elsewhere.
  void Lend(Id id, const SessionPtr& session, std::vector<store::EventPtr> events);
  // The lines of these events as every watch of the resource that selects nothing gets them: made
  // once for thousands of watches.
  base::Result<std::shared_ptr<const std::string>> SharedLines(
      WatchSession& session, const std::vector<store::EventPtr>& events);
  // Writes them; false: the watch is over.
  bool Send(Id id, WatchSession& session, base::Result<Told> told);
  // Writes an event that is about no change.
  static void SendOne(WatchSession& session, std::string line);
  // Counts the watch if its client has been too slow for the history.
  void NoteEnd(const WatchSession& session, const base::Status& status) const;
  void End(Id id);
  void Wake(Id id);
  // Once a second: ends what is over, sends bookmarks.
  void Tick();

  store::Store& store_;
  const base::Published<api::catalog::Catalog>& catalog_;
  const base::Clock& clock_;
  const metrics::WatchMetrics& metrics_;

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::unordered_set<Id> ready_ PC_GUARDED_BY(mutex_);
  std::unordered_map<Id, SessionPtr> added_ PC_GUARDED_BY(mutex_);
  std::unordered_map<Id, base::Result<Told>> made_ PC_GUARDED_BY(mutex_);
  Id next_id_ PC_GUARDED_BY(mutex_) = 1;
  std::size_t count_ PC_GUARDED_BY(mutex_) = 0;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;

  // Confined to the hub's thread.
  std::unordered_map<Id, SessionPtr> sessions_;
  // What SharedLines() made last, by form; forgotten when all that are ready have been served.
  struct Shared {
    const api::catalog::ResourceInfo* resource = nullptr;
    bool initialized_only = false;
    std::vector<store::EventPtr> events;
    std::shared_ptr<const std::string> lines;
    std::vector<std::uint32_t> sizes;
  };
  std::map<std::pair<MediaType, bool>, Shared> last_;  // true: in frames
  ConvertedViews views_;
  WorkerPool makers_;
  std::thread thread_;
};

// One event of a watch in its form, in JSON the line {"type":…,"object":…}; of a WebSocket as a frame.
// `session` is told that columns have been sent.
base::Result<std::string> EventLine(WatchSession& session, std::string_view type,
                                    const store::ObjectPtr& object, base::WallTime now);
std::string BookmarkLine(WatchSession& session, std::int64_t revision, bool initial_events_end,
                         base::WallTime now);
std::string ErrorLine(const WatchSession& session, const base::Status& status);

}  // namespace portcullis::server
