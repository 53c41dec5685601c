// SPDX-License-Identifier: Apache-2.0

// Semantic versions.
#include "golang/semver.h"

#include "cel/program.h"
#include "kube_cel/libraries.h"
#include "kube_cel/library/rows.h"
#include "kube_cel/opaque.h"

namespace portcullis::kube_cel {
namespace {

using cel::EvalContext;
using cel::Value;

constexpr char kGoType[] = "cel.Semver";
using SemverValue = Opaque<golang::Semver, kSemverType, kGoType, false>;

const golang::Semver& Of(Value value) { return *SemverValue::From(value); }

base::Result<golang::Semver> Parse(std::span<const Value> args) {
  const bool normalize = args.size() > 1 && args[1].bool_value();
  return normalize ? golang::ParseSemverNormalized(args[0].text())
                   : golang::ParseSemver(args[0].text());
}

Value Make(EvalContext& context, std::span<const Value> args) {
  auto version = Parse(args);
  if (!version.ok()) return context.Error(version.status().message());
  return Value::FromObject(cel::New<SemverValue>(context.arena(), *std::move(version)));
}

Value IsSemver(EvalContext&, std::span<const Value> args) { return Value::Bool(Parse(args).ok()); }

template <std::uint64_t golang::Semver::*member>
Value Number(EvalContext&, std::span<const Value> args) {
  return Value::Int(static_cast<std::int64_t>(Of(args[0]).*member));
}

constexpr int kRelease = 33;
constexpr std::string_view kToInt = "(kubernetes.Semver) -> int";
constexpr std::string_view kTwo = "(kubernetes.Semver, kubernetes.Semver) -> bool";

constexpr cel::Function kFunctions[] = {
    Since(kRelease,
          Reader("semver", "string_to_semver", "(string) -> kubernetes.Semver", &Make,
                 "A version by the rules of SemVer 2.0.0.", "semver('1.2.3') == semver('1.2.3')")),
    Since(kRelease, Reader("semver", "string_bool_to_semver", "(string, bool) -> kubernetes.Semver",
                           &Make, "With true: `v`, leading zeros and missing numbers are accepted.",
                           "semver('v01.2', true) == semver('1.2.0')")),
    Since(kRelease,
          Reader("isSemver", "is_semver_string", "(string) -> bool", &IsSemver,
                 "Would semver() accept the text?", "isSemver('1.2.3') && !isSemver('1.2')")),
    Since(kRelease, Reader("isSemver", "is_semver_string_bool", "(string, bool) -> bool", &IsSemver,
                           "The same, with normalization.", "isSemver('v1.2', true)")),
    Since(kRelease, Method("major", "semver_major", kToInt, &Number<&golang::Semver::major>,
                           "The first number.", "semver('1.2.3').major() == 1")),
    Since(kRelease, Method("minor", "semver_minor", kToInt, &Number<&golang::Semver::minor>,
                           "The second number.", "semver('1.2.3').minor() == 2")),
    Since(kRelease, Method("patch", "semver_patch", kToInt, &Number<&golang::Semver::patch>,
                           "The third number.", "semver('1.2.3').patch() == 3")),
    Since(kRelease, Method("isGreaterThan", "semver_is_greater_than", kTwo, &IsGreaterThan<&Of>,
                           "Is it newer?", "semver('1.0.0').isGreaterThan(semver('1.0.0-rc.1'))")),
    Since(kRelease, Method("isLessThan", "semver_is_less_than", kTwo, &IsLessThan<&Of>,
                           "Is it older?", "semver('1.9.0').isLessThan(semver('1.10.0'))")),
    Since(kRelease, Method("compareTo", "semver_compare_to",
                           "(kubernetes.Semver, kubernetes.Semver) -> int", &CompareTo<&Of>,
                           "-1, 0 or 1.", "semver('1.0.0').compareTo(semver('1.0.0+b')) == 0")),
};

}  // namespace

constinit const cel::Library kSemverLibrary = {.name = "kubernetes.Semver",
                                               .functions = kFunctions};

}  // namespace portcullis::kube_cel
