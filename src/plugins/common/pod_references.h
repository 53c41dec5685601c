// SPDX-License-Identifier: Apache-2.0

// What a pod refers to by name: secrets and config maps in all the places where they can stand.
#pragma once

#include <functional>
#include <string_view>

#include "json/value.h"

namespace portcullis::plugins::common {

// Carries the annotation of a pod that stands for one from a node's own manifest.
bool IsMirrorPod(json::Value pod);

// Calls `visit` for each non-empty name until it returns false; false if it did. Secrets: pull
// secrets, env and envFrom of all containers, volumes. Config maps: env, envFrom, volumes.
bool VisitSecretNames(json::Value pod_spec, const std::function<bool(std::string_view)>& visit);
bool VisitConfigMapNames(json::Value pod_spec, const std::function<bool(std::string_view)>& visit);

}  // namespace portcullis::plugins::common
