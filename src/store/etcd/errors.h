// SPDX-License-Identifier: Apache-2.0

// What clients of the API are told when etcd has refused or not answered. Stateless.
#pragma once

#include "base/status.h"

namespace portcullis::store {

// kube-apiserver passes the text of etcd's client on, as an error 500 without a reason
// (ErrorToAPIStatus). A request that was too large is 413;
// one that etcd has not answered in time is kTimeout.
base::Status StoreError(const base::Status& from_etcd);
// Whether etcd is full (its quota): it takes no transaction that puts anything.
bool IsFull(const base::Status& status);
// What is told where etcd has not answered in time.
base::Status RequestTimedOut();

}  // namespace portcullis::store
