// SPDX-License-Identifier: Apache-2.0

#include "metrics/request_series.h"

#include <utility>

namespace portcullis::metrics {
namespace {

constexpr char kSeparator = '\0';  // of what comes from a request, only a path could have it

std::string KeyOf(const RequestLabels& labels) {
  std::string key;
  key.reserve(128);
  for (const std::string_view label :
       {labels.verb, labels.dry_run, labels.group, labels.version, labels.resource,
        labels.subresource, labels.scope, labels.component, labels.code}) {
    key += label;
    key += kSeparator;
  }
  return key;
}

// What the verb is called where the sizes of bodies are counted; "" if it has none.
std::string_view BodyVerb(std::string_view verb) {
  constexpr std::pair<std::string_view, std::string_view> kVerbs[] = {{"POST", "create"},
                                                                      {"PUT", "update"},
                                                                      {"PATCH", "patch"},
                                                                      {"APPLY", "patch"},
                                                                      {"DELETE", "delete"}};
  for (const auto& [name, of_body] : kVerbs) {
    if (name == verb) return of_body;
  }
  return "";
}

}  // namespace

RequestSeries RequestSeriesIndex::Of(const RequestLabels& labels) {
  std::string key = KeyOf(labels);
  {
    const base::ReaderLock lock(mutex_);
    if (const auto found = series_.find(key); found != series_.end()) return found->second;
  }
  const RequestSeries series = Make(labels);
  const base::WriterLock lock(mutex_);
  return series_.try_emplace(std::move(key), series).first->second;
}

RequestSeries RequestSeriesIndex::Make(const RequestLabels& labels) const {
  const auto& [verb, dry_run, group, version, resource, subresource, scope, component, code] =
      labels;
  RequestSeries series;
  series.requests = &families_.requests.With(
      {verb, dry_run, group, version, resource, subresource, scope, component, code});
  series.duration = &families_.duration.With(
      {verb, dry_run, group, version, resource, subresource, scope, component});
  if (dry_run.empty()) {
    series.slo_duration = &families_.slo_duration.With(
        {verb, group, version, resource, subresource, scope, component});
  }
  if (verb == "GET" || verb == "LIST" || verb == "WATCH") {
    series.response_sizes = &families_.response_sizes.With(
        {verb, group, version, resource, subresource, scope, component});
  }
  if (verb == "LIST" && code == "200") {
    series.lists = &families_.lists.With({group, resource, ""});
    series.fetched = &families_.fetched.With({group, resource, ""});
    series.returned = &families_.returned.With({group, resource});
  }
  std::string_view body = BodyVerb(verb);
  if (body == "delete" && scope != "resource") body = "delete_collection";
  if (!body.empty() && !resource.empty()) {
    series.body_sizes = &families_.body_sizes.With({group, resource, body});
  }
  return series;
}

}  // namespace portcullis::metrics
