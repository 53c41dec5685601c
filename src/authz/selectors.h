// SPDX-License-Identifier: Apache-2.0

// Selectors: by which labels and fields an action is narrowed, read for authorizers. Terms that
// could not be read are left out: all terms must hold, so that what is left is the broader
// question. Value type. Source: pkg/registry/authorization/util/helpers.go and k8s.io/apiserver's
// GetAuthorizerAttributes of Kubernetes 1.36.
#pragma once

#include <string_view>
#include <vector>

#include "api/selector/field_selector.h"
#include "api/selector/label_selector.h"
#include "json/value.h"

namespace portcullis::authz {

struct Selectors {
  std::vector<api::FieldSelector::Term> fields;
  std::vector<api::LabelSelector::Requirement> labels;
  bool fields_failed = false;  // some, or all, could not be read
  bool labels_failed = false;

  bool empty() const {
    return fields.empty() && labels.empty() && !fields_failed && !labels_failed;
  }
};

// Of the parameters of a query.
Selectors ReadSelectors(std::string_view fields, std::string_view labels);
// Of the resourceAttributes of an access review.
Selectors ReadSelectors(json::Value resource_attributes);

}  // namespace portcullis::authz
