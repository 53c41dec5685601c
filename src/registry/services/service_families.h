// SPDX-License-Identifier: Apache-2.0

// Families of addresses: which of them a Service has, and its policy about having both
// (initIPFamilyFields of pkg/registry/core/service/storage). They hang on the families that the cluster
// has, which Context::services knows. Pure functions; any thread.
#pragma once

#include "api/field_error.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {

// A Service whose fields agree with each other, or what keeps them from it. What a client left to the
// server is filled in: ipFamilyPolicy, ipFamilies; a second family that an update gives up goes. Done once
// more, it changes nothing and finds the same errors.
struct Families {
  json::Value service;
  FieldErrors errors;
};
// `old` is null for a new Service.
Families InitFamilies(const Context& ctx, json::Value service, json::Value old);

// Addresses, families and policy by themselves (ValidateServiceClusterIPsRelatedFields).
void CheckAddressFields(const Context& ctx, json::Value spec, json::Value old_spec,
                        FieldErrors& errors);
// What an update may change of them (validateUpgradeDowngrade…).
void CheckFamiliesUpdate(json::Value spec, json::Value before, FieldErrors& errors);

bool IsHeadless(json::Value spec);

}  // namespace portcullis::registry
