#include "policy/cel_policy/binding_matcher.h"

#include "admission/object_conversion.h"
#include "base/strings.h"

namespace portcullis::policy {

void BindingMatcher::Report(const OnError& on_error, const Policy& policy, const Binding* binding,
                            std::string_view message) {
  if (policy.ignore_failures) return;
  if (!policy.unknown_failure_policy.empty()) {
    on_error({&policy, binding,
              base::StrCat("unrecognized failure policy: '", policy.unknown_failure_policy, "'")});
    return;
  }
  on_error({&policy, binding,
            base::StrCat("failed to configure ", binding == nullptr ? "policy" : "binding", ": ",
                         message)});
}

base::Status BindingMatcher::ForEach(const PolicySet& policies, const OnMatch& on_match,
                                     const OnError& on_error) {
  const auto hits = policies.index->Find(inputs_.request(), [&] { return matcher_.equivalents(); });
  for (const admission::match::Hit& hit : hits) {
    TRY(VisitPolicy(policies.policies[hit.target], hit, on_match, on_error));
  }
  return base::OkStatus();
}

base::Status BindingMatcher::VisitPolicy(const ActivePolicy& active,
                                         const admission::match::Hit& hit, const OnMatch& on_match,
                                         const OnError& on_error) {
  const Policy& policy = *active.policy;
  const auto selected = matcher_.SelectorsMatch(policy.constraints);
  if (!selected.ok()) {
    Report(on_error, policy, nullptr, selected.status().message());
    return base::OkStatus();
  }
  if (!*selected) return base::OkStatus();
  PolicyMatch match;
  match.policy = &policy;
  match.resource = matcher_.Equivalent(hit.equivalent);
  match.kind = inputs_.request().kind();
  if (hit.equivalent >= 0) {
    match.kind = services_.objects->KindFor(match.resource, inputs_.request().subresource());
    if (match.kind.empty()) {
      Report(on_error, policy, nullptr,
             base::StrCat("unable to convert to ", match.resource.ToString(), ": unknown kind"));
      return base::OkStatus();
    }
  }
  std::optional<ParamSource> source;
  if (policy.param_kind) {
    auto found = FindParamSource(services_.objects, *policy.param_kind);
    if (!found.ok()) {
      Report(on_error, policy, nullptr, found.status().message());
      return base::OkStatus();
    }
    source = *std::move(found);
  }
  static const Param kNone{};
  std::vector<Param> found;
  for (const auto& binding : *active.bindings) {
    if (binding->resources) {
      const auto met = matcher_.Matches(*binding->resources);
      if (!met.ok()) {
        Report(on_error, policy, binding.get(), met.status().message());
        continue;
      }
      if (!met->matches) continue;
    }
    BoundPolicy bound;
    bound.binding = binding.get();
    if (source && binding->param_ref) {
      auto params = CollectParams(*source, *binding->param_ref, inputs_.request(), services_.reader,
                                  services_.objects, keep_param_type_);
      if (!params.ok()) {
        Report(on_error, policy, binding.get(), params.status().message());
        continue;
      }
      found = *std::move(params);
      bound.params = found;
    } else {
      bound.params = std::span<const Param>(&kNone, 1);
    }
    TRY(on_match(match, bound));
  }
  return base::OkStatus();
}

base::Result<const Matched*> MatchedObjects::As(const api::GroupVersionKind& kind,
                                                const api::GroupVersionResource& resource) {
  for (const Matched& matched : known_) {
    if (matched.kind == kind && matched.resource == resource) return &matched;
  }
  Matched matched{kind, resource, request_.object(), request_.old_object()};
  if (kind != request_.kind() && objects_ != nullptr) {
    for (json::Value* object : {&matched.object, &matched.old_object}) {
      if (object->is_null()) continue;
      auto converted = admission::ConvertFor(request_, *objects_, *object, kind);
      if (!converted.ok()) {
        return base::Invalid(
            base::StrCat("failed to convert object version: ", converted.status().message()));
      }
      *object = *converted;
    }
  }
  known_.push_back(std::move(matched));
  return &known_.back();
}

}  // namespace portcullis::policy
