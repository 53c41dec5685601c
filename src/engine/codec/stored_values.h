// SPDX-License-Identifier: Apache-2.0

// Values that other servers have stored: kube-apiserver's protobuf form (--storage-media-type), and
// versions other than those in which this server stores a kind. A kube-apiserver stores definitions
// of custom resources as v1beta1; older releases have left objects in versions that are not served
// any more. Besides, a kube-apiserver fills in defaults when it reads a value: what it stores of a new
// PersistentVolumeClaim has no phase, and an object of an older release lacks newer fields, those of
// Services among them for which there are no defaults (clusterIPs, ipFamilies).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/catalog/catalog.h"
#include "api/names.h"
#include "api/schema/defaulting.h"
#include "base/status.h"
#include "release/release.h"
#include "store/store.h"

namespace portcullis::engine {

// Immutable after construction.
class StoredValues {
 public:
  // `first_family`: of the cluster (registry::ServiceNetwork::families()).
  // `minor`: of the release that is emulated.
  static base::Result<std::shared_ptr<const StoredValues>> Make(
      std::string_view first_family = "IPv4", int minor = release::kNewestMinor);

  // The object as this server stores it: JSON in the storage version, with all defaults. Custom
  // resources are taken as they are: their definition converts them when they are read. `converted`
  // becomes true if this server would write the value in another form.
  // Errors: bytes that are no object, a kind or version that is not known.
  base::Result<store::Encoded> Read(const store::Key& key, std::string_view value,
                                    bool& converted) const;

  // Turns what ToEtcdValue() has made into the version that kube-apiserver stores where it emulates the
  // release; false: it is of that version. The two differ in nothing but their name.
  bool ToEmulated(const store::Key& key, std::string& value) const;

 private:
  explicit StoredValues(std::string_view first_family) : first_family_(first_family) {}
  json::Value Canonical(json::Arena& arena, const api::GroupVersionKind& kind,
                        json::Value object) const;
  base::Result<json::Value> ToStored(json::Arena& arena, const api::GroupVersionKind& from,
                                     json::Value object, const api::GroupVersionKind& to) const;

  const std::string first_family_;
  std::shared_ptr<const api::catalog::Catalog> catalog_;
  std::shared_ptr<const api::schema::Defaulter> defaulter_;
  // As what is stored what lies under "group/resource".
  std::unordered_map<std::string, api::GroupVersionKind> kinds_;
  // The versions that a release stores instead, by the same.
  std::unordered_map<std::string, std::string> emulated_;
};

}  // namespace portcullis::engine
