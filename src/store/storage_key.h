// SPDX-License-Identifier: Apache-2.0

// Where kube-apiserver keeps an object in etcd: "/registry/pods/default/web" below the prefix
// "/registry". The layout is that of Kubernetes 1.36 (SpecialDefaultResourcePrefixes, and the paths
// that its integration test of etcd expects):
//
//   built-in resources      <prefix>/<folder>/[<namespace>/]<name>
//   custom resources        <prefix>/<group>/<resource>/[<namespace>/]<name>
//
// A folder is the name of the resource, with exceptions for some old ones. What follows
// the folder is the object's position, so a collection has one order here and in etcd. Stateless.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace portcullis::store {

// The default of --etcd-prefix.
inline constexpr std::string_view kStoragePrefix = "/registry";

// `prefix` begins with "/" and does not end with one.
std::string StorageKey(const Key& key, std::string_view prefix = kStoragePrefix);

// Whether Kubernetes has, or had, such a resource of its own; any other is a custom resource.
bool IsBuiltIn(const Collection& collection);

// The reverse. Nothing for keys that hold no API object: those of other programs, and those of
// kube-apiserver's own records ("/registry/masterleases/...", "/registry/ranges/..."). The result
// views `storage_key`.
std::optional<Key> ParseStorageKey(std::string_view storage_key,
                                   std::string_view prefix = kStoragePrefix);

}  // namespace portcullis::store
