// SPDX-License-Identifier: Apache-2.0

// Transformer stands between a store and its disk (or etcd): values go out encrypted and come back
// decrypted. Objects in memory are always plain. The formats are those of kube-apiserver
// (k8s.io/apiserver/pkg/storage/value): the prefix `k8s:enc:<provider>:v1:<key name>:`, then what
// the provider makes of the value.
//
//   const store::Sealed sealed = TRY(transformer.ToStorage({"", "secrets"}, storage_key, bytes));
//   const store::Opened opened = TRY(transformer.FromStorage({"", "secrets"}, storage_key, stored));
//
// `storage_key` is StorageKey() of the object. AES-GCM authenticates it with the value, so that a
// value that is copied to another object's place does not decrypt there.
//
// Thread-safe. Owned by shared_ptr: the stores and who reloads the configuration hold it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/store.h"

namespace portcullis::store {

// Which key of which provider a stored value is encrypted with. A number of this process: equal
// numbers mean the same provider, key name and key. kPlain: not encrypted.
using Seal = std::uint32_t;
inline constexpr Seal kPlain = 0;

struct Sealed {
  std::string bytes;
  Seal seal = kPlain;
};
struct Opened {
  std::string plain;
  Seal seal = kPlain;
};

// The beginning of every encrypted value. No JSON and no protobuf of Kubernetes begins so.
inline constexpr std::string_view kEncryptedPrefix = "k8s:enc:";

class Transformer {
 public:
  virtual ~Transformer() = default;
  // Whether values of the collection are encrypted when they are written.
  virtual bool Encrypts(const Collection& collection) const = 0;
  // Error: the cryptographic library fails.
  virtual base::Result<Sealed> ToStorage(const Collection& collection, std::string_view storage_key,
                                         std::string_view plain) const = 0;
  // Errors: kube-apiserver's texts, bare: no configured key fits (`no matching prefix found`,
  // `identity transformer tried to read encrypted data`), or the value is damaged (`cipher: message
  // authentication failed`). What a client gets is base::InternalError() of them.
  virtual base::Result<Opened> FromStorage(const Collection& collection,
                                           std::string_view storage_key,
                                           std::string_view stored) const = 0;
  // Whether a value with this seal would get another one if it were written now.
  virtual bool IsStale(const Collection& collection, Seal seal) const = 0;
};

// What a store without configuration does with a stored value: it is taken as it is, unless it is
// encrypted.
base::Status CheckPlain(std::string_view stored);

}  // namespace portcullis::store
