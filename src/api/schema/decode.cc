// SPDX-License-Identifier: Apache-2.0

#include "api/schema/decode.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>

#include "api/canonical_quantity.h"
#include "api/quantity.h"
#include "api/schema/embedded_structs.h"
#include "api/schema/go_members.h"
#include "api/schema/written.h"
#include "base/clock.h"
#include "base/gotext.h"
#include "base/stack_memory.h"
#include "base/strings.h"
#include "golang/time.h"
#include "json/duplicates.h"
#include "json/go_errors.h"
#include "json/sorted.h"
#include "json/writer.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

void AppendName(std::string& out, std::string_view name) {
  if (!out.empty()) out += '.';
  out += name;
}

std::string LiteralOf(Value number) {
  const std::string_view literal = number.NumberLiteral();
  return literal.empty() ? json::ToString(number) : std::string(literal);
}

class Decoder {
 public:
  Decoder(json::Arena& arena, const DecodeOptions& options)
      : arena_(arena),
        options_(options),
        forms_{options.empty_becomes_null, options.keeps_empty_bytes},
        unknown_(options.unknown_fields) {
    slots_.reserve(kUsual);
    members_.reserve(kUsual);
  }

  base::Result<Value> DecodeAll(const Schema& schema, Value input) {
    base::Result<Value> decoded = Decode(schema, input, options_.known);
    if (options_.met != nullptr) *options_.met = met_;
    if (decoded.ok() && !first_wrong_.ok()) return std::move(first_wrong_);
    return decoded;
  }

 private:
  struct Slot {
    Value value;
    bool present = false;
  };
  static constexpr std::size_t kUsual = 128;  // of each on the path of an ordinary object
  static constexpr std::size_t kUsualBytes = kUsual * (sizeof(Slot) + sizeof(json::Member));

  // `known` is in order already, or null.
  base::Result<Value> Decode(const Schema& schema, Value input, Value known) {
    if (!known.is_null() && input.IsSameAs(known)) return input;
    switch (schema.kind) {
      case Kind::kStruct:
        return Struct(schema, input, known);
      case Kind::kMap:
        return Map(schema, input, known);
      case Kind::kArray:
        return Array(schema, input, known);
      case Kind::kUnion:
        return Union(schema, input);
      case Kind::kAny:
        met_.any = met_.any || input.is_array() || input.is_object();
        // The text of a raw extension is kept and compared; JSON is kept as a Go map, whose keys are sorted.
        if (schema.go_type == "v1.JSON") return json::Sorted(arena_, input);
        return schema.go_type == "runtime.RawExtension" ? AsWritten(arena_, input) : input;
      default:
        return Leaf(schema, input);
    }
  }

  // The chain of fields that leads to the value at hand; lives on the stack.
  struct Frame {
    const Frame* parent;
    const Schema* owner;    // the struct the field belongs to; null for elements
    std::string_view name;  // the field, or the key in a map
    std::size_t index;      // the element of an array if name is empty
  };
  class Enter {
   public:
    Enter(Decoder& decoder, const Schema* owner, std::string_view name, std::size_t index = 0)
        : decoder_(decoder), frame_{decoder.frame_, owner, name, index} {
      decoder_.frame_ = &frame_;
    }
    ~Enter() { decoder_.frame_ = frame_.parent; }
    Enter(const Enter&) = delete;
    Enter& operator=(const Enter&) = delete;

   private:
    Decoder& decoder_;
    Frame frame_;
  };

  // Go's path: names of struct fields only. Kubernetes' path has keys and indices as well.
  static void GoPath(const Frame* frame, std::string& out) {
    if (frame == nullptr) return;
    GoPath(frame->parent, out);
    if (frame->owner == nullptr) return;
    for (const std::string_view name : EmbeddedStructs(frame->owner->go_struct, frame->name)) {
      AppendName(out, name);
    }
    AppendName(out, frame->name);
  }
  static void FullPath(const Frame* frame, std::string& out) {
    if (frame == nullptr) return;
    FullPath(frame->parent, out);
    if (frame->name.empty()) {
      out += base::StrCat("[", std::to_string(frame->index), "]");
    } else {
      AppendName(out, frame->name);
    }
  }

  // The innermost struct around the value.
  const Schema* Owner() const {
    for (const Frame* frame = frame_; frame != nullptr; frame = frame->parent) {
      if (frame->owner != nullptr) return frame->owner;
    }
    return nullptr;
  }

  // A value of a wrong type: Go goes on and tells the first of them at the end, unless a type that
  // decodes itself fails, which ends decoding at once.
  Value WrongType(std::string_view what, std::string_view go_type) {
    if (first_wrong_.ok()) first_wrong_ = TypeError(what, go_type);
    return {};
  }

  base::Status TypeError(std::string_view what, std::string_view go_type) const {
    if (options_.error_path != nullptr) {
      options_.error_path->clear();
      FullPath(frame_, *options_.error_path);
    }
    const Schema* const owner = union_owner_ != nullptr ? union_owner_ : Owner();
    std::string text = base::StrCat("json: cannot unmarshal ", what, " into Go ");
    if (owner == nullptr) {
      text += "value";
    } else {
      std::string path;
      GoPath(frame_, path);
      text += base::StrCat("struct field ", owner->go_struct, ".", path);
    }
    return base::BadRequest(base::StrCat(text, " of type ", go_type));
  }

  void ReportUnknown(std::string_view name) {
    if (unknown_ == nullptr || unknown_->size() >= json::kMaxStrictErrors) return;
    std::string path;
    FullPath(frame_, path);
    AppendName(path, name);
    unknown_->push_back(std::move(path));
  }

  base::Result<Value> Struct(const Schema& schema, Value input, Value known) {
    if (!input.is_object()) {
      if (input.is_null()) return ZeroOf(arena_, schema);
      return WrongType(json::GoTypeName(input), schema.go_type);
    }
    // The values of the fields lie on a stack of their own, so that no struct allocates.
    const std::size_t base = slots_.size();
    slots_.resize(base + schema.fields.size());
    TRY(Fields(schema, input, known, base));
    const std::size_t first = members_.size();
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      const Slot& slot = slots_[base + i];
      const std::optional<Value> value = slot.present
                                             ? WrittenWhenSet(schema, field, slot.value, forms_)
                                             : WrittenWhenUnset(arena_, field);
      if (value) members_.push_back(WrittenMember(field, *value));
    }
    slots_.resize(base);
    const std::span<const json::Member> written(members_.data() + first, members_.size() - first);
    const Value result = Same(input, written) ? input : json::MakeObject(arena_, written);
    members_.resize(first);
    return result;
  }

  base::Status Fields(const Schema& schema, Value input, Value known, std::size_t base) {
    for (const json::Member& member : input.members()) {
      const Field* field = schema.FindField(member.name(), member.hash);
      if (field == nullptr) {
        if (!schema.preserve_unknown_fields) ReportUnknown(member.name());
        continue;
      }
      const bool reads_null = field->schema->kind == Kind::kUnion && !field->pointer;
      if (member.value.is_null() && !reads_null) continue;
      const Enter enter(*this, &schema, field->name);
      const Value* before = known.Find(member.name(), member.hash);
      const Value value =
          TRY(Decode(*field->schema, member.value, before != nullptr ? *before : Value()));
      if (value.is_null() && field->pointer) continue;
      slots_[base + static_cast<std::size_t>(field - schema.fields.data())] = {value, true};
    }
    return base::OkStatus();
  }

  static bool Same(Value input, std::span<const json::Member> members) {
    const auto old = input.members();
    if (old.size() != members.size()) return false;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (old[i].name() != members[i].name() || !old[i].value.IsSameAs(members[i].value)) {
        return false;
      }
    }
    return true;
  }

  base::Result<Value> Map(const Schema& schema, Value input, Value known) {
    if (!input.is_object()) return WrongType(json::GoTypeName(input), schema.go_type);
    const std::size_t first = members_.size();
    bool changed = false;
    for (const json::Member& member : input.members()) {
      const Enter enter(*this, nullptr, member.name());
      json::Member decoded = member;
      const Value* before = known.Find(member.name(), member.hash);
      decoded.value = TRY(Element(schema, member.value, before != nullptr ? *before : Value()));
      changed = changed || !decoded.value.IsSameAs(member.value);
      members_.push_back(decoded);
    }
    const std::span<json::Member> decoded(members_.data() + first, members_.size() - first);
    changed = SortEntries(decoded) || changed;
    const Value result = changed ? json::MakeObject(arena_, decoded) : input;
    members_.resize(first);
    return result;
  }

  base::Result<Value> Array(const Schema& schema, Value input, Value known) {
    if (!input.is_array()) return WrongType(json::GoTypeName(input), schema.go_type);
    if (input.empty()) met_.empty_lists = true;
    std::vector<Value> elements;
    elements.reserve(input.size());
    bool changed = false;
    for (std::size_t i = 0; i < input.size(); ++i) {
      const Enter enter(*this, nullptr, {}, i);
      elements.push_back(TRY(Element(schema, input[i], known[i])));
      changed = changed || !elements.back().IsSameAs(input[i]);
    }
    return changed ? json::MakeArray(arena_, elements) : input;
  }

  base::Result<Value> Element(const Schema& schema, Value input, Value known) {
    if (schema.element == nullptr) {
      met_.any = true;
      return input;
    }
    if (input.is_null() && schema.element->kind != Kind::kAny) {
      return schema.element_pointer ? Value() : ZeroOf(arena_, *schema.element);
    }
    return Decode(*schema.element, input, known);
  }

  // Such types decode themselves: what strict decoding would report of them is lost.
  base::Result<Value> Union(const Schema& schema, Value input) {
    std::vector<std::string>* const reported = std::exchange(unknown_, nullptr);
    base::Status before = std::exchange(first_wrong_, base::OkStatus());
    // Errors within name the struct that has the outermost of them.
    const Schema* const outer = union_owner_;
    if (outer == nullptr) union_owner_ = Owner();
    base::Result<Value> content = UnionContent(schema, input);
    union_owner_ = outer;
    unknown_ = reported;
    std::swap(before, first_wrong_);
    if (content.ok() && !before.ok()) return before;
    return content;
  }

  base::Result<Value> UnionContent(const Schema& schema, Value input) {
    if (input.is_object()) return Decode(*schema.element, input, {});
    if (schema.go_type.ends_with("JSONSchemaPropsOrBool")) {
      if (input.is_bool() || input.is_null()) return input;
      return base::BadRequest("boolean or JSON schema expected");
    }
    // Of a list of no schemas, a text or a number, Go writes null.
    if (!input.is_array()) return Value();
    const bool schemas = schema.go_type.ends_with("JSONSchemaPropsOrArray");
    if (input.empty() && schemas) return Value();
    Schema text;
    text.kind = Kind::kString;
    text.go_type = "string";
    Schema list;
    list.kind = Kind::kArray;
    list.element = schemas ? schema.element : &text;
    return Array(list, input, {});
  }

  base::Result<Value> Leaf(const Schema& schema, Value input) {
    switch (schema.kind) {
      case Kind::kString:
        if (!input.is_string()) return WrongType(json::GoTypeName(input), schema.go_type);
        return input;
      case Kind::kBoolean:
        if (!input.is_bool()) return WrongType(json::GoTypeName(input), schema.go_type);
        return input;
      case Kind::kInteger:
        return Integer(schema, input);
      case Kind::kNumber:
        return Number(schema, input);
      case Kind::kBytes:
        return Bytes(schema, input);
      case Kind::kQuantity:
        return QuantityText(input);
      case Kind::kIntOrString:
        return IntOrString(input);
      case Kind::kTime:
      case Kind::kMicroTime:
        return Time(schema, input);
      case Kind::kDuration:
        return Duration(input);
      default:
        return input;
    }
  }

  base::Result<Value> Integer(const Schema& schema, Value input) {
    if (!input.is_number()) return WrongType(json::GoTypeName(input), schema.go_type);
    const bool narrow = schema.format == "int32";
    const std::int64_t value = input.AsInt();
    const bool fits = input.is_int() && (!narrow || (value >= std::numeric_limits<int>::min() &&
                                                     value <= std::numeric_limits<int>::max()));
    if (!fits) return WrongType("number " + LiteralOf(input), schema.go_type);
    return input;
  }

  base::Result<Value> Number(const Schema& schema, Value input) {
    if (!input.is_number()) return WrongType(json::GoTypeName(input), schema.go_type);
    if (!std::isfinite(input.AsDouble())) {
      return WrongType("number " + LiteralOf(input), schema.go_type);
    }
    return AsFloat64(arena_, input);
  }

  // Go takes a list of numbers for bytes, too.
  Value ByteList(Value input) {
    std::string bytes;
    for (const Value& element : input.elements()) {
      const std::int64_t value = element.AsInt();
      if (!element.is_number() && !element.is_null()) {
        WrongType(json::GoTypeName(element), "uint8");
      } else if (element.is_double() || value < 0 || value > 255) {
        WrongType("number " + LiteralOf(element), "uint8");
      }
      bytes.push_back(static_cast<char>(value));
    }
    return json::String(arena_, base::Base64Encode(bytes));
  }

  base::Result<Value> Bytes(const Schema& schema, Value input) {
    if (input.is_array()) return ByteList(input);
    if (!input.is_string()) return WrongType(json::GoTypeName(input), schema.go_type);
    std::size_t at = 0;
    const auto bytes = base::Base64Decode(input.AsString(), &at);
    if (!bytes) {
      if (first_wrong_.ok()) {
        first_wrong_ = base::BadRequest(
            base::StrCat("illegal base64 data at input byte ", std::to_string(at)));
      }
      return Value();
    }
    const std::string canonical = base::Base64Encode(*bytes);
    return canonical == input.AsString() ? input : json::String(arena_, canonical);
  }

  base::Result<Value> QuantityText(Value input) {
    if (IsCanonicalQuantity(input.AsString())) return input;
    std::string raw;
    std::string_view text;
    if (input.is_string()) {
      text = input.AsString();
    } else {
      raw = input.is_double() ? LiteralOf(input) : json::ToString(input);
      text = raw;
    }
    const Quantity quantity = TRY(Quantity::Parse(text));
    const std::string canonical = quantity.ToString();
    return input.is_string() && canonical == text ? input : json::String(arena_, canonical);
  }

  base::Result<Value> IntOrString(Value input) {
    if (input.is_string()) return input;
    const auto wrong = [this](std::string_view what) { return TypeError(what, "int32"); };
    if (!input.is_number()) return wrong(json::GoTypeName(input));
    const std::int64_t value = input.AsInt();
    const bool fits = input.is_int() && value >= std::numeric_limits<int>::min() &&
                      value <= std::numeric_limits<int>::max();
    if (!fits) return wrong("number " + LiteralOf(input));
    return input;
  }

  base::Result<Value> Time(const Schema& schema, Value input) {
    if (!input.is_string()) return TypeError(json::GoTypeName(input), "string");
    const std::string_view text = input.AsString();
    const bool micro = schema.kind == Kind::kMicroTime;
    const golang::Moment moment =
        TRY(micro ? golang::ParseMicroTime(text) : golang::ParseTime(text));
    const std::string canonical =
        micro ? golang::FormatMicroTime(moment) : golang::FormatTime(moment);
    return canonical == text ? input : json::String(arena_, canonical);
  }

  base::Result<Value> Duration(Value input) {
    if (!input.is_string()) return TypeError(json::GoTypeName(input), "string");
    const std::int64_t nanos = TRY(golang::ParseDuration(input.AsString()));
    const std::string canonical = base::FormatDuration(base::Duration(nanos));
    return canonical == input.AsString() ? input : json::String(arena_, canonical);
  }

  json::Arena& arena_;
  const DecodeOptions& options_;
  const EmptyForms forms_;
  std::vector<std::string>* unknown_;
  const Frame* frame_ = nullptr;
  const Schema* union_owner_ = nullptr;  // the struct that has the outermost union around the value
  Decoded met_;
  base::Status first_wrong_;  // of a value of a wrong type
  base::StackMemory<kUsualBytes> memory_;
  // Of the structs being decoded, innermost last; likewise of the objects being written.
  std::pmr::vector<Slot> slots_{memory_.resource()};
  std::pmr::vector<json::Member> members_{memory_.resource()};
};

}  // namespace

base::Result<Value> Decode(json::Arena& arena, const Schema& schema, Value input,
                           const DecodeOptions& options) {
  return Decoder(arena, options).DecodeAll(schema, input);
}

std::vector<std::string> DecodingWarnings(const std::vector<std::string>& duplicate_fields,
                                          const std::vector<std::string>& unknown_fields) {
  std::vector<std::string> texts;
  for (const std::string& path : duplicate_fields) {
    texts.push_back(base::StrCat("duplicate field ", base::GoQuote(path)));
  }
  for (const std::string& path : unknown_fields) {
    texts.push_back(base::StrCat("unknown field ", base::GoQuote(path)));
  }
  return texts;
}

std::string StrictDecodingError(const std::vector<std::string>& duplicate_fields,
                                const std::vector<std::string>& unknown_fields) {
  const auto texts = DecodingWarnings(duplicate_fields, unknown_fields);
  return texts.empty() ? "" : base::StrCat("strict decoding error: ", base::Join(texts, ", "));
}

}  // namespace portcullis::api::schema
