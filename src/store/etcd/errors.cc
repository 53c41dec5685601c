// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/errors.h"

#include <string>
#include <string_view>

#include "api/api_status.h"
#include "api/stored_size.h"
#include "etcd/client.h"

namespace portcullis::store {

base::Status StoreError(const base::Status& from_etcd) {
  if (from_etcd.message() == api::RequestTooLargeStatus().message()) {
    return api::RequestTooLargeStatus();
  }
  if (etcd::CodeOf(from_etcd) == etcd::Code::kDeadlineExceeded) {
    return RequestTimedOut();
  }
  return {base::Reason::kUnknown, std::string(from_etcd.message())};
}

bool IsFull(const base::Status& status) {
  return status.message().find("etcdserver: mvcc: database space exceeded") !=
         std::string_view::npos;
}

base::Status RequestTimedOut() {
  return api::TimeoutStatus("request did not complete within the allotted timeout", 0);
}

}  // namespace portcullis::store
