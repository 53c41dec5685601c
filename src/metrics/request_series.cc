// SPDX-License-Identifier: Apache-2.0

#include "metrics/request_series.h"

namespace portcullis::metrics {
namespace {

constexpr std::string_view kComponent = "apiserver";
constexpr char kSeparator = '\0';  // of what comes from a request, only a path could have it

std::string KeyOf(const RequestLabels& labels) {
  std::string key;
  key.reserve(128);
  for (const std::string_view label :
       {labels.verb, labels.dry_run, labels.group, labels.version, labels.resource,
        labels.subresource, labels.scope, labels.code}) {
    key += label;
    key += kSeparator;
  }
  return key;
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
  const auto& [verb, dry_run, group, version, resource, subresource, scope, code] = labels;
  return {
      &requests_.With(
          {verb, dry_run, group, version, resource, subresource, scope, kComponent, code}),
      &duration_.With({verb, dry_run, group, version, resource, subresource, scope, kComponent}),
      &response_sizes_.With({verb, group, version, resource, subresource, scope, kComponent})};
}

}  // namespace portcullis::metrics
