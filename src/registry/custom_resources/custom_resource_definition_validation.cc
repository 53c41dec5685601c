// SPDX-License-Identifier: Apache-2.0

// CustomResourceDefinitions (apiextensions-apiserver, pkg/apis/apiextensions/validation).
//
// Internally Kubernetes keeps what all versions have in common (schema, subresources, columns,
// selectable fields) once, at the top of the spec; messages name the fields there.

#include <algorithm>
#include <set>
#include <vector>

#include "api/condition.h"
#include "api/domain.h"
#include "base/strings.h"
#include "registry/custom_resources/custom_resource_definition_validation.h"
#include "registry/custom_resources/definition_parts.h"
#include "registry/custom_resources/definition_text.h"
#include "registry/custom_resources/schema_rules.h"
#include "registry/custom_resources/structural_schema.h"

namespace portcullis::registry {
namespace {

using json::Value;

// The parts of a version of which messages speak as parts of the spec if all versions have the same.
constexpr std::string_view kParts[] = {"schema", "subresources", "additionalPrinterColumns",
                                       "selectableFields"};

// True if the field is the same in every version, so that it counts as the definition's own.
bool IsCommon(Value versions, std::string_view field) {
  if (versions.empty()) return false;
  const Value first = versions[std::size_t{0}][field];
  for (const Value& version : versions.elements()) {
    if (!(version[field] == first)) return false;
  }
  return true;
}

using Parts = std::vector<std::string_view>;

// Those of kParts that all versions have in common.
Parts CommonParts(Value versions) {
  Parts common;
  for (const std::string_view part : kParts) {
    if (IsCommon(versions, part)) common.push_back(part);
  }
  return common;
}

bool Holds(const Parts& parts, std::string_view part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

constexpr std::string_view kNoSimplePath = "must be a simple json path starting with .";

std::string NullOr(Value value) { return value.is_null() ? "null" : Json(value); }

// As the internal Go types print what versions need not have in common.
std::string ValidationText(Value schema) {
  if (schema.is_null()) return "null";
  const Value props = schema["openAPIV3Schema"];
  return StructJson({{"OpenAPIV3Schema", props.is_object() ? SchemaText(props) : "null"}});
}

std::string SubresourcesText(Value subresources) {
  if (subresources.is_null()) return "null";
  const Value scale = subresources["scale"];
  std::string scale_text = "null";
  if (!scale.is_null()) {
    scale_text = StructJson({{"SpecReplicasPath", Quoted(scale["specReplicasPath"].AsString())},
                             {"StatusReplicasPath", Quoted(scale["statusReplicasPath"].AsString())},
                             {"LabelSelectorPath", NullOr(scale["labelSelectorPath"])}});
  }
  return StructJson(
      {{"Status", subresources["status"].is_null() ? "null" : "{}"}, {"Scale", scale_text}});
}

template <typename Text>
std::string ListText(Value list, const Text& text) {
  if (!list.is_array()) return "null";
  std::string out = "[";
  for (const Value& element : list.elements()) {
    if (out.size() > 1) out += ",";
    out += text(element);
  }
  return out + "]";
}

std::string ColumnsText(Value columns) {
  return ListText(columns, [](Value column) {
    const auto text = [&](std::string_view name) { return Quoted(column[name].AsString()); };
    return StructJson({{"Name", text("name")},
                       {"Type", text("type")},
                       {"Format", text("format")},
                       {"Description", text("description")},
                       {"Priority", std::to_string(column["priority"].AsInt())},
                       {"JSONPath", text("jsonPath")}});
  });
}

std::string SelectableText(Value fields) {
  return ListText(fields, [](Value field) {
    return StructJson({{"JSONPath", Quoted(field["jsonPath"].AsString())}});
  });
}

// The list of versions as the internal Go type prints.
std::string VersionsText(Value versions, const Parts& common) {
  const auto own = [&](Value version, std::string_view field, std::string (*text)(Value)) {
    return Holds(common, field) ? std::string("null") : text(version[field]);
  };
  return ListText(versions, [&](Value version) {
    return StructJson(
        {{"Name", Quoted(version["name"].AsString())},
         {"Served", version["served"].AsBool() ? "true" : "false"},
         {"Storage", version["storage"].AsBool() ? "true" : "false"},
         {"Deprecated", version["deprecated"].AsBool() ? "true" : "false"},
         {"DeprecationWarning", NullOr(version["deprecationWarning"])},
         {"Schema", own(version, "schema", &ValidationText)},
         {"Subresources", own(version, "subresources", &SubresourcesText)},
         {"AdditionalPrinterColumns", own(version, "additionalPrinterColumns", &ColumnsText)},
         {"SelectableFields", own(version, "selectableFields", &SelectableText)}});
  });
}

void CheckColumns(Value columns, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const Value& column : columns.elements()) {
    const FieldPath at = path.Index(index++);
    if (column["name"].AsString().empty()) errors.push_back(api::Required(at.Child("name"), ""));
    const std::string_view type = column["type"].AsString();
    if (type.empty()) {
      errors.push_back(
          api::Required(at.Child("type"), "must be one of boolean,date,integer,number,string"));
    } else if (type != "boolean" && type != "date" && type != "integer" && type != "number" &&
               type != "string") {
      errors.push_back(api::Invalid(at.Child("type"), type,
                                    "must be one of boolean,date,integer,number,string"));
    }
    const std::string_view format = column["format"].AsString();
    constexpr std::string_view kFormats[] = {"int32", "int64",     "float",    "double", "byte",
                                             "date",  "date-time", "password", ""};
    if (std::find(std::begin(kFormats), std::end(kFormats), format) == std::end(kFormats)) {
      errors.push_back(api::Invalid(at.Child("format"), format,
                                    "must be one of byte,date,date-time,double,float,int32,int64,"
                                    "password"));
    }
    const std::string_view json_path = column["jsonPath"].AsString();
    if (json_path.empty()) {
      errors.push_back(api::Required(at.Child("JSONPath"), ""));
    } else if (json_path[0] != '.') {
      errors.push_back(api::Invalid(at.Child("JSONPath"), json_path, kNoSimplePath));
    }
  }
}

void CheckSubresources(Value subresources, const FieldPath& path, FieldErrors& errors) {
  const Value scale = subresources["scale"];
  if (scale.is_null()) return;
  const FieldPath at = path.Child("scale");
  const auto check = [&](std::string_view field, std::string_view prefix, bool required) {
    const std::string_view text = scale[field].AsString();
    if (text.empty()) {
      if (required) errors.push_back(api::Required(at.Child(field), ""));
      return;
    }
    if (text.front() != '.') {
      errors.push_back(api::Invalid(at.Child(field), text, kNoSimplePath));
    } else if (!text.starts_with(base::StrCat(prefix, "."))) {
      errors.push_back(api::Invalid(at.Child(field), text,
                                    base::StrCat("should be a json path under ", prefix)));
    }
  };
  check("specReplicasPath", ".spec", true);
  check("statusReplicasPath", ".status", true);
  const std::string_view text = scale["labelSelectorPath"].AsString();
  const FieldPath selector = at.Child("labelSelectorPath");
  if (!text.empty() && text.front() != '.') {
    errors.push_back(api::Invalid(selector, text, kNoSimplePath));
  } else if (!text.empty() && !text.starts_with(".spec.") && !text.starts_with(".status.")) {
    errors.push_back(
        api::Invalid(selector, text, "should be a json path under either .spec or .status"));
  }
}

// With a status subresource the schema of the status is used alone: the root may hold nothing that
// would be lost.
void CheckRootForStatus(Value schema, const FieldPath& path, FieldErrors& errors) {
  const std::string_view field = FirstFieldNotForRoot(schema);
  if (field == "Type") {
    errors.push_back(api::Invalid(path.Child("type"), schema["type"],
                                  "only \"object\" is allowed as the type at the root of the "
                                  "schema if the status subresource is enabled"));
  } else if (!field.empty()) {
    errors.push_back(api::Invalid(
        path, api::BadValue::Raw(SchemaText(schema)),
        base::StrCat("only ", FieldsForRoot(),
                     " fields are allowed at the root of the schema if the status subresource is "
                     "enabled")));
  }
}

// Where errors of a version's parts are: what all versions have in common is a part of the spec.
struct VersionPaths {
  FieldPath schema;
  FieldPath subresources;
  FieldPath columns;
  FieldPath selectable_fields;
  // What is said if the fields stand where kube-apiserver sees no schema, having moved to the spec
  // what all versions have in common.
  std::string_view selects_without_schema;
};

std::string_view SelectsWithoutSchema(Value version, const Parts& common) {
  const bool common_schema = Holds(common, "schema");
  const bool common_fields = Holds(common, "selectableFields");
  // What all versions have in common moves to the spec; an empty `schema: {}` counts as a schema there.
  const Value schema = version["schema"];
  if (common_schema == common_fields &&
      (common_fields ? schema : schema["openAPIV3Schema"]).is_object()) {
    return "";
  }
  return common_fields ? "may only be set when validations.schema is included"
                       : "may only be set when `version.schema.openAPIV3Schema` is not included";
}

void CheckVersionContent(Value version, bool has_status, const VersionPaths& paths,
                         FieldErrors& errors) {
  const Value schema = version["schema"]["openAPIV3Schema"];
  if (schema.is_object()) {
    if (has_status) CheckRootForStatus(schema, paths.schema, errors);
    FieldErrors of_schema;
    const bool is_structural = ValidateStructuralSchema(schema, paths.schema, of_schema);
    if (is_structural) ValidateSchemaRules(schema, paths.schema, of_schema);
    errors.insert(errors.end(), of_schema.begin(), of_schema.end());
  }
  CheckSubresources(version["subresources"], paths.subresources, errors);
  CheckColumns(version["additionalPrinterColumns"], paths.columns, errors);
  const Value fields = version["selectableFields"];
  if (fields.empty() || paths.selects_without_schema.empty()) {
    CheckSelectableFields(fields, schema, paths.selectable_fields, errors);
  } else {
    errors.push_back(api::Invalid(paths.selectable_fields, "", paths.selects_without_schema));
  }
}

bool HasStatus(Value version) { return version["subresources"]["status"].is_object(); }

void CheckVersionsOwn(Value versions, const Parts& common, const FieldPath& list,
                      FieldErrors& errors) {
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const Value version = versions[i];
    const FieldPath at = list.Index(i);
    const auto texts = api::IsDns1035Label(version["name"].AsString());
    if (!texts.empty()) {
      errors.push_back(api::Invalid(at.Child("name"), version["name"], base::Join(texts, ",")));
    }
    CheckDeprecationWarning(version, at.Child("deprecationWarning"), errors);
    Value own = version;
    json::Arena arena;
    for (const std::string_view part : common) own = json::Without(arena, own, part);
    const VersionPaths paths = {at.Child("schema", "openAPIV3Schema"), at.Child("subresources"),
                                at.Child("additionalPrinterColumns"), at.Child("selectableFields"),
                                SelectsWithoutSchema(version, common)};
    CheckVersionContent(own, HasStatus(version), paths, errors);
  }
}

// What all versions have in common, which is checked behind the names.
void CheckCommonParts(Value versions, const Parts& common, const FieldPath& path,
                      FieldErrors& errors) {
  if (versions.empty()) return;
  const Value first = versions[std::size_t{0}];
  Value shared = first;
  json::Arena arena;
  for (const std::string_view part : kParts) {
    if (!Holds(common, part)) shared = json::Without(arena, shared, part);
  }
  const auto all = versions.elements();
  const bool has_status = std::any_of(all.begin(), all.end(), &HasStatus);
  const VersionPaths paths = {path.Child("validation", "openAPIV3Schema"),
                              path.Child("subresources"), path.Child("additionalPrinterColumns"),
                              path.Child("selectableFields"), SelectsWithoutSchema(first, common)};
  CheckVersionContent(shared, has_status, paths, errors);
}

void CheckPreserveWithDefaults(Value spec, const FieldPath& path, FieldErrors& errors) {
  if (!spec["preserveUnknownFields"].AsBool()) return;
  bool has_default = false;
  VisitSchemas(spec["versions"],
               [&](Value schema) { has_default |= !schema["default"].is_null(); });
  if (!has_default) return;
  errors.push_back(api::Invalid(path.Child("preserveUnknownFields"), true,
                                "must be false in order to use defaults in the schema"));
}

// A part of a definition that is sent in v1beta1 stands in its spec, or in each version.
struct OldPart {
  std::string_view part;
  std::string_view field;  // of the spec
  std::string_view plural;
};
constexpr OldPart kOldParts[] = {
    {"schema", "validation", "schemas"},
    {"subresources", "subresources", "subresources"},
    {"additionalPrinterColumns", "additionalPrinterColumns", "additionalPrinterColumns"}};

bool IsOld(Value sent) { return sent["apiVersion"].AsString() == "apiextensions.k8s.io/v1beta1"; }

// What all versions have in common by the definition that was sent.
Parts CommonPartsOf(Value spec, Value sent) {
  if (!IsOld(sent)) return CommonParts(spec["versions"]);
  Parts common;
  if (!sent["spec"]["selectableFields"].empty()) common.push_back("selectableFields");
  for (const OldPart& row : kOldParts) {
    if (!sent["spec"][row.field].is_null()) common.push_back(row.part);
  }
  return common;
}

void CheckOldParts(Value sent, const std::string& versions_text, const FieldPath& path,
                   FieldErrors& errors) {
  const auto versions = sent["spec"]["versions"].elements();
  for (const OldPart& row : kOldParts) {
    const auto has = [&](const Value& version) { return !version[row.part].empty(); };
    if (sent["spec"][row.field].is_null() || std::none_of(versions.begin(), versions.end(), has)) {
      continue;
    }
    errors.push_back(api::Forbidden(
        path.Child(row.field),
        base::StrCat("top-level and per-version ", row.plural, " are mutually exclusive")));
  }
  for (const OldPart& row : kOldParts) {
    const auto is_same = [&](const Value& version) {
      return !version[row.part].empty() && version[row.part] == versions.front()[row.part];
    };
    if (versions.empty() || !std::all_of(versions.begin(), versions.end(), is_same)) continue;
    errors.push_back(
        api::Invalid(path.Child("versions"), api::BadValue::Raw(versions_text),
                     base::StrCat("per-version ", row.plural,
                                  " may not all be set to identical values (top-level ", row.field,
                                  " should be used instead)")));
  }
}

// `definition`: as it was sent.
void CheckVersions(Value spec, const Parts& common, Value definition, const FieldPath& path,
                   FieldErrors& errors) {
  const Value versions = spec["versions"];
  const FieldPath list = path.Child("versions");
  std::size_t storage = 0;
  std::set<std::string_view> names;
  bool unique = true;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    storage += versions[i]["storage"].AsBool() ? 1 : 0;
    unique &= names.insert(versions[i]["name"].AsString()).second;
    if (versions[i]["schema"]["openAPIV3Schema"].is_object()) continue;
    errors.push_back(api::Required(list.Index(i).Child("schema", "openAPIV3Schema"), ""));
  }
  CheckPreserveWithDefaults(spec, path, errors);
  CheckVersionsOwn(versions, common, list, errors);
  if (IsOld(definition)) {
    CheckOldParts(definition, VersionsText(versions, common), path, errors);
  }
  if (!unique) {
    errors.push_back(api::Invalid(list, api::BadValue::Raw(VersionsText(versions, common)),
                                  "must contain unique version names"));
  }
  if (storage != 1) {
    errors.push_back(api::Invalid(list, api::BadValue::Raw(VersionsText(versions, common)),
                                  "must have exactly one version marked as storage version"));
  }
  if (versions.empty()) return;
  // The first version is also the one of spec.version, a field of v1beta1 that may be empty.
  const Value first = versions[std::size_t{0}]["name"];
  if (first.AsString().empty()) return;
  if (const auto texts = api::IsDns1035Label(first.AsString()); !texts.empty()) {
    errors.push_back(api::Invalid(path.Child("version"), first, base::Join(texts, ",")));
  }
}

// The names of the status need not be there.
void CheckNames(Value names, bool required, const FieldPath& path, FieldErrors& errors) {
  const auto label = [&](std::string_view field, std::string_view text) {
    const bool mixed_case = field == "kind" || field == "listKind";
    const auto texts = api::IsDns1035Label(mixed_case ? base::ToLower(text) : std::string(text));
    if (!texts.empty()) {
      errors.push_back(api::Invalid(
          path.Child(field), text,
          mixed_case ? base::StrCat("may have mixed case, but should otherwise match: ",
                                    base::Join(texts, ","))
                     : base::Join(texts, ",")));
    }
  };
  const std::string_view fields[] = {"plural", "singular", "kind", "listKind"};
  for (const std::string_view field : fields) {
    if (required && names[field].AsString().empty()) {
      errors.push_back(api::Required(path.Child(field), ""));
    }
  }
  for (const std::string_view field : fields) {
    const std::string_view text = names[field].AsString();
    if (!text.empty()) label(field, text);
  }
  std::size_t index = 0;
  for (const Value& name : names["shortNames"].elements()) {
    const auto texts = api::IsDns1035Label(name.AsString());
    const FieldPath at = path.Child("shortNames").Index(index++);
    if (!texts.empty()) errors.push_back(api::Invalid(at, name, base::Join(texts, ",")));
  }
  if (!names["kind"].AsString().empty() && names["kind"] == names["listKind"]) {
    errors.push_back(api::Invalid(path.Child("listKind"), names["listKind"],
                                  "kind and listKind may not be the same"));
  }
  index = 0;
  for (const Value& category : names["categories"].elements()) {
    const auto texts = api::IsDns1035Label(category.AsString());
    const FieldPath at = path.Child("categories").Index(index++);
    if (!texts.empty()) errors.push_back(api::Invalid(at, category, base::Join(texts, ",")));
  }
}

void CheckApproval(Value object, FieldErrors& errors) {
  if (!api::IsInDomainOfKubernetes(object["spec"]["group"].AsString())) return;
  constexpr std::string_view kKey = "api-approved.kubernetes.io";
  const std::string_view value = object["metadata"]["annotations"][kKey].AsString();
  const FieldPath at = FieldPath("metadata", "annotations").Key(kKey);
  if (value.empty()) {
    errors.push_back(api::Required(
        at,
        "protected groups must have approval annotation \"api-approved.kubernetes.io\", see "
        "https://github.com/kubernetes/enhancements/pull/1111"));
  } else if (!value.starts_with("unapproved") && value.find("://") == std::string_view::npos) {
    errors.push_back(api::Invalid(
        at, value,
        base::StrCat("protected groups must have approval annotation \"", kKey,
                     "\" with either a URL or a reason starting with \"unapproved\", see "
                     "https://github.com/kubernetes/enhancements/pull/1111")));
  }
}

void CheckSpec(const Context& ctx, Value definition, Value old, FieldErrors& errors) {
  const Value spec = WithSentForms(ctx.arena, definition["spec"], ctx.sent["spec"]);
  const FieldPath path("spec");
  const std::string_view group = spec["group"].AsString();
  if (group.empty()) {
    errors.push_back(api::Required(path.Child("group"), ""));
  } else if (const auto texts = api::IsDns1123Subdomain(group); !texts.empty()) {
    errors.push_back(api::Invalid(path.Child("group"), group, base::Join(texts, ",")));
  } else if (group.find('.') == std::string_view::npos) {
    errors.push_back(
        api::Invalid(path.Child("group"), group, "should be a domain with at least one dot"));
  }
  if (spec["scope"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("scope"), ""));
  } else {
    CheckOneOf(spec["scope"], path.Child("scope"), {"Cluster", "Namespaced"}, errors,
               GoType::kString);
  }
  // Where they are compared, an empty list is none.
  const Parts common = CommonPartsOf(definition["spec"], ctx.sent);
  CheckVersions(spec, common, ctx.sent, path, errors);
  CheckNames(spec["names"], true, path.Child("names"), errors);
  CheckCommonParts(spec["versions"], common, path, errors);
  CheckConversion(definition, old, path.Child("conversion"), errors);
}

void CheckPreserve(Value definition, FieldErrors& errors) {
  if (!definition["spec"]["preserveUnknownFields"].AsBool()) return;
  errors.push_back(
      api::Invalid(FieldPath("spec", "preserveUnknownFields"), true,
                   "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                   "spec.versions[*].schema instead"));
}

void CheckStatus(Value definition, FieldErrors& errors) {
  CheckNames(definition["status"]["acceptedNames"], false, FieldPath("status", "acceptedNames"),
             errors);
}

void CheckStoredVersions(Value object, FieldErrors& errors) {
  const Value stored = object["status"]["storedVersions"];
  const Value versions = object["spec"]["versions"];
  const FieldPath path("status", "storedVersions");
  if (stored.empty()) {
    errors.push_back(api::Invalid(path, stored, "must have at least one stored version"));
    return;
  }
  std::set<std::string_view> missing;
  for (const Value& name : stored.elements()) missing.insert(name.AsString());
  for (const Value& version : versions.elements()) {
    // Each is found once: a second version of the name is one that was never stored.
    const Value name = version["name"];
    if (missing.erase(name.AsString()) > 0 || !version["storage"].AsBool()) continue;
    errors.push_back(api::Invalid(path, stored,
                                  base::StrCat("must have the storage version ", name.AsString())));
  }
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (!missing.contains(stored[i].AsString())) continue;
    errors.push_back(api::Invalid(
        path.Index(i), stored[i],
        base::StrCat("missing from spec.versions; ", stored[i].AsString(),
                     " was previously a storage version, and must remain in spec.versions until "
                     "a storage migration ensures no data remains persisted in ",
                     stored[i].AsString(), " and removes ", stored[i].AsString(),
                     " from status.storedVersions")));
  }
}

// Behind what else is wrong with the same name.
void AddNameError(api::FieldError error, FieldErrors& errors) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const std::string& field = errors[i].field;
    if (field == error.field || field == "metadata.generateName") at = i + 1;
  }
  errors.insert(errors.begin() + static_cast<std::ptrdiff_t>(at), std::move(error));
}

}  // namespace

void ValidateCustomResourceDefinition(const Context& ctx, Value object, FieldErrors& errors) {
  const std::string name = base::StrCat(object["spec"]["names"]["plural"].AsString(), ".",
                                        object["spec"]["group"].AsString());
  for (const std::string_view field : {"generateName", "name"}) {
    const std::string_view given = object["metadata"][field].AsString();
    if (given.empty() || given == name) continue;
    AddNameError(api::Invalid(FieldPath("metadata", field), given,
                              "must be spec.names.plural+\".\"+spec.group"),
                 errors);
  }
  CheckSpec(ctx, object, {}, errors);
  CheckStatus(object, errors);
  CheckStoredVersions(object, errors);
  CheckApproval(object, errors);
  CheckPreserve(object, errors);
}

void ValidateCustomResourceDefinitionUpdate(const Context& ctx, Value object, Value old,
                                            FieldErrors& errors) {
  if (ctx.subresource == "status") return CheckStatus(object, errors);
  CheckSpec(ctx, object, old, errors);
  const FieldPath path("spec");
  const Value now = object["spec"];
  const Value before = old["spec"];
  if (api::HasTrueCondition(old, "Established")) {
    CheckImmutable(now["scope"], before["scope"], path.Child("scope"), errors);
    CheckImmutable(now["names"]["kind"], before["names"]["kind"], path.Child("names", "kind"),
                   errors);
  }
  CheckImmutable(now["group"], before["group"], path.Child("group"), errors);
  CheckImmutable(now["names"]["plural"], before["names"]["plural"], path.Child("names", "plural"),
                 errors);
  CheckStatus(object, errors);
  CheckStoredVersions(object, errors);
  // What was no better before may stay.
  FieldErrors approval_before;
  CheckApproval(old, approval_before);
  if (approval_before.empty()) CheckApproval(object, errors);
  if (!before["preserveUnknownFields"].AsBool()) CheckPreserve(object, errors);
}

}  // namespace portcullis::registry
