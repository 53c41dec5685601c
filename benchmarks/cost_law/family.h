// SPDX-License-Identifier: Apache-2.0

// A family is one kind of request that can be made as large as one likes. Families are data: one
// generator makes those of every list, map and text of every kind from the schemas of the catalog
// (generated.cc), the tables in named_*.cc add what no schema tells.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "subject.h"

namespace portcullis::cost_law {

// One size of a family. Only `measured` is measured; it must be repeatable (a dry run, or a read).
struct Sample {
  std::vector<Ask> before;  // makes what the request is about
  Ask measured;
  std::vector<std::string> after;  // paths of what is removed then, finalizers or not
};

struct Family {
  std::string name;  // "pods: spec.containers: create"
  std::function<Sample(std::size_t n)> make;
  std::size_t most = std::numeric_limits<std::size_t>::max();  // Kubernetes refuses more
  // Measured instead if what comes before is refused; may be empty.
  std::function<Sample(std::size_t n)> otherwise = {};
};

}  // namespace portcullis::cost_law
