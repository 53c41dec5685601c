// SPDX-License-Identifier: Apache-2.0

// Values as JSON, and as text for people.
#include <algorithm>
#include <cmath>

#include "base/gotext.h"
#include "base/strings.h"
#include "cel/time_text.h"
#include "cel/value.h"
#include "golang/strconv.h"
#include "golang/time.h"

namespace portcullis::cel {
namespace {

constexpr std::int64_t kMaxSafeInt = (std::int64_t{1} << 53) - 1;
constexpr int kMaxTextDepth = 1000;

json::Value Text(json::Arena& arena, std::string_view text) { return json::String(arena, text); }

base::Result<std::string_view> JsonKey(json::Arena& arena, Value key) {
  switch (key.kind()) {
    case Kind::kString:
      return key.text();
    case Kind::kBool:
      return std::string_view(key.bool_value() ? "true" : "false");
    case Kind::kInt:
      return arena.Copy(std::to_string(key.int_value()));
    case Kind::kUint:
      return arena.Copy(std::to_string(key.uint_value()));
    default:
      return base::ConfigError("unsupported map key type '" + std::string(TypeName(key)) + "'");
  }
}

// Values can share parts so that a small one has very many of them.
constexpr std::uint64_t kMaxTextParts = 4'000'000;
constexpr std::size_t kMaxText = std::size_t{1} << 26;

base::Result<json::Value> Convert(json::Arena& arena, Value value, int depth,
                                  std::uint64_t& parts) {
  if (++parts > kMaxTextParts) return base::ConfigError("value is too large");
  if (depth > kMaxTextDepth) return base::ConfigError("value is nested too deeply");
  switch (value.kind()) {
    case Kind::kNull:
      return json::Value();
    case Kind::kBool:
      return json::Value::Bool(value.bool_value());
    case Kind::kInt:
      if (value.int_value() > kMaxSafeInt || value.int_value() < -kMaxSafeInt) {
        return Text(arena, std::to_string(value.int_value()));
      }
      return json::Value::Int(value.int_value());
    case Kind::kUint:
      if (value.uint_value() > static_cast<std::uint64_t>(kMaxSafeInt)) {
        return Text(arena, std::to_string(value.uint_value()));
      }
      return json::Value::Int(static_cast<std::int64_t>(value.uint_value()));
    case Kind::kDouble:
      return json::Value::Double(value.double_value());
    case Kind::kString:
      return json::Value::StringView(value.text());
    case Kind::kBytes:
      return Text(arena, base::Base64Encode(value.text()));
    case Kind::kTimestamp:
      return Text(arena, golang::FormatTimeNano(MomentOf(value), value.offset_minutes()));
    case Kind::kDuration:
      return Text(arena, FormatDuration(value.nanoseconds()));
    case Kind::kOptional:
      if (!value.content()) return json::Value();
      return Convert(arena, *value.content(), depth + 1, parts);
    case Kind::kObject:
      return value.object()->Json(arena);
    case Kind::kList: {
      if (value.json()) return *value.json();
      json::ArrayBuilder builder(arena);
      for (std::size_t i = 0; i < value.size(); ++i) {
        builder.Add(TRY(Convert(arena, value.At(arena, i), depth + 1, parts)));
      }
      return builder.Build();
    }
    case Kind::kMap: {
      if (value.json()) return *value.json();
      json::ObjectBuilder builder(arena);
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string_view key = TRY(JsonKey(arena, value.KeyAt(arena, i)));
        builder.Set(key, TRY(Convert(arena, value.ValueAt(arena, i), depth + 1, parts)));
      }
      return builder.Build();
    }
    case Kind::kError:
      return base::ConfigError(std::string(value.error()->text));
    default:
      return base::ConfigError("type conversion error from '" + std::string(TypeName(value)) +
                               "' to JSON");
  }
}

void AppendMap(json::Arena& arena, Value map, std::string& out, int depth);

void Append(json::Arena& arena, Value value, std::string& out, int depth) {
  if (depth > kMaxTextDepth || out.size() > kMaxText) {
    out += "…";
    return;
  }
  switch (value.kind()) {
    case Kind::kUnset:
      out += "<unset>";
      return;
    case Kind::kError:
      out += "<error: " + std::string(value.error()->text) + ">";
      return;
    case Kind::kNull:
      out += "null";
      return;
    case Kind::kBool:
      out += value.bool_value() ? "true" : "false";
      return;
    case Kind::kInt:
      out += std::to_string(value.int_value());
      return;
    case Kind::kUint:
      out += std::to_string(value.uint_value()) + "u";
      return;
    case Kind::kDouble: {
      std::string text = golang::FormatFloat(value.double_value());
      if (std::isfinite(value.double_value()) && text.find_first_of(".e") == std::string::npos) {
        text += ".0";
      }
      out += text;
      return;
    }
    case Kind::kString:
      out += base::GoQuote(value.text());
      return;
    case Kind::kBytes:
      out += "b" + base::GoQuote(value.text());
      return;
    case Kind::kTimestamp:
      out += "timestamp(\"" + golang::FormatTimeNano(MomentOf(value)) + "\")";
      return;
    case Kind::kDuration:
      out += "duration(\"" + FormatDuration(value.nanoseconds()) + "\")";
      return;
    case Kind::kType:
      out += value.type_value()->name;
      return;
    case Kind::kOptional:
      if (!value.content()) {
        out += "optional.none()";
        return;
      }
      out += "optional.of(";
      Append(arena, *value.content(), out, depth + 1);
      out += ')';
      return;
    case Kind::kObject: {
      out += value.object()->type()->name;
      const Value text = value.object()->ToStringValue(arena);
      if (text.is_string()) out += "(" + base::GoQuote(text.text()) + ")";
      return;
    }
    case Kind::kList:
      out += '[';
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out += ", ";
        Append(arena, value.At(arena, i), out, depth + 1);
      }
      out += ']';
      return;
    case Kind::kMap:
      return AppendMap(arena, value, out, depth);
  }
}

void AppendMap(json::Arena& arena, Value map, std::string& out, int depth) {
  out += '{';
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (i > 0) out += ", ";
    Append(arena, map.KeyAt(arena, i), out, depth + 1);
    out += ": ";
    Append(arena, map.ValueAt(arena, i), out, depth + 1);
  }
  out += '}';
}

}  // namespace

base::Result<json::Value> ToJson(json::Arena& arena, Value value) {
  std::uint64_t parts = 0;
  return Convert(arena, value, 0, parts);
}

std::string DebugString(Value value) {
  json::Arena arena;
  std::string out;
  Append(arena, value, out, 0);
  return out;
}

std::string PlainText(Value value) {
  // Those that Go compares by their text print it, too.
  if (value.is_object()) {
    const std::string text = value.object()->KeyText();
    return text.empty() ? DebugString(value) : text;
  }
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kBytes:
      return std::string(value.text());
    case Kind::kUint:
      return std::to_string(value.uint_value());
    case Kind::kDouble:
      return golang::FormatFloat(value.double_value());
    case Kind::kNull:
      return "0";  // the number of structpb.NullValue
    case Kind::kTimestamp:
      return golang::TimeText(MomentOf(value), value.offset_minutes());
    case Kind::kDuration:
      return golang::DurationText(value.nanoseconds());
    default:
      return DebugString(value);
  }
}

}  // namespace portcullis::cel
