// SPDX-License-Identifier: Apache-2.0

// What a node may do with each kind of object. Every function returns OK or the refusal.
#pragma once

#include <string>
#include <string_view>

#include "admission/request.h"
#include "authz/authorizer.h"
#include "base/status.h"
#include "release/release.h"
#include "store/store.h"

namespace portcullis::admission {
class ObjectInterfaces;
}

namespace portcullis::plugins::node_restriction {

// A request made by a node. Lives as long as the request is looked at.
struct NodeRequest {
  const admission::Request& request;
  std::string name;  // of the node
  const store::Reader* reader;
  const authz::Authorizer* authorizer;
  const admission::ObjectInterfaces* objects;  // may be null
  const release::Release& release;

  bool Is(admission::Operation operation) const { return request.operation() == operation; }
  std::string Quoted() const;                               // "n"
  base::Status Refuse(std::string_view problem) const;      // 403
  base::Status RefuseNode(std::string_view problem) const;  // 403 `node "n" <problem>`
  // `unexpected operation "UPDATE"`
  base::Status RefuseOperation() const;
};

base::Status CheckPod(const NodeRequest& node);
base::Status CheckNode(const NodeRequest& node);
base::Status CheckClaim(const NodeRequest& node);
base::Status CheckToken(const NodeRequest& node, bool check_audience);
base::Status CheckLease(const NodeRequest& node);
base::Status CheckCsiNode(const NodeRequest& node);
base::Status CheckResourceSlice(const NodeRequest& node);
base::Status CheckSigningRequest(const NodeRequest& node);
base::Status CheckPodCertificate(const NodeRequest& node);

}  // namespace portcullis::plugins::node_restriction
