// SPDX-License-Identifier: Apache-2.0

// The default among storage classes or ingress classes: marked by annotation, the newest wins.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "store/store.h"

namespace portcullis::plugins::common {

// The name of the class that one of `annotations` marks with exactly "true"; of several the one
// created last, of those the alphabetically first. "" if there is none.
std::string DefaultClass(const store::Reader* reader, std::string_view group,
                         std::string_view resource,
                         std::initializer_list<std::string_view> annotations);

}  // namespace portcullis::plugins::common
