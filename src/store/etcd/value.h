// SPDX-License-Identifier: Apache-2.0

// The value that an object is kept as in etcd: kube-apiserver's of
// --storage-media-type=application/json, which is the object without its resourceVersion (that is
// the key's mod_revision) and a line end. Stateless.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/store.h"

namespace portcullis::store {

// REQUIRES: `object` is ready for a store, with `"resourceVersion":""` around object.revision_at.
std::string ToEtcdValue(const Encoded& object);

// The reverse. The resourceVersion goes where Go writes it: behind the uid, or, if the members of
// the object are sorted as those of custom resources are, in its place among them. Text that has
// blanks between its parts, or a resourceVersion, is written anew without them. Errors say what is
// wrong with the text.
base::Result<Encoded> FromEtcdValue(std::string_view value);

// Reads plain values, in place of FromEtcdValue(): those of kube-apiserver's protobuf form, which begin
// with "k8s\0", and those of versions that this server does not store (engine/codec/stored_values.h).
// `converted` becomes whether the value would be written in another form. Called by several threads.
using ValueDecoder =
    std::function<base::Result<Encoded>(const Key& key, std::string_view value, bool& converted)>;

// Turns a value into the version that is kept in etcd, where that is another; false: it is that one. Called
// by several threads.
using ValueVersioner = std::function<bool(const Key& key, std::string& value)>;

}  // namespace portcullis::store
