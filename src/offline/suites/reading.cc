// SPDX-License-Identifier: Apache-2.0

#include "offline/suites/reading.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "offline/pattern.h"

namespace portcullis::offline {
namespace {

constexpr std::string_view kGroup = "admissionregistration.k8s.io";

// "ValidatingAdmissionPolicyBinding" of "ValidatingAdmissionPolicy".
bool Binds(const Manifest& binding, const Manifest& policy) {
  return IsBinding(binding) && binding.kind.starts_with(policy.kind) &&
         binding.object["spec"]["policyName"].AsString() == policy.name;
}

// Policies of old test files are in versions that are no longer served; their fields are those of v1.
Manifest InCurrentVersion(Suite& suite, const Manifest& rule) {
  constexpr std::string_view kVersion = "admissionregistration.k8s.io/v1";
  if (rule.api_version == kVersion) return rule;
  suite.notes.push_back(base::StrCat(rule.kind, " ", rule.name, " is written in ", rule.api_version,
                                     " and read as ", kVersion));
  return MakeManifest(
      rule, suite.arena,
      json::With(*suite.arena, rule.object, "apiVersion", json::String(*suite.arena, kVersion)));
}

}  // namespace

Steps Below(Steps steps, std::string_view name) {
  steps.emplace_back(name);
  return steps;
}

Steps Below(Steps steps, std::size_t index) {
  steps.push_back(std::to_string(index));
  return steps;
}

base::Status Reading::Wrong(const Steps& steps, std::string_view what) const {
  wrong_ = document_.Find(steps);
  return base::ConfigError(std::string(what));
}

base::Status Reading::CheckNames(json::Value object, const Steps& steps,
                                 std::initializer_list<std::string_view> known) const {
  for (const json::Member& member : object.members()) {
    if (std::find(known.begin(), known.end(), member.name()) != known.end()) continue;
    const std::string_view near =
        base::Nearest(member.name(), std::span(known.begin(), known.size()));
    return Wrong(Below(steps, member.name()),
                 base::StrCat("unknown field \"", member.name(), "\"",
                              near.empty() ? "" : base::StrCat(" (did you mean ", near, "?)")));
  }
  return base::OkStatus();
}

base::Status Reading::CheckText(json::Value value, const Steps& steps) const {
  if (value.is_string() && !value.AsString().empty()) return base::OkStatus();
  return Wrong(steps, base::StrCat(steps.empty() ? "the document" : steps.back(),
                                   " has to be a text that is not empty"));
}

base::Status Reading::CheckPattern(json::Value value, const Steps& steps) const {
  const auto pattern = Pattern::Read(value.AsString());
  return pattern.ok() ? base::OkStatus() : Wrong(steps, pattern.status().message());
}

base::Result<std::string> Reading::Path(json::Value path, const Steps& steps) const {
  TRY(CheckText(path, steps));
  const std::string_view text = path.AsString();
  if (text.find("://") != std::string_view::npos) {
    return Wrong(steps, "an address, not a file: nothing is fetched");
  }
  return base::ResolvePath(base::FolderOf(document_.source->path()), std::string(text));
}

base::Result<Inputs> Reading::Files(json::Value paths, const Steps& steps) const {
  if (!paths.is_null() && !paths.is_array()) return Wrong(steps, "has to be a list of paths");
  InputOptions options;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    options.paths.push_back(TRY(Path(paths[i], Below(steps, i))));
  }
  return files_.Read(options);
}

base::Result<Inputs> Reading::File(json::Value path, const Steps& steps) const {
  InputOptions options;
  options.paths.push_back(TRY(Path(path, steps)));
  return files_.Read(options);
}

Case Reading::NewCase(std::string name, const Steps& steps) const {
  Case one;
  one.name = std::move(name);
  one.place = document_.Find(steps);
  one.expect_place = one.place;
  one.review.manifest = document_;
  one.review.manifest.steps = steps;
  return one;
}

void SetRequest(Case& one, const Manifest* object, const Manifest* old) {
  Review& review = one.review;
  review.operation = object == nullptr ? "DELETE" : old == nullptr ? "CREATE" : "UPDATE";
  const Manifest& shown = object == nullptr ? *old : *object;
  review.manifest = shown;
  if (object != nullptr) {
    review.object = object->object;
    one.arenas.push_back(object->arena);
  }
  if (old != nullptr) {
    review.old_object = old->object;
    one.arenas.push_back(old->arena);
  }
  review.name = shown.name;
  review.ns = shown.ns.empty() ? "default" : shown.ns;
}

bool IsPolicy(const Manifest& manifest) {
  return manifest.group() == kGroup && manifest.kind.ends_with("AdmissionPolicy");
}

bool IsBinding(const Manifest& manifest) {
  return manifest.group() == kGroup && manifest.kind.ends_with("AdmissionPolicyBinding");
}

json::Value MakeBinding(json::Arena& arena, const Manifest& policy, json::Value param_ref) {
  json::ObjectBuilder spec(arena);
  spec.Set("policyName", policy.name);
  if (policy.kind.starts_with("Validating")) {
    spec.Set("validationActions", json::ArrayBuilder(arena).Add(std::string_view("Deny")).Build());
  }
  if (param_ref.is_object()) spec.Set("paramRef", param_ref);
  return json::ObjectBuilder(arena)
      .Set("apiVersion", policy.api_version)
      .Set("kind", base::StrCat(policy.kind, "Binding"))
      .Set("metadata", json::ObjectBuilder(arena).Set("name", policy.name).Build())
      .Set("spec", spec.Build())
      .Build();
}

void GivePolicy(Suite& suite, const Manifest& policy, std::span<const Manifest> manifests,
                json::Value param_ref) {
  suite.inputs.given.push_back(InCurrentVersion(suite, policy));
  bool bound = false;
  for (const Manifest& manifest : manifests) {
    if (!Binds(manifest, policy)) continue;
    bound = true;
    suite.inputs.given.push_back(InCurrentVersion(suite, manifest));
  }
  if (bound) return;
  const Manifest made =
      MakeManifest(policy, suite.arena, MakeBinding(*suite.arena, policy, param_ref));
  suite.inputs.given.push_back(InCurrentVersion(suite, made));
}

json::Value MakeNamespace(json::Arena& arena, std::string_view name, json::Value labels) {
  json::ObjectBuilder metadata(arena);
  metadata.Set("name", name);
  if (labels.is_object()) metadata.Set("labels", labels);
  return json::ObjectBuilder(arena)
      .Set("apiVersion", "v1")
      .Set("kind", "Namespace")
      .Set("metadata", metadata.Build())
      .Build();
}

json::Value SetAt(json::Arena& arena, json::Value at, std::span<const std::string> path,
                  json::Value value) {
  if (path.empty()) return value;
  const std::string_view step = arena.Copy(path.front());
  const std::span<const std::string> rest = path.subspan(1);
  const auto index = base::ParseInt(step);
  if (index && *index >= 0 && (at.is_array() || at.is_null())) {
    const auto position = static_cast<std::size_t>(*index);
    const json::Value element = SetAt(arena, at[position], rest, value);
    if (at.is_null()) return json::MakeArray(arena, {element});
    return position < at.size() ? json::WithElement(arena, at, position, element)
                                : json::Append(arena, at, element);
  }
  if (rest.empty() && value.is_null()) return json::Without(arena, at, step);
  return json::With(arena, at, step, SetAt(arena, at[step], rest, value));
}

}  // namespace portcullis::offline
