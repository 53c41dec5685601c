// Warnings that the server gives about objects of particular kinds: fields and annotations that are
// deprecated or do not do what they seem to (k8s.io/kubernetes/pkg/api/*/warnings).
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "registry/strategy.h"

namespace portcullis::registry {

// `old` is null on create. Pure; thread-safe.
void KindWarnings(const Context& ctx, json::Value object, json::Value old,
                  std::vector<std::string>& warnings);

}  // namespace portcullis::registry
