// SPDX-License-Identifier: Apache-2.0

// The objects that the load consists of.
#pragma once

#include <string>
#include <string_view>

namespace portcullis::load {

// About 1 KB. `labels` are members of a JSON object.
std::string ConfigMapText(std::string_view name, std::string_view labels = R"("app":"load")");
// About 2 KB, with two containers.
std::string PodText(std::string_view name);
std::string NamespaceText(std::string_view name, std::string_view labels = "");

}  // namespace portcullis::load
