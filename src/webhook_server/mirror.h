// SPDX-License-Identifier: Apache-2.0

// Mirror: what the chosen plugins look at, kept in an engine's store in step with a running cluster. The
// parameters of policies are followed once a policy names their kind.
//
// Thread-safe. Owns a thread for each collection.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admission/request.h"
#include "api/names.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/world.h"
#include "kubeconfig/client.h"
#include "kubeconfig/client_config.h"
#include "net/client.h"
#include "webhook_server/mirrored_collection.h"

namespace portcullis::webhook_server {

class Mirror {
 public:
  // `kept`: see MirrorEnds. What is given by reference outlives the mirror.
  static base::Result<std::unique_ptr<Mirror>> Create(const engine::World& world,
                                                      const kubeconfig::ClientConfig& cluster,
                                                      net::HttpsClient& https,
                                                      const std::set<std::string>& kept);
  ~Mirror();

  // Once for each, before requests are judged.
  void Follow(const api::GroupResource& resource);
  void FetchOnDemand(const api::GroupResource& resource);
  // Kinds of parameters are looked for in the stored policies from now on.
  void FollowParameters();

  // Whether everything has once been there.
  bool is_synced() const;
  // What has not, with reasons: "limitranges: the server answered 403".
  std::vector<std::string> Missing() const;

  // Whether the request needs objects that are not there yet. Cheap.
  bool Lacks(const admission::Attributes& request) const;
  // Fetches them, for a few seconds at most. Not on an I/O thread.
  void Fetch(const admission::Attributes& request);

 private:
  Mirror(const engine::World& world, const std::set<std::string>& kept)
      : world_(world), kept_(kept) {}
  MirroredCollection* Find(std::string_view group, std::string_view resource) const;
  void Add(const api::GroupResource& resource, MirroredCollection::Mode mode);
  // Begins to follow what the policies name; on the threads of collections.
  void Changed();
  std::vector<api::GroupResource> ParameterKinds() const;

  // An object that the request needs; `name` "": all of the namespace.
  struct Need {
    MirroredCollection* collection;
    std::string ns;
    std::string name;
  };
  std::vector<Need> NeedsOf(const admission::Attributes& request) const;

  const engine::World& world_;
  const std::set<std::string>& kept_;
  std::optional<kubeconfig::Client> client_;  // after Create
  std::optional<kubeconfig::Client> quick_;
  mutable base::Mutex mutex_;
  bool follows_parameters_ PC_GUARDED_BY(mutex_) = false;
  bool ending_ PC_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<MirroredCollection>> collections_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::webhook_server
