// SPDX-License-Identifier: Apache-2.0

#include "cel/batch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/strings.h"
#include "cel/time_text.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::cel {
namespace {

constexpr int kMaxDepth = 500;

base::Status Malformed(std::string_view type) {
  return base::ConfigError("malformed value of type " + std::string(type));
}

// A decimal text, or a JSON integer.
template <typename T>
bool Number(json::Value value, T& number) {
  const std::string digits = value.is_int() ? std::to_string(value.AsInt()) : std::string();
  const std::string_view text = value.is_int() ? std::string_view(digits) : value.AsString();
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && result.ec == std::errc() && result.ptr == text.data() + text.size();
}

base::Result<Value> ReadDouble(json::Value value) {
  if (value.is_number()) return Value::Double(value.AsDouble());
  const std::string_view text = value.AsString();
  if (text == "NaN") return Value::Double(std::nan(""));
  if (text == "inf") return Value::Double(HUGE_VAL);
  if (text == "-inf") return Value::Double(-HUGE_VAL);
  return Malformed("double");
}

base::Result<Value> Read(json::Arena& arena, const json::Value& typed, int depth);

// Seconds and nanoseconds, which may have different signs and be more than a second.
base::Result<Value> ReadTime(std::string_view type, json::Value value) {
  constexpr std::int64_t kNano = 1000000000;
  std::int64_t seconds = 0;
  std::int64_t nanos = 0;
  if (value.size() != 2 || !value.is_array() || !Number(value[std::size_t{0}], seconds) ||
      !Number(value[std::size_t{1}], nanos)) {
    return Malformed(type);
  }
  if (type == "duration") {
    std::int64_t total = 0;
    if (__builtin_mul_overflow(seconds, kNano, &total) ||
        __builtin_add_overflow(total, nanos, &total)) {
      return Malformed(type);
    }
    return Value::Duration(total);
  }
  std::int64_t whole = nanos / kNano;
  nanos %= kNano;
  if (nanos < 0) {
    nanos += kNano;
    --whole;
  }
  if (__builtin_add_overflow(seconds, whole, &seconds) || seconds < kMinTimestamp ||
      seconds > kMaxTimestamp) {
    return Malformed(type);
  }
  return Value::Timestamp(seconds, static_cast<std::uint32_t>(nanos));
}

base::Result<Value> ReadContainer(json::Arena& arena, bool map, json::Value value, int depth) {
  if (!value.is_array()) return Malformed(map ? "map" : "list");
  std::vector<Value> elements;
  std::vector<MapEntry> entries;
  for (const json::Value& element : value.elements()) {
    if (!map) {
      elements.push_back(TRY(Read(arena, element, depth + 1)));
      continue;
    }
    if (element.size() != 2 || !element.is_array()) return Malformed("map");
    const Value key = TRY(Read(arena, element.elements()[0], depth + 1));
    entries.push_back({key, TRY(Read(arena, element.elements()[1], depth + 1))});
  }
  return map ? MakeMap(arena, entries) : MakeList(arena, elements);
}

base::Result<Value> Read(json::Arena& arena, const json::Value& typed, int depth) {
  if (depth > kMaxDepth) return base::ConfigError("value is nested too deeply");
  const json::Value* kind = typed.Find("$type");
  if (!kind) return MakeFromJson(arena, typed);
  const std::string_view type = kind->AsString();
  const json::Value value = typed["value"];
  if (type == "int") {
    std::int64_t number = 0;
    if (!Number(value, number)) return Malformed(type);
    return Value::Int(number);
  }
  if (type == "uint") {
    std::uint64_t number = 0;
    if (!Number(value, number)) return Malformed(type);
    return Value::Uint(number);
  }
  if (type == "double") return ReadDouble(value);
  if (type == "bool") {
    if (!value.is_bool()) return Malformed(type);
    return Value::Bool(value.AsBool());
  }
  if (type == "null") return Value::Null();
  if (type == "string") {
    if (!value.is_string()) return Malformed(type);
    return MakeString(arena, value.AsString());
  }
  if (type == "bytes") {
    if (!value.is_string()) return Malformed(type);
    const auto bytes = base::Base64Decode(value.AsString());
    if (!bytes) return Malformed(type);
    return MakeBytes(arena, *bytes);
  }
  if (type == "type") return Value::OfType(TRY(ParseType(arena, value.AsString())));
  if (type == "timestamp" || type == "duration") return ReadTime(type, value);
  if (type == "list" || type == "map") return ReadContainer(arena, type == "map", value, depth);
  return base::ConfigError("unknown $type " + std::string(type));
}

json::Value Typed(json::Arena& arena, std::string_view type, json::Value value) {
  return json::ObjectBuilder(arena).Set("$type", type).Set("value", value).Build();
}

json::Value DoubleText(json::Arena& arena, double number) {
  if (std::isfinite(number)) return json::Value::Double(number);
  return json::String(arena, std::isnan(number) ? "NaN" : number > 0 ? "inf" : "-inf");
}

json::Value Pair(json::Arena& arena, json::Value first, json::Value second) {
  return json::MakeArray(arena, {first, second});
}

}  // namespace

base::Result<Value> ReadTyped(json::Arena& arena, const json::Value& typed) {
  return Read(arena, typed, 0);
}

namespace {

// Values can share parts so that a small one has very many of them.
constexpr std::uint64_t kMaxParts = 1'000'000;

base::Result<json::Value> Write(json::Arena& arena, Value value, int depth, std::uint64_t& parts) {
  if (++parts > kMaxParts) return base::ConfigError("value is too large");
  if (depth > kMaxDepth) return base::ConfigError("value is nested too deeply");
  constexpr std::int64_t kNano = 1000000000;
  switch (value.kind()) {
    case Kind::kNull:
      return Typed(arena, "null", {});
    case Kind::kBool:
      return Typed(arena, "bool", json::Value::Bool(value.bool_value()));
    case Kind::kInt:
      return Typed(arena, "int", json::String(arena, std::to_string(value.int_value())));
    case Kind::kUint:
      return Typed(arena, "uint", json::String(arena, std::to_string(value.uint_value())));
    case Kind::kDouble:
      return Typed(arena, "double", DoubleText(arena, value.double_value()));
    case Kind::kString:
      return Typed(arena, "string", json::String(arena, value.text()));
    case Kind::kBytes:
      return Typed(arena, "bytes", json::String(arena, base::Base64Encode(value.text())));
    case Kind::kType:
      return Typed(arena, "type", json::String(arena, value.type_value()->name));
    case Kind::kTimestamp:
      return Typed(arena, "timestamp",
                   Pair(arena, json::Value::Int(value.seconds()),
                        json::Value::Int(static_cast<std::int64_t>(value.nanos()))));
    case Kind::kDuration:
      return Typed(arena, "duration",
                   Pair(arena, json::Value::Int(value.nanoseconds() / kNano),
                        json::Value::Int(value.nanoseconds() % kNano)));
    case Kind::kList: {
      json::ArrayBuilder builder(arena);
      for (std::size_t i = 0; i < value.size(); ++i) {
        builder.Add(TRY(Write(arena, value.At(arena, i), depth + 1, parts)));
      }
      return Typed(arena, "list", builder.Build());
    }
    case Kind::kMap: {
      json::ArrayBuilder builder(arena);
      for (std::size_t i = 0; i < value.size(); ++i) {
        const json::Value key = TRY(Write(arena, value.KeyAt(arena, i), depth + 1, parts));
        builder.Add(Pair(arena, key, TRY(Write(arena, value.ValueAt(arena, i), depth + 1, parts))));
      }
      return Typed(arena, "map", builder.Build());
    }
    default: {
      const auto plain = ToJson(arena, value);
      return Typed(arena, TypeName(value), plain.ok() ? *plain : json::Value());
    }
  }
}

}  // namespace

base::Result<json::Value> WriteTyped(json::Arena& arena, Value value) {
  std::uint64_t parts = 0;
  return Write(arena, value, 0, parts);
}

namespace {

base::Result<Value> ReadAs(json::Arena& arena, const json::Value& typed, const Type& type);

base::Result<Value> ReadElementsAs(json::Arena& arena, const json::Value& list, const Type& type) {
  std::vector<Value> elements;
  for (const json::Value& element : list.elements()) {
    elements.push_back(TRY(ReadAs(arena, element, type)));
  }
  return MakeList(arena, elements);
}

base::Result<Value> ReadMembersAs(json::Arena& arena, const json::Value& map, const Type& type) {
  std::vector<MapEntry> entries;
  for (const json::Member& member : map.members()) {
    entries.push_back({MakeString(arena, member.name()), TRY(ReadAs(arena, member.value, type))});
  }
  return MakeMap(arena, entries);
}

// JSON has one kind of number: a plain one is of the kind that was declared, if it can be.
base::Result<Value> ReadAs(json::Arena& arena, const json::Value& typed, const Type& type) {
  if (typed.is_number() && type.kind == TypeKind::kDouble) return Value::Double(typed.AsDouble());
  if (typed.is_number() && type.kind == TypeKind::kUint) {
    const std::string digits =
        typed.is_int() ? std::to_string(typed.AsInt()) : std::string(typed.NumberLiteral());
    std::uint64_t number = 0;
    if (Number(json::Value::StringView(digits), number)) return Value::Uint(number);
  }
  if (typed.is_array() && type.kind == TypeKind::kList && !type.params.empty()) {
    return ReadElementsAs(arena, typed, *type.params[0]);
  }
  if (typed.is_object() && !typed.Has("$type") && type.kind == TypeKind::kMap &&
      type.params.size() == 2) {
    return ReadMembersAs(arena, typed, *type.params[1]);
  }
  return ReadTyped(arena, typed);
}

// Types with parameters are those of the language.
bool IsKnown(const Type* type) {
  const bool unknown =
      type->kind == TypeKind::kOpaque && !type->params.empty() && type->name != "optional_type";
  return !unknown && std::all_of(type->params.begin(), type->params.end(), &IsKnown);
}

// What is wrong with the declared type of a variable, or "".
std::string TypeComplaint(json::Value declared) {
  json::Arena arena;
  if (!declared.is_string()) return "its type is a text, as \"list(int)\"";
  const auto type = ParseType(arena, declared.AsString());
  if (!type.ok()) return type.status().message();
  return IsKnown(*type) ? "" : base::StrCat("unknown type '", declared.AsString(), "'");
}

}  // namespace

BatchAnswer AnswerBatch(const std::shared_ptr<const Environment>& base, json::Arena& arena,
                        json::Value request, const EvalOptions& eval) {
  using Phase = BatchAnswer::Phase;
  BatchAnswer answer;
  const auto fail = [&answer](Phase phase, std::string text) {
    answer.phase = phase;
    answer.error = std::move(text);
    return answer;
  };
  if (!request.is_object() || !request["expr"].is_string()) {
    return fail(Phase::kParse, "a request is an object with an expression: {\"expr\": \"1 + 1\"}");
  }
  for (const std::string_view name : {"types", "vars"}) {
    const json::Value member = request[name];
    if (member.is_null() || member.is_object()) continue;
    return fail(Phase::kParse, base::StrCat(name, " is an object: {\"x\": …}"));
  }
  std::shared_ptr<const Environment> environment = base;
  const json::Value types = request["types"];
  const json::Value vars = request["vars"];
  const std::string_view container = request["container"].AsString();
  if (!types.empty() || !vars.empty() || !container.empty()) {
    EnvironmentBuilder builder(base);
    for (const json::Member& member : vars.members()) {
      if (!types.Has(member.name())) builder.AddVariable(member.name(), &kDynType);
    }
    for (const json::Member& member : types.members()) {
      const std::string wrong = TypeComplaint(member.value);
      if (!wrong.empty()) {
        return fail(Phase::kCheck, base::StrCat("variable ", member.name(), ": ", wrong));
      }
      builder.AddVariable(member.name(), member.value.AsString());
    }
    builder.options().container = container;
    auto built = builder.Build();
    if (!built.ok()) return fail(Phase::kCheck, built.status().message());
    environment = *std::move(built);
  }
  CompileOptions options;
  options.check = request["check"].AsBool(true);
  const Compilation compilation = environment->Compile(request["expr"].AsString(), options);
  if (!compilation.ok()) {
    const std::string text = compilation.ErrorText();
    // A program that cannot be made fails where evaluating it would.
    if (compilation.issues.empty()) return fail(Phase::kEval, compilation.failure.message());
    return fail(compilation.syntax_error ? Phase::kParse : Phase::kCheck, text);
  }
  answer.type = TypeString(compilation.program->result_type());
  Activation activation(*environment);
  for (const json::Member& member : vars.members()) {
    const int index = environment->VariableIndex(member.name());
    auto value = index < 0
                     ? ReadTyped(arena, member.value)
                     : ReadAs(arena, member.value,
                              *environment->variables()[static_cast<std::size_t>(index)].type);
    if (!value.ok()) {
      return fail(Phase::kEval,
                  base::StrCat("variable ", member.name(), ": ", value.status().message()));
    }
    activation.Bind(member.name(), *value);
  }
  const Outcome outcome = compilation.program->Evaluate(activation, arena, eval);
  answer.cost = outcome.cost;
  if (outcome.value.is_error()) {
    return fail(Phase::kEval, std::string(outcome.value.error()->text));
  }
  const auto written = WriteTyped(arena, outcome.value);
  if (!written.ok()) return fail(Phase::kEval, written.status().message());
  answer.value = *written;
  return answer;
}

namespace {

// Doubles have a point or an exponent: readers that tell integers from floating-point numbers would
// lose the sign of -0 and digits of 1e19 otherwise.
void WriteAnswer(json::Value value, std::string& out) {
  json::WriteOptions options;
  options.escape_html = false;
  const auto separate = [&out](std::size_t index) { out += index > 0 ? "," : ""; };
  std::size_t index = 0;
  if (value.is_object()) {
    out += '{';
    for (const json::Member& member : value.members()) {
      separate(index++);
      json::WriteString(member.name(), out, false);
      out += ':';
      WriteAnswer(member.value, out);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const json::Value& element : value.elements()) {
      separate(index++);
      WriteAnswer(element, out);
    }
    out += ']';
  } else if (value.type() == json::Type::kDouble) {
    std::array<char, 32> buffer{};
    const char* end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value.AsDouble()).ptr;
    const std::string_view digits(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
    out += digits;
    if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
  } else {
    json::Write(value, out, options);
  }
}

}  // namespace

std::string AnswerBatchLine(const std::shared_ptr<const Environment>& base, std::string_view line,
                            const EvalOptions& eval) {
  json::Arena arena;
  json::ObjectBuilder builder(arena);
  const auto request = json::Parse(arena, line);
  BatchAnswer answer;
  builder.Set("id", request.ok() ? (*request)["id"] : json::Value());
  if (request.ok()) {
    answer = AnswerBatch(base, arena, *request, eval);
  } else {
    answer.phase = BatchAnswer::Phase::kParse;
    answer.error = request.status().message();
  }
  constexpr std::string_view kPhases[] = {"", "parse", "check", "eval"};
  if (answer.phase == BatchAnswer::Phase::kOk) {
    builder.Set("value", answer.value);
  } else {
    builder.Set("error", std::string_view(answer.error));
    builder.Set("phase", kPhases[static_cast<std::size_t>(answer.phase)]);
  }
  std::string out;
  WriteAnswer(builder.Build(), out);
  return out;
}

}  // namespace portcullis::cel
