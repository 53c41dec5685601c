// SPDX-License-Identifier: Apache-2.0

// The names by which Kubernetes speaks of kinds and resources. Value types.
//
// The wire form of a group and version is "apps/v1", or "v1" for the core group, whose name is
// empty.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::api {

struct GroupVersion {
  std::string group;
  std::string version;
  auto operator<=>(const GroupVersion&) const = default;
  bool operator==(const GroupVersion&) const = default;
  bool empty() const { return group.empty() && version.empty(); }
  std::string ToString() const;  // "apps/v1", "v1"
};

// Splits an apiVersion. Fails with Go's text `unexpected GroupVersion string: a/b/c`.
base::Result<GroupVersion> ParseGroupVersion(std::string_view text);

struct GroupKind {
  std::string group;
  std::string kind;
  auto operator<=>(const GroupKind&) const = default;
  bool operator==(const GroupKind&) const = default;
  std::string ToString() const;  // "Deployment.apps", "Pod"
};

struct GroupResource {
  std::string group;
  std::string resource;
  auto operator<=>(const GroupResource&) const = default;
  bool operator==(const GroupResource&) const = default;
  bool empty() const { return group.empty() && resource.empty(); }
  std::string ToString() const;  // "deployments.apps", "pods"
};

struct GroupVersionKind {
  std::string group;
  std::string version;
  std::string kind;
  auto operator<=>(const GroupVersionKind&) const = default;
  bool operator==(const GroupVersionKind&) const = default;
  bool empty() const { return group.empty() && version.empty() && kind.empty(); }
  GroupVersion group_version() const { return {group, version}; }
  GroupKind group_kind() const { return {group, kind}; }
  std::string ToString() const;  // "apps/v1, Kind=Deployment", "/v1, Kind=Pod"
};

struct GroupVersionResource {
  std::string group;
  std::string version;
  std::string resource;
  auto operator<=>(const GroupVersionResource&) const = default;
  bool operator==(const GroupVersionResource&) const = default;
  bool empty() const { return group.empty() && version.empty() && resource.empty(); }
  GroupVersion group_version() const { return {group, version}; }
  GroupResource group_resource() const { return {group, resource}; }
  std::string ToString() const;  // "apps/v1, Resource=deployments", "/v1, Resource=pods"
};

// Orders versions as Kubernetes prefers them: v2 before v1 before v1beta2 before v1alpha1 before
// anything else in alphabetical order. Negative if `a` is preferred.
int CompareKubeVersions(std::string_view a, std::string_view b);

std::size_t HashNames(std::string_view a, std::string_view b, std::string_view c);

}  // namespace portcullis::api

template <>
struct std::hash<portcullis::api::GroupVersion> {
  std::size_t operator()(const portcullis::api::GroupVersion& n) const noexcept {
    return portcullis::api::HashNames(n.group, n.version, {});
  }
};
template <>
struct std::hash<portcullis::api::GroupKind> {
  std::size_t operator()(const portcullis::api::GroupKind& n) const noexcept {
    return portcullis::api::HashNames(n.group, {}, n.kind);
  }
};
template <>
struct std::hash<portcullis::api::GroupResource> {
  std::size_t operator()(const portcullis::api::GroupResource& n) const noexcept {
    return portcullis::api::HashNames(n.group, {}, n.resource);
  }
};
template <>
struct std::hash<portcullis::api::GroupVersionKind> {
  std::size_t operator()(const portcullis::api::GroupVersionKind& n) const noexcept {
    return portcullis::api::HashNames(n.group, n.version, n.kind);
  }
};
template <>
struct std::hash<portcullis::api::GroupVersionResource> {
  std::size_t operator()(const portcullis::api::GroupVersionResource& n) const noexcept {
    return portcullis::api::HashNames(n.group, n.version, n.resource);
  }
};
