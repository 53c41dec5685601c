// SPDX-License-Identifier: Apache-2.0

// The metrics that every request adds to, found by one search instead of one for each family.
// Thread-safe; what it gives lives as long as the registry.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "metrics/metrics.h"

namespace portcullis::metrics {

struct RequestLabels {
  std::string_view verb;
  std::string_view dry_run;
  std::string_view group;
  std::string_view version;
  std::string_view resource;
  std::string_view subresource;
  std::string_view scope;
  std::string_view component;
  std::string_view code;
};

struct RequestSeries {
  Counter* requests = nullptr;
  Histogram* duration = nullptr;
  Histogram* slo_duration = nullptr;    // null: of a dry run
  Histogram* response_sizes = nullptr;  // of GET, LIST and WATCH; else null
  Histogram* body_sizes = nullptr;      // of verbs with a body; else null
  // Of lists that succeed; else null.
  Counter* lists = nullptr;
  Counter* fetched = nullptr;
  Counter* returned = nullptr;
};

// The families that the series are of.
struct RequestFamilies {
  Family<Counter>& requests;
  Family<Histogram>& duration;
  Family<Histogram>& slo_duration;
  Family<Histogram>& response_sizes;
  Family<Histogram>& body_sizes;
  Family<Counter>& lists;
  Family<Counter>& fetched;
  Family<Counter>& returned;
};

class RequestSeriesIndex {
 public:
  explicit RequestSeriesIndex(RequestFamilies families) : families_(families) {}

  RequestSeries Of(const RequestLabels& labels);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const {
      return std::hash<std::string_view>()(key);
    }
  };

  RequestSeries Make(const RequestLabels& labels) const;

  const RequestFamilies families_;
  base::SharedMutex mutex_;
  std::unordered_map<std::string, RequestSeries, Hash, std::equal_to<>> series_
      PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::metrics
