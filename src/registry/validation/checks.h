// SPDX-License-Identifier: Apache-2.0

// Small checks that many kinds share, each adding what it finds to the list
// (k8s.io/apimachinery/pkg/util/validation and pkg/apis/core/validation).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.h"
#include "api/quantity.h"
#include "api/selector/label_selector.h"
#include "json/value.h"
#include "registry/strategy.h"

namespace portcullis::registry {

using api::FieldErrors;
using api::FieldPath;

// Each text becomes an Invalid error about `value`.
void AddInvalid(const FieldPath& path, std::string_view value,
                const std::vector<std::string>& texts, FieldErrors& errors);

// Required value if absent or empty ("" or no elements). True if it is there.
bool RequireField(json::Value parent, std::string_view name, const FieldPath& parent_path,
                  FieldErrors& errors, std::string_view detail = {});
// The type of a string field in Go, which tells how messages quote its value: see api::NamedValue.
enum class GoType : std::uint8_t { kNamed, kString };
// One of `allowed` (in the order the message prints them). An absent value counts as "".
bool CheckOneOf(json::Value value, const FieldPath& path,
                std::initializer_list<std::string_view> allowed, FieldErrors& errors,
                GoType type = GoType::kNamed);
// `must be greater than or equal to 0`; nothing if absent.
void CheckNonNegative(json::Value value, const FieldPath& path, FieldErrors& errors);
void CheckNonNegative(std::int64_t value, const FieldPath& path, FieldErrors& errors);
// `must be greater than 0`; nothing if absent.
void CheckPositive(json::Value value, const FieldPath& path, FieldErrors& errors);
// 1 to 65535.
void CheckPort(std::int64_t port, const FieldPath& path, FieldErrors& errors);
// A port's number or name.
void CheckPortNumOrName(json::Value port, const FieldPath& path, FieldErrors& errors);
// `field is immutable` if they differ.
bool CheckImmutable(json::Value value, json::Value old, const FieldPath& path, FieldErrors& errors);
// A metav1.LabelSelector; nothing if absent.
void CheckLabelSelector(json::Value selector, const FieldPath& path, FieldErrors& errors);
void CheckLabels(json::Value labels, const FieldPath& path, FieldErrors& errors);
void CheckAnnotations(json::Value annotations, const FieldPath& path, FieldErrors& errors);
// A number >= 0 or a percentage.
void CheckIntOrPercent(json::Value value, const FieldPath& path, FieldErrors& errors);
// The percentage, or no value if it is none.
std::optional<std::int64_t> PercentOf(json::Value value);
// A DNS label or subdomain as `path`'s value.
void CheckDnsLabel(std::string_view value, const FieldPath& path, FieldErrors& errors);
void CheckSubdomain(std::string_view value, const FieldPath& path, FieldErrors& errors);
// acme.io/foo.
void CheckDomainPrefixedPath(std::string_view value, const FieldPath& path, FieldErrors& errors);
std::vector<std::string> IsConfigMapKey(std::string_view key);
std::vector<std::string> IsValidPortName(std::string_view name);
std::vector<std::string> IsPathSegmentName(std::string_view name, bool is_prefix);
// A subdomain whose labels may hold underscores.
std::vector<std::string> IsSubdomainWithUnderscore(std::string_view name);
// Quantity of a canonical object; zero if absent.
api::Quantity QuantityOf(json::Value value);
// The value as Go's %#v JSON of an internal type cannot be known; compact JSON instead.
std::string Json(json::Value value);
// Go's struct literal in JSON form: {"Name":"a","Port":80} from pairs of name and JSON text.
std::string StructJson(std::initializer_list<std::pair<std::string_view, std::string>> members);
std::string Quoted(std::string_view text);  // as a JSON string

// Metadata of a template may hold labels and annotations only.
void CheckTemplateMetadata(json::Value metadata, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
