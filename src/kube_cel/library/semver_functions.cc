// Semantic versions.
#include "kube_cel/semver.h"

#include "cel/program.h"
#include "kube_cel/libraries.h"
#include "kube_cel/library/costs.h"
#include "kube_cel/opaque.h"

namespace portcullis::kube_cel {
namespace {

using cel::CostScope;
using cel::EvalContext;
using cel::Style;
using cel::Value;
using SemverValue = Opaque<Semver, kSemverType>;

const Semver& Of(Value value) { return *SemverValue::From(value); }

base::Result<Semver> Parse(std::span<const Value> args) {
  const bool normalize = args.size() > 1 && args[1].bool_value();
  return normalize ? ParseSemverNormalized(args[0].text()) : ParseSemver(args[0].text());
}

Value Make(EvalContext& context, std::span<const Value> args) {
  auto version = Parse(args);
  if (!version.ok()) return context.Error(version.status().message());
  return Value::FromObject(cel::New<SemverValue>(context.arena(), *std::move(version)));
}

Value IsSemver(EvalContext&, std::span<const Value> args) { return Value::Bool(Parse(args).ok()); }

template <std::uint64_t Semver::*member>
Value Number(EvalContext&, std::span<const Value> args) {
  return Value::Int(static_cast<std::int64_t>(Of(args[0]).*member));
}

Value IsGreaterThan(EvalContext&, std::span<const Value> args) {
  return Value::Bool(Of(args[0]) > Of(args[1]));
}
Value IsLessThan(EvalContext&, std::span<const Value> args) {
  return Value::Bool(Of(args[0]) < Of(args[1]));
}
Value CompareTo(EvalContext&, std::span<const Value> args) {
  const auto order = Of(args[0]) <=> Of(args[1]);
  return Value::Int(order < 0 ? -1 : order > 0 ? 1 : 0);
}

constexpr cel::Function Parser(std::string_view name, std::string_view id,
                               std::string_view signature, cel::FunctionImpl impl,
                               std::string_view doc, std::string_view example) {
  return {.name = name,
          .id = id,
          .signature = signature,
          .impl = impl,
          .cost = &TextCost,
          .cost_scope = CostScope::kFunction,
          .estimate = &EstimateRead,
          .since = 33,
          .doc = doc,
          .example = example};
}

constexpr cel::Function Method(std::string_view name, std::string_view id,
                               std::string_view signature, cel::FunctionImpl impl,
                               std::string_view doc, std::string_view example) {
  return {.name = name,
          .id = id,
          .style = Style::kMember,
          .signature = signature,
          .impl = impl,
          .since = 33,
          .doc = doc,
          .example = example};
}

constexpr std::string_view kToInt = "(kubernetes.Semver) -> int";
constexpr std::string_view kTwo = "(kubernetes.Semver, kubernetes.Semver) -> bool";

constexpr cel::Function kFunctions[] = {
    Parser("semver", "string_to_semver", "(string) -> kubernetes.Semver", &Make,
           "A version by the rules of SemVer 2.0.0.", "semver('1.2.3') == semver('1.2.3')"),
    Parser("semver", "string_bool_to_semver", "(string, bool) -> kubernetes.Semver", &Make,
           "With true: `v`, leading zeros and missing numbers are accepted.",
           "semver('v01.2', true) == semver('1.2.0')"),
    Parser("isSemver", "is_semver_string", "(string) -> bool", &IsSemver,
           "Would semver() accept the text?", "isSemver('1.2.3') && !isSemver('1.2')"),
    Parser("isSemver", "is_semver_string_bool", "(string, bool) -> bool", &IsSemver,
           "The same, with normalization.", "isSemver('v1.2', true)"),
    Method("major", "semver_major", kToInt, &Number<&Semver::major>, "The first number.",
           "semver('1.2.3').major() == 1"),
    Method("minor", "semver_minor", kToInt, &Number<&Semver::minor>, "The second number.",
           "semver('1.2.3').minor() == 2"),
    Method("patch", "semver_patch", kToInt, &Number<&Semver::patch>, "The third number.",
           "semver('1.2.3').patch() == 3"),
    Method("isGreaterThan", "semver_is_greater_than", kTwo, &IsGreaterThan, "Is it newer?",
           "semver('1.0.0').isGreaterThan(semver('1.0.0-rc.1'))"),
    Method("isLessThan", "semver_is_less_than", kTwo, &IsLessThan, "Is it older?",
           "semver('1.9.0').isLessThan(semver('1.10.0'))"),
    Method("compareTo", "semver_compare_to", "(kubernetes.Semver, kubernetes.Semver) -> int",
           &CompareTo, "-1, 0 or 1.", "semver('1.0.0').compareTo(semver('1.0.0+b')) == 0"),
};

}  // namespace

constinit const cel::Library kSemverLibrary = {.name = "kubernetes.Semver",
                                               .functions = kFunctions};

}  // namespace portcullis::kube_cel
