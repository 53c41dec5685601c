// SPDX-License-Identifier: Apache-2.0

// IP addresses.
#include "base/gotext.h"
#include "base/strings.h"
#include "cel/library/costs.h"
#include "cel/program.h"
#include "kube_cel/libraries.h"
#include "kube_cel/library/costs.h"
#include "kube_cel/library/net.h"
#include "kube_cel/library/rows.h"

namespace portcullis::kube_cel {

base::Result<golang::IpAddress> ParseIp(std::string_view text) {
  auto ip = golang::ParseIpAddress(text);
  if (!ip.ok()) {
    return base::BadRequest(
        base::StrCat("IP Address ", base::GoQuote(text),
                     " parse error during conversion from string: ", ip.status().message()));
  }
  if (!ip->zone.empty()) {
    return base::BadRequest(
        base::StrCat("IP address ", base::GoQuote(text), " with zone value is not allowed"));
  }
  if (ip->IsMapped()) {
    return base::BadRequest(
        base::StrCat("IPv4-mapped IPv6 address ", base::GoQuote(text), " is not allowed"));
  }
  return ip;
}

cel::Value IpValue::Equals(json::Arena&, cel::Value other) const {
  if (!other.is_object() || other.object()->type() != &kIpType) return cel::NoSuchOverload();
  return cel::Value::Bool(static_cast<const IpValue*>(other.object())->ip_ == ip_);
}

namespace {

using cel::CostScope;
using cel::EvalContext;
using cel::Style;
using cel::Value;

const golang::IpAddress& Of(Value value) {
  return static_cast<const IpValue*>(value.object())->ip();
}

Value Make(EvalContext& context, std::span<const Value> args) {
  auto ip = ParseIp(args[0].text());
  if (!ip.ok()) return context.Error(ip.status().message());
  return Value::FromObject(cel::New<IpValue>(context.arena(), *std::move(ip)));
}

Value IsIp(EvalContext&, std::span<const Value> args) {
  return Value::Bool(ParseIp(args[0].text()).ok());
}

Value IsCanonical(EvalContext& context, std::span<const Value> args) {
  const auto ip = ParseIp(args[0].text());
  if (!ip.ok()) return context.Error(ip.status().message());
  return Value::Bool(ip->ToString() == args[0].text());
}

Value Family(EvalContext&, std::span<const Value> args) {
  return Value::Int(Of(args[0]).is_v6 ? 6 : 4);
}

template <bool (golang::IpAddress::*test)() const>
Value Test(EvalContext&, std::span<const Value> args) {
  return Value::Bool((Of(args[0]).*test)());
}

Value ToText(EvalContext& context, std::span<const Value> args) {
  return args[0].object()->ToStringValue(context.arena());
}

// ip(text) walks the text; cidr.ip() does not.
std::uint64_t IpCost(std::span<const Value> args, Value result) {
  return args[0].is_string() ? TextCost(args, result) : 1;
}

constexpr cel::Function Property(std::string_view name, std::string_view id, cel::FunctionImpl impl,
                                 std::string_view doc, std::string_view example) {
  return Since(30, Method(name, id, "(net.IP) -> bool", impl, doc, example));
}

constexpr cel::Function kFunctions[] = {
    {.name = "ip",
     .id = "string_to_ip",
     .signature = "(string) -> net.IP",
     .impl = &Make,
     .cost = &IpCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateRead,
     .since = 30,
     .doc = "An IPv4 or IPv6 address without zone.",
     .example = "ip('127.0.0.1') != ip('::1')"},
    {.name = "isIP",
     .id = "is_ip_string",
     .signature = "(string) -> bool",
     .impl = &IsIp,
     .cost = &TextCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateRead,
     .since = 30,
     .doc = "Would ip() accept the text?",
     .example = "isIP('::1') && !isIP('::ffff:1.2.3.4')"},
    {.name = "ip.isCanonical",
     .id = "ip_is_canonical",
     .signature = "(string) -> bool",
     .impl = &IsCanonical,
     .cost = &TwiceTextCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateReadTwice,
     .since = 30,
     .doc = "Is the text how the address is written normally?",
     .example = "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1')"},
    {.name = "family",
     .id = "ip_family",
     .style = Style::kMember,
     .signature = "(net.IP) -> int",
     .impl = &Family,
     .since = 30,
     .doc = "4 or 6.",
     .example = "ip('::1').family() == 6"},
    Property("isUnspecified", "ip_is_unspecified", &Test<&golang::IpAddress::IsUnspecified>,
             "Is it 0.0.0.0 or ::?", "ip('0.0.0.0').isUnspecified()"),
    Property("isLoopback", "ip_is_loopback", &Test<&golang::IpAddress::IsLoopback>,
             "Is it of this machine?", "ip('127.0.0.1').isLoopback()"),
    Property("isLinkLocalMulticast", "ip_is_link_local_multicast",
             &Test<&golang::IpAddress::IsLinkLocalMulticast>, "Is it of 224.0.0.0/24 or ff02::/16?",
             "ip('ff02::1').isLinkLocalMulticast()"),
    Property("isLinkLocalUnicast", "ip_is_link_local_unicast",
             &Test<&golang::IpAddress::IsLinkLocalUnicast>, "Is it of 169.254.0.0/16 or fe80::/10?",
             "ip('169.254.1.1').isLinkLocalUnicast()"),
    Property("isGlobalUnicast", "ip_is_global_unicast", &Test<&golang::IpAddress::IsGlobalUnicast>,
             "Is it none of the special ones? Private addresses are not special.",
             "ip('192.168.0.1').isGlobalUnicast()"),
    {.name = "string",
     .id = "ip_to_string",
     .signature = "(net.IP) -> string",
     .impl = &ToText,
     .since = 30,
     .doc = "The address as it is written normally.",
     .example = "string(ip('::0:1')) == '::1'"},
};

constexpr cel::NamedType kTypes[] = {{"net.IP", &kIpType}};

}  // namespace

constinit const cel::Library kIpLibrary = {
    .name = "kubernetes.net.ip", .functions = kFunctions, .types = kTypes};

}  // namespace portcullis::kube_cel
