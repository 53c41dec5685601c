// SPDX-License-Identifier: Apache-2.0

// Rules: the objects by which writes of other objects are judged: namespaces, quotas, roles, service
// accounts, webhook configurations, policies, definitions, and so on. Each write of one also writes
// one key of etcd, so that its revision tells whether a cache has all rules that any server has
// acknowledged (Change::rules_revision). A full etcd takes no transaction that puts anything: there a
// deletion of a rule deletes the key, and while it is not there no server knows how new its rules are.
// Stateless.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "store/store.h"

namespace portcullis::store {

// "/registry/portcullis/rules"
std::string RulesKey(std::string_view prefix);

// Whether other writes may be judged by objects of the collection. What is not known not to be such
// a collection is one: a new kind costs a little time, never a wrong answer.
bool HasRules(const Collection& collection);

// Whether each write of an object of the collection is one of RulesKey(), too.
bool MayBeUntoldRule(const Collection& collection);

// Why a change is refused that names an older rules_revision; kExpired.
base::Status RulesHaveChanged();

// Whether a change of this kind may change what other writes are judged by. A ResourceQuota is one by
// being there: its numbers are compared when it is charged.
bool ChangesRules(const Change& change);

}  // namespace portcullis::store
