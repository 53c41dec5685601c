// CustomResourceDefinitions at work: makes the catalog that all requests use, says in each
// definition's status whether its names were accepted and its objects are served, and clears away
// the objects of deleted definitions.
//
// The catalog is published on the committing thread, before the write that changed a definition is
// acknowledged: the next request finds the new kinds. Conditions and cleaning follow from a thread
// of its own. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/catalog/catalog.h"
#include "base/mutex.h"
#include "base/published.h"
#include "server/environment.h"
#include "store/store.h"

namespace portcullis::server {

class CustomResourceDefinitions final : public store::Observer {
 public:
  // `catalog` holds the built-in kinds and receives every later snapshot. Everything in `env` but
  // the catalog may still be null until Start().
  CustomResourceDefinitions(const Environment& env,
                            base::Published<api::catalog::Catalog>& catalog);
  ~CustomResourceDefinitions() override;

  // Reads the stored definitions, publishes the catalog, begins to follow changes.
  void Start();
  // Ends the thread; called before the store goes away.
  void Stop();

  void OnCommit(std::span<const store::EventPtr> events) override;

 private:
  // One definition as it is served.
  struct Definition {
    store::ObjectPtr object;
    std::shared_ptr<const api::catalog::CustomResources> compiled;  // null: does not compile
    std::string compile_error;
    // Why its names are refused: reason and message; empty reason if accepted.
    std::string refusal_reason;
    std::string refusal;
  };

  void Load();
  void Apply(const store::ObjectPtr& object) PC_REQUIRES(mutex_);
  void Publish() PC_REQUIRES(mutex_);
  void Run();
  void UpdateStatus(const std::string& name);
  bool Clean(const store::ObjectPtr& object);
  json::Value WithConditions(json::Arena& arena, json::Value object, const Definition& definition);

  const Environment& env_;
  base::Published<api::catalog::Catalog>& catalog_;
  std::shared_ptr<const api::catalog::Catalog> built_in_;
  std::unique_ptr<store::Subscription> subscription_;
  std::thread thread_;

  base::Mutex mutex_;
  base::CondVar changed_;
  std::map<std::string, Definition> definitions_ PC_GUARDED_BY(mutex_);
  std::set<std::string> pending_ PC_GUARDED_BY(mutex_);
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace portcullis::server
