// SPDX-License-Identifier: Apache-2.0

// Networks in CIDR notation.
#include "base/gotext.h"
#include "base/strings.h"
#include "cel/library/costs.h"
#include "cel/program.h"
#include "kube_cel/libraries.h"
#include "kube_cel/library/costs.h"
#include "kube_cel/library/net.h"

namespace portcullis::kube_cel {
namespace {

constexpr std::string_view kParseError =
    "network address parse error during conversion from string: ";

}  // namespace

base::Result<golang::IpPrefix> ParseCidr(std::string_view text) {
  auto prefix = golang::ParseIpPrefix(text);
  if (!prefix.ok()) {
    return base::BadRequest(base::StrCat(kParseError, prefix.status().message()));
  }
  if (prefix->address.IsMapped()) {
    return base::BadRequest(
        base::StrCat("IPv4-mapped IPv6 address ", base::GoQuote(text), " is not allowed"));
  }
  return prefix;
}

cel::Value CidrValue::Equals(json::Arena&, cel::Value other) const {
  if (!other.is_object() || other.object()->type() != &kCidrType) return cel::NoSuchOverload();
  return cel::Value::Bool(static_cast<const CidrValue*>(other.object())->prefix_ == prefix_);
}

namespace {

using cel::CostScope;
using cel::EvalContext;
using cel::Style;
using cel::Value;

const golang::IpPrefix& Of(Value value) {
  return static_cast<const CidrValue*>(value.object())->prefix();
}

Value ParseFailure(EvalContext& context, const base::Status& status) {
  return context.Error(base::StrCat(kParseError, status.message()));
}

Value Make(EvalContext& context, std::span<const Value> args) {
  auto prefix = ParseCidr(args[0].text());
  if (!prefix.ok()) return ParseFailure(context, prefix.status());
  return Value::FromObject(cel::New<CidrValue>(context.arena(), *std::move(prefix)));
}

Value IsCidr(EvalContext&, std::span<const Value> args) {
  return Value::Bool(ParseCidr(args[0].text()).ok());
}

Value ContainsIp(EvalContext&, std::span<const Value> args) {
  return Value::Bool(Of(args[0]).Contains(static_cast<const IpValue*>(args[1].object())->ip()));
}

Value ContainsIpText(EvalContext&, std::span<const Value> args) {
  const auto ip = ParseIp(args[1].text());
  if (!ip.ok()) return cel::NoSuchOverload();  // as in Kubernetes, the reason is lost
  return Value::Bool(Of(args[0]).Contains(*ip));
}

Value ContainsCidr(EvalContext&, std::span<const Value> args) {
  return Value::Bool(Of(args[0]).Contains(Of(args[1])));
}

Value ContainsCidrText(EvalContext& context, std::span<const Value> args) {
  const auto prefix = ParseCidr(args[1].text());
  if (!prefix.ok()) return ParseFailure(context, prefix.status());
  return Value::Bool(Of(args[0]).Contains(*prefix));
}

Value Ip(EvalContext& context, std::span<const Value> args) {
  return Value::FromObject(cel::New<IpValue>(context.arena(), Of(args[0]).address));
}

Value Masked(EvalContext& context, std::span<const Value> args) {
  return Value::FromObject(cel::New<CidrValue>(context.arena(), Of(args[0]).Masked()));
}

Value PrefixLength(EvalContext&, std::span<const Value> args) {
  return Value::Int(Of(args[0]).length);
}

Value ToText(EvalContext& context, std::span<const Value> args) {
  return args[0].object()->ToStringValue(context.arena());
}

std::uint64_t ArgumentCost(std::span<const Value> args) {
  return args[1].is_string() ? cel::ScaledCost(cel::CostSize(args[1]), 0.1) : 0;
}

std::uint64_t SizeOf(Value value) {
  return value.is_object() ? value.object()->CostSize() : cel::CostSize(value);
}

std::uint64_t ContainsIpCost(std::span<const Value> args, Value) {
  return cel::ScaledCost(SizeOf(args[0]) * 2, 0.1) + ArgumentCost(args);
}

std::uint64_t ContainsCidrCost(std::span<const Value> args, Value) {
  const std::uint64_t size = SizeOf(args[0]);
  return cel::ScaledCost(size * 2, 0.1) + cel::ScaledCost(size, 0.1) + 1 + ArgumentCost(args);
}

std::optional<cel::CallEstimate> EstimateContainsIp(
    std::span<const cel::EstimatedArgument* const> args) {
  cel::Range cost = cel::ScaleByFactor(cel::Range{8, 32}, 0.1);
  if (args.size() > 1 && args[1]->type()->kind == cel::TypeKind::kString) {
    cost = cost + cel::ScaleByFactor(args[1]->size(), 0.1);
  }
  return cel::CallEstimate{cost, std::nullopt};
}

std::optional<cel::CallEstimate> EstimateContainsCidr(
    std::span<const cel::EstimatedArgument* const> args) {
  auto estimate = EstimateContainsIp(args);
  estimate->cost = estimate->cost + cel::ScaleByFactor(cel::Range{4, 16}, 0.1) + cel::Range{1, 1};
  return estimate;
}

constexpr cel::Function kFunctions[] = {
    {.name = "cidr",
     .id = "string_to_cidr",
     .signature = "(string) -> net.CIDR",
     .impl = &Make,
     .cost = &TextCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateRead,
     .since = 30,
     .doc = "A network; bits behind the prefix are allowed.",
     .example = "cidr('10.0.0.0/8') == cidr('10.0.0.0/8')"},
    {.name = "isCIDR",
     .id = "is_cidr_string",
     .signature = "(string) -> bool",
     .impl = &IsCidr,
     .cost = &TextCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateRead,
     .since = 30,
     .doc = "Would cidr() accept the text?",
     .example = "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33')"},
    {.name = "containsIP",
     .id = "cidr_contains_ip_string",
     .style = Style::kMember,
     .signature = "(net.CIDR, string) -> bool",
     .impl = &ContainsIpText,
     .cost = &ContainsIpCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateContainsIp,
     .since = 30,
     .doc = "Is the address in the network?",
     .example = "cidr('10.0.0.0/8').containsIP('10.1.2.3')"},
    {.name = "containsIP",
     .id = "cidr_contains_ip_ip",
     .style = Style::kMember,
     .signature = "(net.CIDR, net.IP) -> bool",
     .impl = &ContainsIp,
     .cost = &ContainsIpCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateContainsIp,
     .since = 30,
     .doc = "Is the address in the network?",
     .example = "cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))"},
    {.name = "containsCIDR",
     .id = "cidr_contains_cidr_string",
     .style = Style::kMember,
     .signature = "(net.CIDR, string) -> bool",
     .impl = &ContainsCidrText,
     .cost = &ContainsCidrCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateContainsCidr,
     .since = 30,
     .doc = "Is the whole other network in this one?",
     .example = "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')"},
    {.name = "containsCIDR",
     .id = "cidr_contains_cidr",
     .style = Style::kMember,
     .signature = "(net.CIDR, net.CIDR) -> bool",
     .impl = &ContainsCidr,
     .cost = &ContainsCidrCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateContainsCidr,
     .since = 30,
     .doc = "Is the whole other network in this one?",
     .example = "cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))"},
    {.name = "ip",
     .id = "cidr_ip",
     .style = Style::kMember,
     .signature = "(net.CIDR) -> net.IP",
     .impl = &Ip,
     .since = 30,
     .doc = "The address as written.",
     .example = "cidr('10.1.2.3/8').ip() == ip('10.1.2.3')"},
    {.name = "masked",
     .id = "cidr_masked",
     .style = Style::kMember,
     .signature = "(net.CIDR) -> net.CIDR",
     .impl = &Masked,
     .since = 30,
     .doc = "The network without bits behind the prefix.",
     .example = "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')"},
    {.name = "prefixLength",
     .id = "cidr_prefix_length",
     .style = Style::kMember,
     .signature = "(net.CIDR) -> int",
     .impl = &PrefixLength,
     .since = 30,
     .doc = "Bits of the prefix.",
     .example = "cidr('10.0.0.0/8').prefixLength() == 8"},
    {.name = "string",
     .id = "cidr_to_string",
     .signature = "(net.CIDR) -> string",
     .impl = &ToText,
     .since = 30,
     .doc = "The network in CIDR notation.",
     .example = "string(cidr('10.0.0.0/8')) == '10.0.0.0/8'"},
};

constexpr cel::NamedType kTypes[] = {{"net.CIDR", &kCidrType}};

}  // namespace

constinit const cel::Library kCidrLibrary = {
    .name = "kubernetes.net.cidr", .functions = kFunctions, .types = kTypes};

}  // namespace portcullis::kube_cel
