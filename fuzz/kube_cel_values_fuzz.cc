// Texts of users that the libraries read: quantities, URLs, addresses, networks, versions, named
// formats. What is accepted can be written and read again.
#include <cstdlib>
#include <string>
#include <string_view>

#include "kube_cel/compiler.h"
#include "kube_cel/evaluation.h"
#include "kube_cel/go_url.h"
#include "kube_cel/ip_address.h"
#include "kube_cel/semver.h"

namespace kube_cel = portcullis::kube_cel;

namespace {

// Every reader of texts at once; none may end in anything but a value or an error.
constexpr std::string_view kExpression =
    "[isURL(object), isIP(object), isCIDR(object), isQuantity(object), isSemver(object), "
    "isSemver(object, true)].exists(x, x) || ['dns1123Label', 'dns1123Subdomain', 'dns1035Label', "
    "'qualifiedName', 'dns1123LabelPrefix', 'labelValue', 'uri', 'uuid', 'byte', 'date', "
    "'datetime'].exists(f, !format.named(f).value().validate(object).hasValue())";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static kube_cel::Compiler compiler;
  static const auto expression = compiler.Compile({}, kExpression, kube_cel::Expected::kBool);
  if (!expression->ok()) std::abort();
  const std::string text(reinterpret_cast<const char*>(data), size);

  if (const auto ip = kube_cel::ParseIpAddress(text); ip.ok()) {
    const auto again = kube_cel::ParseIpAddress(ip->ToString());
    if (!again.ok() || !(*again == *ip)) std::abort();
  }
  if (const auto prefix = kube_cel::ParseIpPrefix(text); prefix.ok()) {
    if (!prefix->Contains(prefix->address) || !prefix->Masked().Contains(*prefix)) std::abort();
  }
  if (const auto version = kube_cel::ParseSemver(text); version.ok()) {
    if (!(*version == *version) || !kube_cel::ParseSemverNormalized(text).ok()) std::abort();
  }
  if (const auto uri = kube_cel::ParseRequestUri(text); uri.ok()) {
    (void)uri->Hostname();
    (void)uri->Port();
    (void)uri->Query();
  }

  portcullis::json::Arena arena;
  kube_cel::Inputs inputs;
  inputs.Set(kube_cel::Input::kObject, portcullis::cel::MakeString(arena, text));
  kube_cel::Evaluation evaluation(arena, inputs);
  kube_cel::Budget budget(kube_cel::kPolicyBudget);
  const kube_cel::Evaluated result = evaluation.Evaluate(*expression, budget);
  if (result.ok() && !result.value.is_bool()) std::abort();
  return 0;
}
