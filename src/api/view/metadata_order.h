// SPDX-License-Identifier: Apache-2.0

// The fields of ObjectMeta in the order in which Kubernetes' own types are written
// (apimachinery, ObjectMeta); initializers are of Kubernetes 1.7 to 1.15.
#pragma once

#include <array>
#include <string_view>

namespace portcullis::api {

inline constexpr std::array<std::string_view, 16> kMetadataOrder = {"name",
                                                                    "generateName",
                                                                    "namespace",
                                                                    "selfLink",
                                                                    "uid",
                                                                    "resourceVersion",
                                                                    "generation",
                                                                    "creationTimestamp",
                                                                    "deletionTimestamp",
                                                                    "deletionGracePeriodSeconds",
                                                                    "labels",
                                                                    "annotations",
                                                                    "ownerReferences",
                                                                    "initializers",
                                                                    "finalizers",
                                                                    "managedFields"};

}  // namespace portcullis::api
