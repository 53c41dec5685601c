// SPDX-License-Identifier: Apache-2.0

// CustomResourceDefinitions at work: makes the catalog that all requests use, says in each
// definition's status whether its names were accepted and its objects are served, and clears away
// the objects of deleted definitions.
//
// The catalog is published on the committing thread, before the write that changed a definition is
// acknowledged: the next request finds the new kinds. Conditions and cleaning follow from a thread
// of its own. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/catalog/catalog.h"
#include "api/conversion/custom_converter.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/published.h"
#include "engine/definitions/custom_resource_names.h"
#include "engine/world.h"
#include "store/store.h"

namespace portcullis::engine {

class CustomResourceDefinitions final : public store::Observer {
 public:
  // What a definition's spec.conversion asks for; null for strategy None.
  using MakeConverter =
      std::function<std::shared_ptr<const api::CustomConverter>(json::Value definition)>;

  // `catalog` holds the built-in kinds and receives every later snapshot. Everything in `env` but
  // the catalog may still be null until Start(). `converters` may be null.
  CustomResourceDefinitions(const World& world, base::Published<api::catalog::Catalog>& catalog,
                            MakeConverter converters);
  ~CustomResourceDefinitions() override;

  // Reads the stored definitions, publishes the catalog, begins to follow changes.
  void Follow();
  // Starts the thread that writes conditions and clears away. After Follow().
  void Start();
  // Ends the thread; called before the store goes away.
  void Stop();

  void OnCommit(std::span<const store::EventPtr> events) override;

 private:
  // One definition as it is served. What is needed of the object stands here: to keep it parsed
  // would cost more than all the rest.
  struct Definition {
    store::ObjectPtr object;
    std::string group;
    std::string created;  // its creationTimestamp
    bool terminating = false;
    api::catalog::CustomNames requested;
    NamesVerdict names;
    bool established = false;  // its names have all been accepted once
    bool stale = true;         // `compiled` is not of this state
    std::shared_ptr<const api::catalog::CustomResources> compiled;  // null: is not served
  };
  // Waits for the objects of a terminating definition to go.
  class Departures;

  void Load();
  void Apply(const store::ObjectPtr& object) PC_REQUIRES(mutex_);
  void Publish() PC_REQUIRES(mutex_);
  void Compile(const std::string& name, Definition& definition);
  void Examine(const std::string& name);
  void Run();
  // Whether a name is pending, or it is time to stop.
  bool IsWorkDue() PC_REQUIRES(mutex_);
  // False if all attempts have failed.
  bool Tried(const std::string& name);
  // What to do for one definition; false if it must be tried again.
  bool Sync(const std::string& name);
  bool Finish(const std::string& name, const store::ObjectPtr& object);
  // Deletes or marks every object; how many are still there. An error means that it must be tried again.
  base::Result<std::size_t> ClearInstances(json::Value definition);
  bool Write(json::Value next);

  const World& world_;
  base::Published<api::catalog::Catalog>& catalog_;
  const MakeConverter converters_;
  std::shared_ptr<const api::catalog::Catalog> built_in_;
  std::unique_ptr<store::Subscription> subscription_;
  std::thread thread_;
  std::map<std::string, std::unique_ptr<Departures>> departures_;  // of the thread

  base::Mutex mutex_;
  base::CondVar changed_;
  std::map<std::string, Definition> definitions_ PC_GUARDED_BY(mutex_);
  std::set<std::string> pending_ PC_GUARDED_BY(mutex_);
  std::set<std::string> failed_ PC_GUARDED_BY(mutex_);  // are pending again at `retry_at_`
  base::SteadyTime retry_at_ PC_GUARDED_BY(mutex_);
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace portcullis::engine
