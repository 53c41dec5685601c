// SPDX-License-Identifier: Apache-2.0

#include "webhook/go_shape.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "json/duplicates.h"
#include "json/go_errors.h"
#include "json/writer.h"

namespace portcullis::webhook {
namespace {

constexpr GoField kCauseFields[] = {
    {"reason", GoKind::kString, "v1.CauseType"},
    {"message"},
    {"field"},
};
constexpr GoStruct kCause = {"StatusCause", kCauseFields};

constexpr GoField kDetailsFields[] = {
    {"name"},
    {"group"},
    {"kind"},
    {"uid", GoKind::kString, "types.UID"},
    {"causes", GoKind::kStructList, "[]v1.StatusCause", &kCause},
    {"retryAfterSeconds", GoKind::kInt32, "int32"},
};
constexpr GoStruct kDetails = {"StatusDetails", kDetailsFields};

constexpr GoField kListMetaFields[] = {
    {"selfLink"},
    {"resourceVersion"},
    {"continue"},
    {"remainingItemCount", GoKind::kInt64, "int64"},
};
constexpr GoStruct kListMeta = {"ListMeta", kListMetaFields};

constexpr GoField kStatusFields[] = {
    {"kind"},
    {"apiVersion"},
    {"metadata", GoKind::kStruct, "v1.ListMeta", &kListMeta},
    {"status"},
    {"message"},
    {"reason", GoKind::kString, "v1.StatusReason"},
    {"details", GoKind::kStruct, "v1.StatusDetails", &kDetails},
    {"code", GoKind::kInt32, "int32"},
};
constexpr GoStruct kStatus = {"Status", kStatusFields};

constexpr GoField kResponseFields[] = {
    {"uid", GoKind::kString, "types.UID"},
    {"allowed", GoKind::kBool, "bool"},
    {"status", GoKind::kStruct, "v1.Status", &kStatus},
    {"patch", GoKind::kBytes, "[]uint8"},
    {"patchType", GoKind::kString, "v1.PatchType"},
    {"auditAnnotations", GoKind::kStringMap, "map[string]string"},
    {"warnings", GoKind::kStringList, "[]string"},
};
constexpr GoStruct kResponse = {"AdmissionResponse", kResponseFields};

constexpr GoField kGvkFields[] = {{"group"}, {"version"}, {"kind"}};
constexpr GoStruct kGvk = {"GroupVersionKind", kGvkFields};
constexpr GoField kGvrFields[] = {{"group"}, {"version"}, {"resource"}};
constexpr GoStruct kGvr = {"GroupVersionResource", kGvrFields};
constexpr GoField kUserFields[] = {
    {"username"},
    {"uid"},
    {"groups", GoKind::kStringList, "[]string"},
    {"extra", GoKind::kStringListMap, "map[string]v1.ExtraValue"},
};
constexpr GoStruct kUser = {"UserInfo", kUserFields};

constexpr GoField kRequestFields[] = {
    {"uid", GoKind::kString, "types.UID"},
    {"kind", GoKind::kStruct, "v1.GroupVersionKind", &kGvk},
    {"resource", GoKind::kStruct, "v1.GroupVersionResource", &kGvr},
    {"subResource"},
    {"requestKind", GoKind::kStruct, "v1.GroupVersionKind", &kGvk},
    {"requestResource", GoKind::kStruct, "v1.GroupVersionResource", &kGvr},
    {"requestSubResource"},
    {"name"},
    {"namespace"},
    {"operation", GoKind::kString, "v1.Operation"},
    {"userInfo", GoKind::kStruct, "v1.UserInfo", &kUser},
    {"object", GoKind::kAny},
    {"oldObject", GoKind::kAny},
    {"dryRun", GoKind::kBool, "bool"},
    {"options", GoKind::kAny},
};
constexpr GoStruct kRequest = {"AdmissionRequest", kRequestFields};

constexpr GoField kReviewFields[] = {
    {"kind"},
    {"apiVersion"},
    {"request", GoKind::kStruct, "v1.AdmissionRequest", &kRequest},
    {"response", GoKind::kStruct, "v1.AdmissionResponse", &kResponse},
};
constexpr GoStruct kReview = {"AdmissionReview", kReviewFields};

constexpr GoField kReviewStatusFields[] = {
    {"allowed", GoKind::kBool, "bool"},
    {"status", GoKind::kStruct, "v1.Status", &kStatus},
};
constexpr GoStruct kReviewStatus = {"AdmissionReviewStatus", kReviewStatusFields};
constexpr GoField kReviewV1alpha1Fields[] = {
    {"kind"},
    {"apiVersion"},
    {"spec", GoKind::kAny},
    {"status", GoKind::kStruct, "v1alpha1.AdmissionReviewStatus", &kReviewStatus},
};
constexpr GoStruct kReviewV1alpha1 = {"AdmissionReview", kReviewV1alpha1Fields};

constexpr GoField kConversionRequestFields[] = {
    {"uid", GoKind::kString, "types.UID"},
    {"desiredAPIVersion"},
    {"objects", GoKind::kAnyList, "[]runtime.RawExtension"},
};
constexpr GoStruct kConversionRequest = {"ConversionRequest", kConversionRequestFields};
constexpr GoField kConversionResponseFields[] = {
    {"uid", GoKind::kString, "types.UID"},
    {"convertedObjects", GoKind::kAnyList, "[]runtime.RawExtension"},
    {"result", GoKind::kStruct, "v1.Status", &kStatus},
};
constexpr GoStruct kConversionResponse = {"ConversionResponse", kConversionResponseFields};
constexpr GoField kConversionReviewFields[] = {
    {"kind"},
    {"apiVersion"},
    {"request", GoKind::kStruct, "v1.ConversionRequest", &kConversionRequest},
    {"response", GoKind::kStruct, "v1.ConversionResponse", &kConversionResponse},
};
constexpr GoStruct kConversionReview = {"ConversionReview", kConversionReviewFields};

class Decoder {
 public:
  explicit Decoder(json::Arena& arena) : arena_(arena) {}

  // Of all values of one place, in the order of the text; objects.
  base::Result<json::Value> Struct(const GoStruct& shape, std::span<const json::Value> inputs) {
    std::array<const GoField*, kMostFields> fields;
    if (inputs.size() == 1 && HasFieldsOnce(shape, inputs[0], fields)) {
      return StructOnce(shape, inputs[0], fields);
    }
    std::vector<std::pair<const GoField*, std::vector<json::Value>>> found;
    for (const json::Value& input : inputs) {
      for (const json::Member& member : input.members()) {
        if (const GoField* field = Find(shape, member.name())) Add(found, *field, member.value);
      }
    }
    std::vector<std::pair<const GoField*, json::Value>> decoded;
    const std::size_t depth = path_.size();
    for (const auto& [field, values] : found) {
      if (values.empty()) continue;
      if (depth != 0) path_.push_back('.');
      path_.append(field->name);
      decoded.emplace_back(field, TRY(Field(shape, *field, values)));
      path_.resize(depth);
    }
    // Go writes the fields in the order of the struct.
    std::sort(decoded.begin(), decoded.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    json::ObjectBuilder out(arena_);
    for (const auto& [field, value] : decoded) out.Set(field->name, value);
    return out.Build();
  }

 private:
  static constexpr std::size_t kMostFields = 16;  // of a shape
  static_assert(std::size(kRequestFields) <= kMostFields);

  // `fields` gets the field of each member, or null.
  static bool HasFieldsOnce(const GoStruct& shape, json::Value input,
                            std::span<const GoField*> fields) {
    if (input.size() > fields.size()) return false;
    std::uint32_t seen = 0;
    for (const json::Member& member : input.members()) {
      const GoField* const field = fields.front() = Find(shape, member.name());
      fields = fields.subspan(1);
      if (field == nullptr) continue;
      const std::uint32_t bit = 1U << static_cast<std::uint32_t>(field - shape.fields.data());
      if ((seen & bit) != 0) return false;
      seen |= bit;
    }
    return true;
  }

  // As Struct(), of an object in which no field comes twice: nearly all are.
  base::Result<json::Value> StructOnce(const GoStruct& shape, json::Value input,
                                       std::span<const GoField* const> fields) {
    std::array<std::optional<json::Value>, kMostFields> decoded;
    const std::size_t depth = path_.size();
    for (const json::Member& member : input.members()) {
      const GoField* const field = fields.front();
      fields = fields.subspan(1);
      if (field == nullptr || member.value.is_null()) continue;
      if (depth != 0) path_.push_back('.');
      path_.append(field->name);
      decoded[static_cast<std::size_t>(field - shape.fields.data())] =
          TRY(Field(shape, *field, std::span(&member.value, 1)));
      path_.resize(depth);
    }
    json::ObjectBuilder out(arena_);
    for (std::size_t i = 0; i < shape.fields.size(); ++i) {
      if (decoded[i]) out.Add(shape.fields[i].name, *decoded[i]);
    }
    return out.Build();
  }

  static void Add(std::vector<std::pair<const GoField*, std::vector<json::Value>>>& found,
                  const GoField& field, json::Value value) {
    auto at = std::find_if(found.begin(), found.end(),
                           [&field](const auto& entry) { return entry.first == &field; });
    if (at == found.end()) at = found.insert(found.end(), {&field, {}});
    if (!value.is_null()) {
      at->second.push_back(value);
    } else if (IsClearedByNull(field)) {
      at->second.clear();
    }
  }

  static bool IsClearedByNull(const GoField& field) {
    switch (field.kind) {
      case GoKind::kString:
        return field.name == "patchType";  // a pointer
      case GoKind::kBool:
      case GoKind::kInt32:
      case GoKind::kAny:
        return false;
      case GoKind::kStruct:
        return field.name != "metadata";  // all others are pointers
      default:
        return true;
    }
  }

  static const GoField* Find(const GoStruct& shape, std::string_view name) {
    for (const GoField& field : shape.fields) {
      if (field.name == name) return &field;
    }
    return nullptr;
  }

  base::Status Mismatch(const GoStruct& shape, json::Value value, std::string_view go_type) const {
    return base::BadRequest(base::StrCat("json: cannot unmarshal ", json::GoTypeName(value),
                                         " into Go struct field ", shape.name, ".", path_,
                                         " of type ", go_type));
  }

  // Not empty. Those that are replaced must fit, too.
  base::Result<json::Value> Field(const GoStruct& shape, const GoField& field,
                                  std::span<const json::Value> values) {
    if (field.kind == GoKind::kStringMap) return StringMap(shape, field, values);
    if (field.kind == GoKind::kStruct) {
      for (const json::Value& value : values) {
        if (!value.is_object()) return Mismatch(shape, value, field.go_type);
      }
      return Struct(*field.shape, values);
    }
    for (const json::Value& value : values.first(values.size() - 1)) {
      TRY(Leaf(shape, field, value));
    }
    return Leaf(shape, field, values.back());
  }

  base::Result<json::Value> Leaf(const GoStruct& shape, const GoField& field, json::Value value) {
    switch (field.kind) {
      case GoKind::kAny:
        return json::LastOfDuplicates(arena_, value);
      case GoKind::kAnyList:
        TRY(Check(value.is_array(), shape, field, value));
        return json::LastOfDuplicates(arena_, value);
      case GoKind::kString:
        return Check(value.is_string(), shape, field, value);
      case GoKind::kBool:
        return Check(value.is_bool(), shape, field, value);
      case GoKind::kInt32:
        return Integer<std::int32_t>(shape, field, value);
      case GoKind::kInt64:
        return Integer<std::int64_t>(shape, field, value);
      case GoKind::kBytes:
        return Bytes(shape, field, value);
      case GoKind::kStringList:
        return StringList(shape, field.go_type, value);
      case GoKind::kStringListMap:
        return StringListMap(shape, field, value);
      case GoKind::kStructList:
        return StructList(shape, field, value);
      default:  // see Field()
        return value;
    }
  }

  base::Result<json::Value> Check(bool fits, const GoStruct& shape, const GoField& field,
                                  json::Value value) const {
    if (!fits) return Mismatch(shape, value, field.go_type);
    return value;
  }

  template <typename Number>
  base::Result<json::Value> Integer(const GoStruct& shape, const GoField& field,
                                    json::Value value) const {
    if (!value.is_number()) return Mismatch(shape, value, field.go_type);
    const bool fits = value.is_int() && value.AsInt() >= std::numeric_limits<Number>::min() &&
                      value.AsInt() <= std::numeric_limits<Number>::max();
    if (fits) return value;
    return base::BadRequest(base::StrCat("json: cannot unmarshal number ", json::ToString(value),
                                         " into Go struct field ", shape.name, ".", path_,
                                         " of type ", field.go_type));
  }

  base::Result<json::Value> Bytes(const GoStruct& shape, const GoField& field, json::Value value) {
    if (!value.is_string()) return Mismatch(shape, value, field.go_type);
    std::size_t error_at = 0;
    const auto bytes = base::Base64Decode(value.AsString(), &error_at);
    if (!bytes) {
      return base::BadRequest(
          base::StrCat("illegal base64 data at input byte ", std::to_string(error_at)));
    }
    return json::String(arena_, *bytes);
  }

  base::Result<json::Value> StringMap(const GoStruct& shape, const GoField& field,
                                      std::span<const json::Value> values) {
    json::ObjectBuilder out(arena_);
    for (const json::Value& value : values) {
      if (!value.is_object()) return Mismatch(shape, value, field.go_type);
      for (const json::Member& member : value.members()) {
        if (!member.value.is_string() && !member.value.is_null()) {
          return Mismatch(shape, member.value, "string");
        }
        out.Set(member.name(), json::Value::StringView(member.value.AsString()));
      }
    }
    return out.Build();
  }

  base::Result<json::Value> StringList(const GoStruct& shape, std::string_view go_type,
                                       json::Value value) {
    if (!value.is_array()) return Mismatch(shape, value, go_type);
    json::ArrayBuilder out(arena_);
    for (const json::Value element : value.elements()) {
      if (!element.is_string() && !element.is_null()) return Mismatch(shape, element, "string");
      out.Add(json::Value::StringView(element.AsString()));
    }
    return out.Build();
  }

  base::Result<json::Value> StringListMap(const GoStruct& shape, const GoField& field,
                                          json::Value value) {
    if (!value.is_object()) return Mismatch(shape, value, field.go_type);
    for (const json::Member& member : value.members()) {
      if (!member.value.is_null()) TRY(StringList(shape, "v1.ExtraValue", member.value));
    }
    return value;
  }

  base::Result<json::Value> StructList(const GoStruct& shape, const GoField& field,
                                       json::Value value) {
    if (!value.is_array()) return Mismatch(shape, value, field.go_type);
    json::ArrayBuilder out(arena_);
    for (const json::Value element : value.elements()) {
      if (!element.is_object() && !element.is_null()) {
        return Mismatch(shape, element, field.go_type.substr(2));
      }
      out.Add(TRY(Struct(*field.shape, std::span(&element, 1))));
    }
    return out.Build();
  }

  json::Arena& arena_;
  std::string path_;
};

}  // namespace

const GoStruct& AdmissionReviewShape() { return kReview; }
const GoStruct& AdmissionReviewV1alpha1Shape() { return kReviewV1alpha1; }
const GoStruct& ConversionReviewShape() { return kConversionReview; }
const GoStruct& StatusShape() { return kStatus; }

base::Result<json::Value> DecodeStruct(json::Arena& arena, const GoStruct& shape,
                                       json::Value input) {
  return Decoder(arena).Struct(shape, std::span(&input, 1));
}

}  // namespace portcullis::webhook
