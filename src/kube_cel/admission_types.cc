// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/admission_types.h"

#include <map>

#include "base/mutex.h"

namespace portcullis::kube_cel {
namespace {

struct FieldRow {
  std::string_view owner;
  std::string_view field;
  std::string_view type;
};

constexpr std::string_view kStrings = "list(string)";
constexpr std::string_view kStringMap = "map(string, string)";

constexpr FieldRow kRows[] = {
    {"kubernetes.AdmissionRequest", "kind", "#kubernetes.GroupVersionKind"},
    {"kubernetes.AdmissionRequest", "resource", "#kubernetes.GroupVersionResource"},
    {"kubernetes.AdmissionRequest", "subResource", "string"},
    {"kubernetes.AdmissionRequest", "requestKind", "#kubernetes.GroupVersionKind"},
    {"kubernetes.AdmissionRequest", "requestResource", "#kubernetes.GroupVersionResource"},
    {"kubernetes.AdmissionRequest", "requestSubResource", "string"},
    {"kubernetes.AdmissionRequest", "name", "string"},
    {"kubernetes.AdmissionRequest", "namespace", "string"},
    {"kubernetes.AdmissionRequest", "operation", "string"},
    {"kubernetes.AdmissionRequest", "userInfo", "#kubernetes.UserInfo"},
    {"kubernetes.AdmissionRequest", "dryRun", "bool"},
    {"kubernetes.AdmissionRequest", "options", "dyn"},
    {"kubernetes.GroupVersionKind", "group", "string"},
    {"kubernetes.GroupVersionKind", "version", "string"},
    {"kubernetes.GroupVersionKind", "kind", "string"},
    {"kubernetes.GroupVersionResource", "group", "string"},
    {"kubernetes.GroupVersionResource", "version", "string"},
    {"kubernetes.GroupVersionResource", "resource", "string"},
    {"kubernetes.UserInfo", "username", "string"},
    {"kubernetes.UserInfo", "uid", "string"},
    {"kubernetes.UserInfo", "groups", kStrings},
    {"kubernetes.UserInfo", "extra", "map(string, list(string))"},
    {"kubernetes.Namespace", "metadata", "#kubernetes.NamespaceMetadata"},
    {"kubernetes.Namespace", "spec", "#kubernetes.NamespaceSpec"},
    {"kubernetes.Namespace", "status", "#kubernetes.NamespaceStatus"},
    {"kubernetes.NamespaceMetadata", "name", "string"},
    {"kubernetes.NamespaceMetadata", "generateName", "string"},
    {"kubernetes.NamespaceMetadata", "namespace", "string"},
    {"kubernetes.NamespaceMetadata", "labels", kStringMap},
    {"kubernetes.NamespaceMetadata", "annotations", kStringMap},
    {"kubernetes.NamespaceMetadata", "UID", "string"},
    {"kubernetes.NamespaceMetadata", "creationTimestamp", "timestamp"},
    {"kubernetes.NamespaceMetadata", "deletionGracePeriodSeconds", "int"},
    {"kubernetes.NamespaceMetadata", "deletionTimestamp", "timestamp"},
    {"kubernetes.NamespaceMetadata", "generation", "int"},
    {"kubernetes.NamespaceMetadata", "resourceVersion", "string"},
    {"kubernetes.NamespaceMetadata", "finalizers", kStrings},
    {"kubernetes.NamespaceSpec", "finalizers", kStrings},
    {"kubernetes.NamespaceStatus", "conditions", "list(#kubernetes.NamespaceCondition)"},
    {"kubernetes.NamespaceStatus", "phase", "string"},
    {"kubernetes.NamespaceCondition", "status", "string"},
    {"kubernetes.NamespaceCondition", "type", "string"},
    {"kubernetes.NamespaceCondition", "lastTransitionTime", "timestamp"},
    {"kubernetes.NamespaceCondition", "message", "string"},
    {"kubernetes.NamespaceCondition", "reason", "string"},
    {"JSONPatch", "op", "string"},
    {"JSONPatch", "path", "string"},
    {"JSONPatch", "from", "string"},
    {"JSONPatch", "value", "dyn"},
};

bool IsObjectType(std::string_view name) { return name == "Object" || name.starts_with("Object."); }

class AdmissionTypes final : public cel::TypeProvider {
 public:
  AdmissionTypes(const Scope& scope, const cel::TypeProvider* base)
      : base_(base), mutation_(scope.mutation), variables_(scope.variable_types) {
    if (base_ != nullptr) return;
    for (const FieldRow& row : kRows) Add(row.owner, row.field, row.type);
  }

  const cel::Type* FindStruct(std::string_view name) const override {
    if (base_ != nullptr) return base_->FindStruct(name);
    if (!mutation_) return nullptr;
    if (name == "JSONPatch") return &kPatch;
    if (!IsObjectType(name)) return nullptr;
    const base::MutexLock lock(mutex_);
    auto& type = objects_[std::string(name)];
    if (type == nullptr) type = cel::MakeStructType(object_arena_, name);
    return type;
  }

  const cel::Type* FindField(const cel::Type& type, std::string_view field) const override {
    if (type.name == kVariables) return TypeOf(variables_.Find(field));
    if (base_ != nullptr) return base_->FindField(type, field);
    if (IsObjectType(type.name)) return &cel::kDynType;
    const auto fields = structs_.find(type.name);
    if (fields == structs_.end()) return nullptr;
    const auto found = fields->second.find(field);
    if (found != fields->second.end()) return found->second;
    // Kubernetes knows every field of a patch, unknown ones with a type without name.
    return type.name == "JSONPatch" ? &kNoType : nullptr;
  }

 private:
  static constexpr std::string_view kVariables = "kubernetes.variables";
  static constexpr cel::Type kNoType{cel::TypeKind::kOpaque, "", {}};
  static constexpr cel::Type kPatch{cel::TypeKind::kStruct, "JSONPatch", {}};

  void Add(std::string_view owner, std::string_view field, std::string_view text) {
    const auto type = cel::ParseType(arena_, text);
    structs_[std::string(owner)][std::string(field)] = type.ok() ? *type : &cel::kDynType;
  }

  const cel::Type* TypeOf(const VariableType* variable) const {
    if (variable == nullptr) return nullptr;
    const base::MutexLock lock(mutex_);
    const cel::Type*& known = variable_types_[variable];
    if (known == nullptr) {
      const auto type = cel::ParseType(object_arena_, variable->type);
      known = type.ok() ? *type : &cel::kDynType;
    }
    return known;
  }

  const cel::TypeProvider* const base_;
  const bool mutation_;
  const VariableTypes variables_;
  json::Arena arena_;
  std::map<std::string, std::map<std::string, const cel::Type*, std::less<>>, std::less<>> structs_;
  // Types of constructed objects and of variables, made when an expression names them.
  mutable base::Mutex mutex_;
  mutable json::Arena object_arena_ PC_GUARDED_BY(mutex_);
  mutable std::map<std::string, const cel::Type*> objects_ PC_GUARDED_BY(mutex_);
  mutable std::map<const VariableType*, const cel::Type*> variable_types_ PC_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<const cel::TypeProvider> MakeAdmissionTypes(const Scope& scope,
                                                            const cel::TypeProvider* base) {
  return std::make_shared<AdmissionTypes>(scope, base);
}

}  // namespace portcullis::kube_cel
