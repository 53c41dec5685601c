// SPDX-License-Identifier: Apache-2.0

// Quantities.
#include "api/quantity.h"

#include "base/strings.h"
#include "cel/program.h"
#include "kube_cel/libraries.h"
#include "kube_cel/library/rows.h"
#include "kube_cel/opaque.h"

namespace portcullis::kube_cel {
namespace {

using api::Quantity;
using cel::EvalContext;
using cel::Value;

class QuantityValue final : public cel::Object {
 public:
  QuantityValue(Quantity quantity, bool computed)
      : quantity_(std::move(quantity)), computed_(computed) {}
  ~QuantityValue() = default;
  const cel::Type* type() const override { return &kQuantityType; }
  std::string_view GoType() const override { return "cel.Quantity"; }
  const Quantity& quantity() const { return quantity_; }
  Value Equals(json::Arena&, Value other) const override {
    if (!other.is_object() || other.object()->type() != &kQuantityType) {
      return cel::NoSuchOverload();
    }
    const auto& that = *static_cast<const QuantityValue*>(other.object());
    // In Kubernetes the result of an addition is of another Go type, which == does not know on its
    // right-hand side.
    if (that.computed_) return cel::NoSuchOverload();
    return Value::Bool(that.quantity_ == quantity_);
  }

 private:
  Quantity quantity_;
  bool computed_;
};

const Quantity& Of(Value value) {
  return static_cast<const QuantityValue*>(value.object())->quantity();
}

Value Wrap(EvalContext& context, Quantity quantity, bool computed) {
  return Value::FromObject(cel::New<QuantityValue>(context.arena(), std::move(quantity), computed));
}

// JSON may have spaces around a quantity, the argument of a function may not.
base::Result<Quantity> ParseExactly(std::string_view text) {
  return Quantity::Parse(base::Trim(text).size() == text.size() ? text : "");
}

Value Make(EvalContext& context, std::span<const Value> args) {
  auto parsed = ParseExactly(args[0].text());
  if (!parsed.ok()) return context.Error(parsed.status().message());
  return Wrap(context, *std::move(parsed), false);
}

Value IsQuantity(EvalContext&, std::span<const Value> args) {
  return Value::Bool(ParseExactly(args[0].text()).ok());
}

Value Sign(EvalContext&, std::span<const Value> args) { return Value::Int(Of(args[0]).Sign()); }

Value IsInteger(EvalContext&, std::span<const Value> args) {
  return Value::Bool(Of(args[0]).AsInt64().has_value());
}
Value AsInteger(EvalContext& context, std::span<const Value> args) {
  const auto amount = Of(args[0]).AsInt64();
  return amount ? Value::Int(*amount) : context.Error("cannot convert value to integer");
}
Value AsApproximateFloat(EvalContext&, std::span<const Value> args) {
  return Value::Double(Of(args[0]).AsApproximateFloat64());
}

Quantity Operand(Value value) {
  return value.is_object() ? Of(value) : Quantity::FromInt(value.int_value());
}

Value Add(EvalContext& context, std::span<const Value> args) {
  Quantity sum = Of(args[0]);
  sum.Add(Operand(args[1]));
  return Wrap(context, std::move(sum), true);
}
Value Sub(EvalContext& context, std::span<const Value> args) {
  Quantity difference = Of(args[0]);
  difference.Sub(Operand(args[1]));
  return Wrap(context, std::move(difference), true);
}

constexpr int kRelease = 28;
constexpr std::string_view kTwo = "(kubernetes.Quantity, kubernetes.Quantity) -> bool";
constexpr std::string_view kSame =
    "(kubernetes.Quantity, kubernetes.Quantity) -> kubernetes.Quantity";
constexpr std::string_view kWithInt = "(kubernetes.Quantity, int) -> kubernetes.Quantity";

constexpr cel::Function kFunctions[] = {
    Since(kRelease,
          Reader("quantity", "string_to_quantity", "(string) -> kubernetes.Quantity", &Make,
                 "An amount as resource lists have it.", "quantity('200M') == quantity('0.2G')")),
    Since(kRelease, Reader("isQuantity", "is_quantity_string", "(string) -> bool", &IsQuantity,
                           "Would quantity() accept the text?",
                           "isQuantity('1.3Gi') && !isQuantity('10Mm')")),
    {.name = "sign",
     .id = "quantity_sign",
     .signature = "(kubernetes.Quantity) -> int",
     .impl = &Sign,
     .since = kRelease,
     .doc = "-1, 0 or 1.",
     .example = "sign(quantity('-5')) == -1"},
    Since(kRelease, Method("isGreaterThan", "quantity_is_greater_than", kTwo, &IsGreaterThan<&Of>,
                           "Is it more?", "quantity('1Gi').isGreaterThan(quantity('1G'))")),
    Since(kRelease, Method("isLessThan", "quantity_is_less_than", kTwo, &IsLessThan<&Of>,
                           "Is it less?", "quantity('1m').isLessThan(quantity('1'))")),
    Since(kRelease, Method("compareTo", "quantity_compare_to",
                           "(kubernetes.Quantity, kubernetes.Quantity) -> int", &CompareTo<&Of>,
                           "-1, 0 or 1.", "quantity('2').compareTo(quantity('1')) == 1")),
    Since(kRelease, Method("isInteger", "quantity_is_integer", "(kubernetes.Quantity) -> bool",
                           &IsInteger, "Is it kept as a whole number of 64 bits? \"1.0\" is not.",
                           "quantity('50k').isInteger() && !quantity('50m').isInteger()")),
    Since(kRelease,
          Method("asInteger", "quantity_get_int", "(kubernetes.Quantity) -> int", &AsInteger,
                 "The amount as an int.", "quantity('50k').asInteger() == 50000")),
    Since(kRelease,
          Method("asApproximateFloat", "quantity_get_float", "(kubernetes.Quantity) -> double",
                 &AsApproximateFloat, "The amount as a double.",
                 "quantity('500m').asApproximateFloat() == 0.5")),
    Since(kRelease, Method("add", "quantity_add", kSame, &Add, "The sum.",
                           "quantity('1k').add(quantity('1k')) == quantity('2k')")),
    Since(kRelease, Method("add", "quantity_add_int", kWithInt, &Add, "The sum.",
                           "quantity('1k').add(1) == quantity('1001')")),
    Since(kRelease, Method("sub", "quantity_sub", kSame, &Sub, "The difference.",
                           "quantity('2k').sub(quantity('1k')) == quantity('1k')")),
    Since(kRelease, Method("sub", "quantity_sub_int", kWithInt, &Sub, "The difference.",
                           "quantity('1k').sub(1) == quantity('999')")),
};

}  // namespace

constinit const cel::Library kQuantityLibrary = {.name = "kubernetes.quantity",
                                                 .functions = kFunctions};

}  // namespace portcullis::kube_cel
