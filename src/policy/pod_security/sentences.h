// SPDX-License-Identifier: Apache-2.0

// Pieces of the sentences in which checks report: quoted lists, singular and plural, and who set a
// forbidden value.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "json/value.h"

namespace portcullis::policy::pod_security {

// Names in the order found; may repeat.
using Names = std::vector<std::string_view>;
// Values sorted, without repetition.
using Values = std::set<std::string, std::less<>>;

// "a", "b"
template <typename Range>
std::string JoinQuoted(const Range& items) {
  return base::StrCat("\"", base::Join(items, "\", \""), "\"");
}

inline std::string_view Plural(std::string_view one, std::string_view many, std::size_t count) {
  return count == 1 ? one : many;
}

// container "a" / containers "a", "b"
inline std::string ContainersText(const Names& containers) {
  return base::StrCat(Plural("container", "containers", containers.size()), " ",
                      JoinQuoted(containers));
}

// `pod and container "a"`: those of the two that set a forbidden value. Empty if neither did.
inline std::string SettersText(bool pod, const Names& containers) {
  std::string out = pod ? "pod" : "";
  if (containers.empty()) return out;
  if (pod) out += " and ";
  return out + ContainersText(containers);
}

// Calls visit(container) for init, app and ephemeral containers, in this order.
template <typename Visitor>
void VisitContainers(json::Value pod_spec, const Visitor& visit) {
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const json::Value& container : pod_spec[list].elements()) visit(container);
  }
}

inline bool IsWindows(json::Value pod_spec) {
  return pod_spec["os"]["name"].AsString() == "windows";
}

// True if the pod asks for a user namespace of its own: hostUsers present and false.
inline bool HasOwnUserNamespace(json::Value pod_spec) {
  return !pod_spec["hostUsers"].AsBool(true);
}

}  // namespace portcullis::policy::pod_security
