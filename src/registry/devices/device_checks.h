// SPDX-License-Identifier: Apache-2.0

// Checks that the kinds of dynamic resource allocation share (pkg/apis/resource/validation). Pure
// functions; any thread.
#pragma once

#include <map>
#include <set>
#include <string_view>

#include "registry/validation/checks.h"

namespace portcullis::registry {

void CheckDriverName(json::Value name, const FieldPath& path, FieldErrors& errors);
void CheckPoolName(json::Value name, const FieldPath& path, FieldErrors& errors);
// `name` or `domain/name`, the latter required if `full`.
void CheckAttributeName(std::string_view name, bool full, const FieldPath& path,
                        FieldErrors& errors);
// A value of a stored object: as it is to be, as it was, and as it was sent (Context::sent).
struct Replaced {
  json::Value value, old, sent;
};
// `field is immutable` with the value of the type `type` as Go prints it, if it is no longer the same.
void CheckUnchanged(const Context& ctx, std::string_view type, const Replaced& field,
                    const FieldPath& path, FieldErrors& errors);
// Whether the user may change allocation and reservedFor, and devices of each driver (gate
// DRAResourceClaimGranularStatusAuthorization): Forbidden errors where not.
void CheckMayWriteClaimStatus(const Context& ctx, json::Value status, json::Value old,
                              FieldErrors& errors);
// At most `limit` elements; false, with an error, if there are more.
bool CheckSize(json::Value list, std::size_t limit, const FieldPath& path, FieldErrors& errors);
// Elements with a `key` that an earlier one has.
void CheckUnique(json::Value list, std::string_view key, const FieldPath& path,
                 FieldErrors& errors);
void CheckLabelName(std::string_view name, const FieldPath& path, FieldErrors& errors);
void CheckDeviceEffect(json::Value effect, const FieldPath& path, FieldErrors& errors);
// A taint; the effect that it had before (`old`, null for a new one) is not looked at.
void CheckDeviceTaint(json::Value taint, json::Value old, const FieldPath& path,
                      FieldErrors& errors);
// A list of selectors with expressions.
void CheckDeviceSelectors(const Context& ctx, json::Value selectors, const FieldPath& path,
                          FieldErrors& errors);
// The driver and parameters of one configuration.
void CheckDeviceConfiguration(json::Value config, const FieldPath& path, FieldErrors& errors);
// Names of requests with those of their alternatives.
using RequestNames = std::map<std::string_view, std::set<std::string_view>>;
RequestNames GatherRequests(json::Value requests);
// A request, or one of its alternatives as `request/alternative`.
void CheckRequestReference(std::string_view name, const RequestNames& known, const FieldPath& path,
                           FieldErrors& errors);
void CheckRequestReferences(json::Value names, const RequestNames& known, const FieldPath& path,
                            FieldErrors& errors);
// Of a new claim or template: adminAccess needs the label `resource.kubernetes.io/admin-access: true`
// on the namespace (pkg/registry/resource). Without ctx.reader there is no check. The path is that
// of a claim in templates, too.
void CheckAdminAccess(const Context& ctx, json::Value requests, FieldErrors& errors);
// The same of the results of an allocation, unless those of `old` have it already.
void CheckAllocatedAdminAccess(const Context& ctx, json::Value results, json::Value old,
                               FieldErrors& errors);
// spec.devices of a claim.
void CheckDeviceClaim(const Context& ctx, json::Value devices, const FieldPath& path,
                      FieldErrors& errors);
// The requestPolicy of an amount that several claims share.
void CheckRequestPolicy(json::Value policy, const api::Quantity& capacity, const FieldPath& path,
                        FieldErrors& errors);
// bindingConditions and bindingFailureConditions below `path`.
void CheckBindingConditions(json::Value owner, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
