// SPDX-License-Identifier: Apache-2.0

// Any text held against every named format, and as the format string and the values of format():
// an answer or an error, and the strict formats imply the lax ones.
#include "kube_cel_text.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const portcullis::fuzz::TextExpression kNamed(
      "['dns1123Label', 'dns1123Subdomain', 'dns1035Label', 'qualifiedName', 'dns1123LabelPrefix', "
      "'dns1123SubdomainPrefix', 'dns1035LabelPrefix', 'labelValue', 'uri', 'uuid', 'byte', "
      "'date', "
      "'datetime'].all(f, format.named(f).value().validate(object).orValue(['x']).size() > 0) && "
      "(format.dns1123Label().validate(object).hasValue() || "
      "!format.dns1123Subdomain().validate(object).hasValue()) && "
      "(format.dns1035Label().validate(object).hasValue() || "
      "!format.dns1123Label().validate(object).hasValue()) && "
      "!format.named(object).hasValue() == !(object in ['dns1123Label', 'dns1123Subdomain', "
      "'dns1035Label', 'qualifiedName', 'dns1123LabelPrefix', 'dns1123SubdomainPrefix', "
      "'dns1035LabelPrefix', 'labelValue', 'uri', 'uuid', 'byte', 'date', 'datetime'])");
  static const portcullis::fuzz::TextExpression kStrings(
      "[object.format([object, 3, -2.5, true, {'a': [1u, null]}, b'x', 9]).size() >= 0, "
      "object.format([1.5, 2.5, 3.5, 4.5]).size() >= 0, object.format([7, 8u, 9]).size() >= 0, "
      "object.format(['NaN', 'Infinity']).size() >= 0, '%s'.format([object]) == object]"
      ".exists(x, x)");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kNamed.Check(text, /*may_fail=*/true);
  kStrings.Check(text, /*may_fail=*/true);
  return 0;
}
