// SPDX-License-Identifier: Apache-2.0

#include "api/schema/type_meta.h"

#include "base/gotext.h"
#include "base/strings.h"
#include "json/go_errors.h"
#include "json/reader.h"
#include "json/yaml.h"

namespace portcullis::api::schema {

base::Status TypeMetaError(std::string_view message) {
  return base::ConfigError(base::StrCat("couldn't get version/kind; json parse error: ", message));
}

base::Status CheckTypeMeta(json::Value root) {
  if (root.is_null()) return base::OkStatus();
  if (!root.is_object()) {
    return TypeMetaError(base::StrCat(
        "json: cannot unmarshal ", json::GoTypeName(root),
        R"( into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" })"));
  }
  for (const std::string_view name : {"apiVersion", "kind"}) {
    const json::Value value = root[name];
    if (value.is_null() || value.is_string()) continue;
    return TypeMetaError(base::StrCat("json: cannot unmarshal ", json::GoTypeName(value),
                                      " into Go struct field .", name, " of type string"));
  }
  return base::OkStatus();
}

std::string NotRegistered(std::string_view kind, std::string_view version,
                          std::string_view scheme) {
  return base::StrCat("no kind ", base::GoQuote(kind), " is registered for version ",
                      base::GoQuote(version), " in scheme ", base::GoQuote(scheme));
}

base::Result<json::Value> ParseWithTypeMeta(json::Arena& arena, std::string_view text) {
  const bool is_json = json::HasJsonPrefix(text);
  const auto root = is_json ? json::Parse(arena, arena.Copy(text)) : json::ParseYaml(arena, text);
  if (!root.ok()) return is_json ? TypeMetaError(root.status().message()) : root.status();
  TRY(CheckTypeMeta(*root));
  return root->is_null() ? json::MakeObject(arena, {}) : *root;
}

}  // namespace portcullis::api::schema
