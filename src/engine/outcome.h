// SPDX-License-Identifier: Apache-2.0

// Outcome: what became of an operation that did not fail.
#pragma once

#include "json/value.h"
#include "store/object.h"

namespace portcullis::engine {

struct Outcome {
  int code = 200;  // of HTTP, as Kubernetes chooses it: 201 for what was created
  // The object as it was stored; null if nothing was stored (a dry run, a review, a deletion).
  store::ObjectPtr stored;
  // With `stored`: what has been stored, but for its resourceVersion, in the version of the store. Without: the object in
  // the operation's version, or a Status.
  json::Value object;
  bool created = false;
  // `object` is no object of the resource: a Status, which is shown as it is whatever is asked for,
  // or an answered review.
  bool plain = false;
};

// An outcome that is an object other than one of the resource.
inline Outcome PlainOutcome(int code, json::Value object) {
  Outcome outcome;
  outcome.code = code;
  outcome.object = object;
  outcome.plain = true;
  return outcome;
}

}  // namespace portcullis::engine
