// Expressions that select devices (k8s.io/dynamic-resource-allocation/cel).
#pragma once

#include <string>
#include <string_view>

namespace portcullis::registry {

// What is wrong with the expression: the detail of an Invalid error, or "". Any thread.
std::string CheckDeviceExpression(std::string_view expression);

}  // namespace portcullis::registry
