// SPDX-License-Identifier: Apache-2.0

// Lists of amounts by resource name ("cpu", "requests.storage"), as in limits, requests and quotas.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "api/quantity.h"
#include "json/value.h"

namespace portcullis::api::quota {

// In order of names.
using Resources = std::map<std::string, Quantity, std::less<>>;

// A quantity as it stands in JSON, text or number; zero if it is none.
Quantity ReadQuantity(json::Value value);
// An object of quantities; members that are none are left out.
Resources ReadResources(json::Value object);
json::Value ResourcesToJson(json::Arena& arena, const Resources& resources);

// total[name] += amount, for each.
void Add(Resources& total, const Resources& amounts);
// total[name] = max(total[name], amount), for each.
void TakeMax(Resources& total, const Resources& amounts);
// a[name] - b[name] for the names of `a`; names only in `b` become negative.
Resources Subtract(const Resources& a, const Resources& b);
// The same names with the same amounts.
bool Equal(const Resources& a, const Resources& b);

// "cpu=3,memory=1Gi", in order of names.
std::string ResourcesText(const Resources& resources);

}  // namespace portcullis::api::quota
