// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/custom_paths.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace portcullis::api::catalog {
namespace {

using json::Value;
using Names = std::span<const std::string_view>;

constexpr std::string_view kMetaTypes = "io.k8s.apimachinery.pkg.apis.meta.v1.";
constexpr std::string_view kScale = "io.k8s.api.autoscaling.v1.Scale";

constexpr std::string_view kMediaTypes[] = {"application/json", "application/yaml"};
constexpr std::string_view kPatchTypes[] = {
    "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"};

// In the order of version 2.
constexpr std::string_view kPatchTypesOfV2[] = {
    "application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"};
constexpr std::string_view kSchemes[] = {"https"};

// Parameters that version 2 refers to: names in its "parameters", which end with the hash of what is
// there.
constexpr std::string_view kReferences[] = {
    "allowWatchBookmarks-HC2hJt-J",
    "continue-QfD61s0i",
    "fieldManager-Qy4HdaTW",
    "fieldSelector-xIcQKXFG",
    "force-tOGGb0Yi",
    "gracePeriodSeconds--K5HaBOS",
    "ignoreStoreReadErrorWithClusterBreakingPotential-QbNkfIqj",
    "labelSelector-5Zw57w4C",
    "limit-1NfNmdNH",
    "namespace-vgWSWtn3",
    "orphanDependents-uRB25kX5",
    "pretty-tJGM1-ng",
    "propagationPolicy-6jk3prlO",
    "resourceVersion-5WAnf1kx",
    "resourceVersionMatch-t8XhRHeC",
    "sendInitialEvents-rLXlEK_k",
    "shardSelector-Kgyki_3_",
    "timeoutSeconds-yvYezaOC",
    "watch-XNNPZGbK"};
constexpr std::string_view kFieldManagerOfPatch = "fieldManager-7c6nTn1T";
constexpr std::string_view kDeleteOptionsBody = "body-2Y1dVQaQ";
constexpr std::string_view kPatchBody = "body-78PwaGsr";

// The one of kReferences with this name; "" if there is none.
std::string_view ReferenceOf(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kReferences), std::end(kReferences), [&](std::string_view reference) {
        return reference.starts_with(name) && reference.substr(name.size()).starts_with('-');
      });
  return found == std::end(kReferences) ? std::string_view() : *found;
}

// Query parameters that are no strings.
constexpr std::string_view kBooleans[] = {"allowWatchBookmarks",
                                          "force",
                                          "ignoreStoreReadErrorWithClusterBreakingPotential",
                                          "orphanDependents",
                                          "sendInitialEvents",
                                          "watch"};
constexpr std::string_view kIntegers[] = {"gracePeriodSeconds", "limit", "timeoutSeconds"};

// The query parameters of each operation besides `pretty`: the fields of its options.
constexpr std::string_view kGetParameters[] = {"resourceVersion"};
constexpr std::string_view kListParameters[] = {"allowWatchBookmarks",
                                                "continue",
                                                "fieldSelector",
                                                "labelSelector",
                                                "limit",
                                                "resourceVersion",
                                                "resourceVersionMatch",
                                                "sendInitialEvents",
                                                "shardSelector",
                                                "timeoutSeconds",
                                                "watch"};
constexpr std::string_view kDeleteParameters[] = {
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents", "propagationPolicy"};
constexpr std::string_view kWriteParameters[] = {"dryRun", "fieldManager", "fieldValidation"};
constexpr std::string_view kPatchParameters[] = {"dryRun", "fieldManager", "fieldValidation",
                                                 "force"};

constexpr std::string_view kOk[] = {"200"};
constexpr std::string_view kOkOrCreated[] = {"200", "201"};
constexpr std::string_view kOkOrAccepted[] = {"200", "202"};
constexpr std::string_view kOkCreatedOrAccepted[] = {"200", "201", "202"};

enum class Content { kNone, kObject, kList, kStatus, kPatch, kDeleteOptions };

struct Action {
  std::string_view method;
  std::string_view name;     // x-kubernetes-action
  std::string_view verb;     // at the front of operation ids
  std::string_view of = {};  // what stands before the kind there
  // The description before the kind, in two parts: "status of" stands between them.
  std::string_view does;
  std::string_view whom = "the specified ";
  Names parameters = {};
  Content body = Content::kNone;
  Content answer = Content::kObject;
  Names codes = kOk;
};
constexpr Action kDelete = {.method = "delete",
                            .name = "delete",
                            .verb = "delete",
                            .does = "delete ",
                            .whom = "a ",
                            .parameters = kDeleteParameters,
                            .body = Content::kDeleteOptions,
                            .answer = Content::kStatus,
                            .codes = kOkOrAccepted};
constexpr Action kDeleteCollection = {.method = "delete",
                                      .name = "deletecollection",
                                      .verb = "delete",
                                      .of = "Collection",
                                      .does = "delete collection of ",
                                      .whom = "",
                                      .parameters = kListParameters,
                                      .answer = Content::kStatus};
constexpr Action kGet = {
    .method = "get", .name = "get", .verb = "read", .does = "read ", .parameters = kGetParameters};
constexpr Action kList = {.method = "get",
                          .name = "list",
                          .verb = "list",
                          .does = "list objects of kind ",
                          .whom = "",
                          .parameters = kListParameters,
                          .answer = Content::kList};
constexpr Action kPatch = {.method = "patch",
                           .name = "patch",
                           .verb = "patch",
                           .does = "partially update ",
                           .parameters = kPatchParameters,
                           .body = Content::kPatch};
constexpr Action kPost = {.method = "post",
                          .name = "post",
                          .verb = "create",
                          .does = "create ",
                          .whom = "a ",
                          .parameters = kWriteParameters,
                          .body = Content::kObject,
                          .codes = kOkCreatedOrAccepted};
constexpr Action kPut = {.method = "put",
                         .name = "put",
                         .verb = "replace",
                         .does = "replace ",
                         .parameters = kWriteParameters,
                         .body = Content::kObject,
                         .codes = kOkOrCreated};

// Without what is no letter or digit, which makes the next letter a capital.
std::string OperationName(std::string_view text, bool is_capital) {
  std::string name;
  for (const char& c : text) {
    const bool is_digit = c >= '0' && c <= '9' && &c != text.data();
    const bool is_letter = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && !is_digit) {
      is_capital = true;
      continue;
    }
    name += is_capital ? base::ToUpper(std::string_view(&c, 1)) : std::string(1, c);
    is_capital = false;
  }
  return name;
}

// The paths of one resource.
class Paths {
 public:
  Paths(json::Arena& arena, const ResourceInfo& info, OpenApi form, Value taken)
      : arena_(arena), info_(info), v3_(form == OpenApi::kV3), taken_(taken) {
    std::string_view group = info.resource.group;
    constexpr std::string_view kOfKubernetes = ".k8s.io";
    if (group.ends_with(kOfKubernetes)) group.remove_suffix(kOfKubernetes.size());
    const std::string_view version = info.resource.version;
    tag_ = base::StrCat(OperationName(group, false), "_", OperationName(version, false));
    group_name_ = base::StrCat(OperationName(group, true), OperationName(version, true));
  }

  void Add(json::ObjectBuilder& paths) {
    const std::string group =
        base::StrCat("/apis/", info_.resource.group, "/", info_.resource.version, "/");
    const std::string& plural = info_.resource.resource;
    std::string root = group + plural;
    if (info_.namespaced) {
      paths.Set(arena_.Copy(root), Item({&kList, 1}, {}, "ForAllNamespaces"));
      root = base::StrCat(group, "namespaces/{namespace}/", plural);
    }
    paths.Set(arena_.Copy(root), Item(std::array{kDeleteCollection, kList, kPost}, {}, ""));
    root += "/{name}";
    paths.Set(arena_.Copy(root), Item(std::array{kDelete, kGet, kPatch, kPut}, {"name"}, ""));
    for (const std::string_view name : {"scale", "status"}) {
      const bool has_it =
          std::any_of(info_.subresources.begin(), info_.subresources.end(),
                      [&](const SubresourceInfo& subresource) { return subresource.name == name; });
      if (!has_it) continue;
      subresource_ = name;
      paths.Set(arena_.Copy(base::StrCat(root, "/", name)),
                Item(std::array{kGet, kPatch, kPut}, {"name"}, OperationName(name, true)));
    }
  }

 private:
  // The operations of a path, in which `name` stands if one is given; `suffix` ends their ids.
  Value Item(std::span<const Action> actions, std::vector<std::string_view> in_path,
             std::string_view suffix) {
    const bool is_of_all = suffix == "ForAllNamespaces";
    if (info_.namespaced && !is_of_all) in_path.emplace_back("namespace");
    std::string_view scope = info_.namespaced && !is_of_all ? "Namespaced" : "";
    // Parameters of all operations are those of the path.
    const Names shared = actions.size() == 1 ? actions.front().parameters : Names();
    json::ObjectBuilder item(arena_);
    for (const Action& action : actions) {
      const std::string id =
          base::StrCat(action.verb, group_name_, action.of, scope, info_.kind.kind, suffix);
      item.Set(action.method, Operation(action, id, shared.empty() ? action.parameters : Names()));
    }
    std::vector<std::string_view> query(shared.begin(), shared.end());
    query.emplace_back("pretty");
    item.Set("parameters", Parameters(query, in_path, Content::kNone));
    return item.Build();
  }

  Value Operation(const Action& action, std::string_view id, Names parameters) {
    json::ObjectBuilder operation(arena_);
    const std::string subject = subresource_.empty() ? "" : base::StrCat(subresource_, " of ");
    operation.Set("description", base::StrCat(action.does, subject, action.whom, info_.kind.kind))
        .Set("operationId", id);
    const bool is_patch = action.body == Content::kPatch;
    if (!v3_) {
      operation.Set("consumes", Texts(is_patch ? Names(kPatchTypesOfV2) : kMediaTypes))
          .Set("produces", Texts(kMediaTypes))
          .Set("schemes", Texts(kSchemes));
    } else if (action.body != Content::kNone) {
      json::ObjectBuilder body(arena_);
      body.Set("content", Schemas(action.body, is_patch ? Names(kPatchTypes) : kMediaTypes));
      if (action.body != Content::kDeleteOptions) body.Set("required", true);
      operation.Set("requestBody", body.Build());
    }
    const Value taken = Parameters(parameters, {}, action.body);
    if (!taken.empty()) operation.Set("parameters", taken);
    json::ObjectBuilder responses(arena_);
    const Value answer =
        v3_ ? json::ObjectBuilder(arena_)
                  .Set("content", Schemas(action.answer, kMediaTypes))
                  .Build()
            : json::ObjectBuilder(arena_).Set("schema", Ref(action.answer)).Build();
    for (const std::string_view code : action.codes) responses.Set(code, answer);
    responses.Set("401", json::MakeObject(arena_, {}));
    operation.Set("responses", responses.Build());
    operation.Set("tags", json::ArrayBuilder(arena_).Add(std::string_view(tag_)).Build());
    operation.Set("x-kubernetes-action", action.name);
    operation.Set("x-kubernetes-group-version-kind", json::ObjectBuilder(arena_)
                                                         .Set("group", info_.kind.group)
                                                         .Set("kind", info_.kind.kind)
                                                         .Set("version", info_.kind.version)
                                                         .Build());
    return operation.Build();
  }

  // In the order of their names. The body is one of them in version 2.
  Value Parameters(Names query, Names path, Content body) {
    std::map<std::string_view, Value> made;
    if (!v3_ && body != Content::kNone) made.emplace("body", BodyParameter(body));
    if (!v3_ && body == Content::kPatch) {
      made.emplace("fieldManager", Reference("parameters", kFieldManagerOfPatch));
    }
    for (const std::string_view name : query) made.emplace(name, Parameter("query", name));
    for (const std::string_view name : path) made.emplace(name, Parameter("path", name));
    json::ArrayBuilder parameters(arena_);
    for (const auto& [name, parameter] : made) parameters.Add(parameter);
    return parameters.Build();
  }

  Value BodyParameter(Content body) {
    if (body == Content::kDeleteOptions) return Reference("parameters", kDeleteOptionsBody);
    if (body == Content::kPatch) return Reference("parameters", kPatchBody);
    return json::ObjectBuilder(arena_)
        .Set("in", "body")
        .Set("name", "body")
        .Set("required", true)
        .Set("schema", Ref(body))
        .Build();
  }

  Value Parameter(std::string_view in, std::string_view name) {
    const std::string_view reference = ReferenceOf(name);
    if (!v3_ && !reference.empty()) return Reference("parameters", reference);
    const auto is_in = [&](Names names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    const std::string_view type = is_in(kBooleans)   ? "boolean"
                                  : is_in(kIntegers) ? "integer"
                                                     : "string";
    json::ObjectBuilder parameter(arena_);
    parameter.Set("in", in).Set("name", name);
    if (in == "path") parameter.Set("required", true);
    if (!v3_) return parameter.Set("type", type).Set("uniqueItems", true).Build();
    return parameter
        .Set("schema",
             json::ObjectBuilder(arena_).Set("type", type).Set("uniqueItems", true).Build())
        .Build();
  }

  Value Texts(Names texts) {
    json::ArrayBuilder list(arena_);
    for (const std::string_view text : texts) list.Add(Value::StringView(text));
    return list.Build();
  }

  Value Reference(std::string_view section, std::string_view name) {
    return json::ObjectBuilder(arena_).Set("$ref", base::StrCat("#/", section, "/", name)).Build();
  }
  Value Ref(Content content) {
    return Reference(v3_ ? "components/schemas" : "definitions", NameOf(content));
  }

  Value Schemas(Content content, Names types) {
    const Value of_type = json::ObjectBuilder(arena_).Set("schema", Ref(content)).Build();
    json::ObjectBuilder by_type(arena_);
    for (const std::string_view type : types) by_type.Set(type, of_type);
    return by_type.Build();
  }

  std::string NameOf(Content content) const {
    const GroupVersionKind& kind = info_.kind;
    switch (content) {
      case Content::kList:
        return CustomDefinitionName({kind.group, kind.version, info_.list_kind}, taken_);
      case Content::kStatus:
        return base::StrCat(kMetaTypes, "Status");
      case Content::kPatch:
        return base::StrCat(kMetaTypes, "Patch");
      case Content::kDeleteOptions:
        return base::StrCat(kMetaTypes, "DeleteOptions");
      default:
        return subresource_ == "scale" ? std::string(kScale) : CustomDefinitionName(kind, taken_);
    }
  }

  json::Arena& arena_;
  const ResourceInfo& info_;
  const bool v3_;
  const Value taken_;
  std::string tag_;
  std::string group_name_;
  std::string_view subresource_;
};

}  // namespace

std::string CustomDefinitionName(const GroupVersionKind& kind, Value taken) {
  auto parts = base::Split(kind.group, '.');
  std::reverse(parts.begin(), parts.end());
  std::string name = base::StrCat(base::Join(parts, "."), ".", kind.version, ".", kind.kind);
  return taken.Has(name) ? name + "_v2" : name;
}

void AddCustomPaths(json::Arena& arena, const ResourceInfo& info, OpenApi version, Value taken,
                    json::ObjectBuilder& paths) {
  Paths(arena, info, version, taken).Add(paths);
}

}  // namespace portcullis::api::catalog
