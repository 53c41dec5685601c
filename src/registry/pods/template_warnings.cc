// SPDX-License-Identifier: Apache-2.0

#include "registry/pods/template_warnings.h"

#include "api/field_path.h"
#include "api/selector/label_selector.h"
#include "api/view/pod.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "registry/pods/pod_warnings.h"

namespace portcullis::registry {

void WarnOfPodName(const Context& ctx, json::Value object, std::vector<std::string>& warnings) {
  const std::string_view name = object["metadata"]["name"].AsString();
  const auto wrong = api::IsDns1123Label(name);
  if (wrong.empty()) return;
  const bool pod = ctx.kind.kind == "Pod";
  warnings.push_back(base::StrCat(
      "metadata.name: this is used in ", pod ? "the Pod's hostname" : "Pod names and hostnames",
      ", which can result in surprising behavior; a DNS label is recommended: ",
      base::GoList(wrong)));
}

void WarnOfTemplate(const Context& ctx, json::Value object, json::Value old,
                    std::vector<std::string>& warnings) {
  if (old.is_null()) WarnOfPodName(ctx, object, warnings);
  WarnOfTemplateOnly(ctx, object, old, warnings);
}

void WarnOfTemplateOnly(const Context& ctx, json::Value object, json::Value old,
                        std::vector<std::string>& warnings) {
  const bool creates = old.is_null();
  api::FieldPath path;
  for (std::string_view step : api::view::PodTemplatePath(ctx.kind.group_kind())) {
    path = path.empty() ? api::FieldPath(step) : path.Child(step);
  }
  const json::Value pod = api::view::PodTemplateOf(ctx.kind.group_kind(), object);
  // A spec that stays as it was has been warned of before.
  const bool by_template = ctx.kind.kind == "DaemonSet";
  const bool changed = by_template
                           ? !(pod == api::view::PodTemplateOf(ctx.kind.group_kind(), old))
                           : !(object["metadata"]["generation"] == old["metadata"]["generation"]);
  if (creates || changed) PodWarnings(pod["metadata"], pod["spec"], path, warnings);
}

}  // namespace portcullis::registry
