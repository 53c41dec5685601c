// SPDX-License-Identifier: Apache-2.0

// Judging: the requests of one cluster, one after the other. What judge.h and run_tests.cc are made of.
//
// The inputs and options outlive it. Confined to one thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/operation.h"
#include "json/value.h"
#include "offline/blame.h"
#include "offline/cluster.h"
#include "offline/expand.h"
#include "offline/http_request.h"
#include "offline/inputs.h"
#include "offline/judge.h"
#include "offline/result.h"
#include "offline/review.h"

namespace portcullis::offline {

class Judging {
 public:
  Judging(const Inputs& inputs, const JudgeOptions& options);

  // Makes the cluster and judges the manifests. Errors are the user's: a flag's value, a file.
  base::Status Begin();
  // REQUIRES: Begin() was OK.
  const Cluster& cluster() const { return *cluster_; }
  // Its results are those of the manifests.
  Report& report() { return report_; }

  // A request whose resource follows from its objects. What it is about is in the cluster before it as
  // the review says, and gone behind it; with `steps` the cluster is as it is, and stays so.
  void JudgeReview(Review& review, bool steps, Result& result);
  // Stores the object that a request is about and that is not there: `known`, else what an update would
  // make of it. False: it cannot be stored, or nothing is known of it.
  bool GiveObjectOf(const HttpRequest& request, json::Value known);
  // Takes away what the cluster has made by itself of the object that a request creates, once.
  // False: there is no such object.
  bool GiveWayTo(const HttpRequest& request);
  // A request to the cluster as it is; `manifest` is its place.
  void JudgeHttp(const HttpRequest& request, const api::UserInfo& user, const Manifest& manifest,
                 Result& result);

 private:
  // The order in which manifests come into the cluster, so that each is judged by all that the
  // files give: policies and webhooks first, for nothing judges them; then what they and plugins look
  // at.
  enum Rank : int {
    kRules,
    kDefinitions,
    kRoles,
    kParameters,
    kNamespaces,
    kSurroundings,
    kOthers
  };

  // Of one request: what became of it.
  struct Judged {
    bool admitted = false;
    int code = 0;
    base::Status status;
    json::Value object;  // as it was stored, or would have been; lives as long as the operation
  };

  // Where the object of an expansion stands.
  struct Site {
    const std::string& ns;
    const std::vector<std::string>& path;
  };

  void IndexManifests();
  Rank RankOf(const Manifest& manifest) const;
  std::vector<std::size_t> OrderOf(const std::vector<Manifest>& manifests) const;
  void GiveAll();
  base::Status GiveOne(const Manifest& manifest);

  void JudgeManifests();
  void JudgeOne(const Manifest& manifest, Result& result);
  void JudgeDeletions(const std::vector<std::size_t>& order);
  base::Status ResolveReview(engine::Operation& op, Review& review) const;
  base::Status Prepare(engine::Operation& op, const Review& review);
  void Conclude(engine::Operation& op, const Judged& judged, Result& result);

  static void Describe(const Manifest& manifest, Result& result);
  void Fail(Result& result, const Manifest& manifest, const base::Status& status);
  base::Result<std::string> NamespaceOf(const Manifest& manifest) const;
  bool GiveWay(const std::string& name, const engine::Operation& op);
  void NoteTwin(const Manifest& manifest, const engine::Operation& op, Result& result) const;
  bool IsOwn(const Manifest& manifest) const { return own_.contains(manifest.source.get()); }

  Judged Submit(engine::Operation& op, const Request& request, const Blamed& blamed,
                Result& result);
  void AddFailures(const admission::Refusal& refusal, const Blamed& blamed, Result& result) const;

  void MakeNamespaceOf(const std::string& ns);
  void MakeServiceAccountOf(json::Value object, const std::string& ns);

  // expansions.cc: judges what controllers would make of the object, and of that in turn.
  void JudgeExpansions(const Manifest& manifest, json::Value object, const std::string& ns,
                       const std::vector<std::string>& prefix, Result& result);
  bool JudgeExpansion(const Manifest& manifest, const Expansion& expansion, std::size_t index,
                      const Site& site, Result& result);

  const Inputs& inputs_;
  const JudgeOptions& options_;
  const Rules rules_;
  std::unique_ptr<Cluster> cluster_;
  std::unordered_set<const SourceText*> own_;  // the documents of the inputs' own manifests
  std::map<std::string_view, const Manifest*> namespaces_;  // of the files
  // By kind and name, for those that stand twice.
  std::map<std::pair<std::string_view, std::string_view>, std::vector<const Manifest*>> twins_;
  std::set<std::pair<std::string, std::string>> parameter_kinds_;
  // Namespaces that were made before they were judged.
  std::set<std::string> given_namespaces_ = {"default", "kube-system", "kube-public",
                                             "kube-node-lease"};
  std::set<std::string> own_accounts_;  // namespaces whose service account "default" is of a file
  std::set<std::string> stored_;        // what has been given: "group/resource/namespace/name"
  bool is_case_ = false;                // the manifests are judged: what follows are cases
  Report report_;
};

}  // namespace portcullis::offline
