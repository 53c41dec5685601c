// SPDX-License-Identifier: Apache-2.0

// Selection: which objects of a collection a list, watch or deletecollection is about.
#pragma once

#include <optional>

#include "api/selector/field_selector.h"
#include "api/selector/label_selector.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "json/value.h"
#include "kube_cel/shard_selector.h"
#include "store/object.h"
#include "store/uninitialized.h"

namespace portcullis::engine {

// Value type.
struct Selection {
  api::LabelSelector labels;
  api::FieldSelector fields;
  const api::schema::Schema* schema = nullptr;   // tells what absent fields count as
  std::string ns;                                // "" for all
  std::string name;                              // of the URL, for a watch of one object; else ""
  std::optional<kube_cel::ShardSelector> shard;  // gate ShardedListAndWatch
  bool initialized_only = false;                 // hides what initializers have not finished

  // Whether the object is one that is hidden, whatever it matches.
  bool Hides(const store::Object& object) const {
    return initialized_only && store::IsUninitialized(object);
  }
  // Of what is not hidden.
  bool everything() const { return has_no_selectors() && name.empty() && !shard; }
  bool has_no_selectors() const { return labels.is_everything() && fields.empty(); }
  // `object` in the version of the request.
  bool Matches(json::Value object) const;
};

// Errors: BadRequest with Kubernetes' texts for selectors that cannot be read or name a field that
// objects of the kind cannot be selected by.
base::Result<Selection> ReadSelection(const Operation& op, const ListOptions& options);

// Keeps those that match. Parses what it has to look into.
base::Status Filter(Operation& op, const Selection& selection,
                    std::vector<store::ObjectPtr>& objects);

}  // namespace portcullis::engine
