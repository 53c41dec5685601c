#include "engine/codec/protobuf.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/names.h"
#include "base/clock.h"
#include "base/strings.h"
#include "engine/codec/embedded_fields.h"
#include "json/reader.h"

namespace portcullis::engine {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);
constexpr int kMaxDepth = 100;

enum class Mode { kSingle, kRepeated, kMap, kInline };

struct FieldLine {
  std::string_view name;
  Mode mode = Mode::kSingle;
  std::string_view type;  // one letter for scalars
  std::string package;    // of a message type
};
using Message = std::unordered_map<std::uint32_t, FieldLine>;

// The parsed table. Immutable after construction.
class Fields {
 public:
  explicit Fields(std::string_view text) {
    std::string package;
    for (std::string_view line : base::Split(text, '\n')) {
      if (line.empty() || line.front() == '#') continue;
      if (line.front() == '@') {
        package = std::string(line.substr(1));
      } else {
        AddMessage(package, line);
      }
    }
  }

  const Message* Find(std::string_view package, std::string_view message) const {
    const auto found = messages_.find(base::StrCat(package, ".", message));
    return found == messages_.end() ? nullptr : &found->second;
  }

 private:
  void AddMessage(const std::string& package, std::string_view line) {
    const auto words = base::Split(line, ' ');
    Message& message = messages_[base::StrCat(package, ".", words[0])];
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      std::string_view rest = words[i].substr(equals + 1);
      const std::size_t digits = rest.find_first_not_of("0123456789");
      const auto number = base::ParseInt(rest.substr(0, digits));
      rest.remove_prefix(digits);
      FieldLine field;
      field.name = words[i].substr(0, equals);
      const std::size_t mode = std::string_view("*%^").find(rest.front());
      if (mode != std::string_view::npos) {
        field.mode = static_cast<Mode>(mode + 1);
        rest.remove_prefix(1);
      }
      const std::size_t dot = rest.rfind('.');
      field.package = dot == std::string_view::npos ? package : std::string(rest.substr(0, dot));
      field.type = dot == std::string_view::npos ? rest : rest.substr(dot + 1);
      message[static_cast<std::uint32_t>(number.value_or(0))] = std::move(field);
    }
  }

  std::unordered_map<std::string, Message> messages_;
};

base::Status Malformed() {
  return base::BadRequest("proto: illegal wireType or unexpected end of data");
}

// Reads the wire form. https://protobuf.dev/programming-guides/encoding/
class Wire {
 public:
  explicit Wire(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }

  bool Varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return false;
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if ((byte & 0x80U) == 0) return true;
    }
    return false;
  }

  bool Bytes(std::string_view& value) {
    std::uint64_t size = 0;
    if (!Varint(size) || size > bytes_.size()) return false;
    value = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }

  bool Fixed(std::size_t size, std::uint64_t& value) {
    if (bytes_.size() < size) return false;
    value = 0;
    std::memcpy(&value, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return true;
  }

 private:
  std::string_view bytes_;
};

// One field as it stands on the wire.
struct Part {
  std::uint32_t number = 0;
  std::uint32_t wire_type = 0;
  std::uint64_t scalar = 0;
  std::string_view bytes;
};

bool ReadPart(Wire& wire, Part& part) {
  std::uint64_t tag = 0;
  if (!wire.Varint(tag)) return false;
  part.number = static_cast<std::uint32_t>(tag >> 3);
  part.wire_type = static_cast<std::uint32_t>(tag & 7U);
  switch (part.wire_type) {
    case 0:
      return wire.Varint(part.scalar);
    case 1:
      return wire.Fixed(8, part.scalar);
    case 2:
      return wire.Bytes(part.bytes);
    case 5:
      return wire.Fixed(4, part.scalar);
    default:
      return false;
  }
}

// The JSON of a message while its fields arrive. The elements of a list and the entries of a map
// are fields of their own; they are collected and made a value once.
class MessageBuilder {
 public:
  explicit MessageBuilder(json::Arena& arena) : arena_(arena), object_(arena) {}

  void Set(std::string_view name, json::Value value) { object_.Set(name, value); }
  void AddElement(std::string_view name, json::Value value) {
    const auto [list, is_new] = lists_.try_emplace(name, arena_);
    if (is_new) object_.Set(name, json::Value());  // keeps the place
    list->second.Add(value);
  }
  void AddEntry(std::string_view name, std::string_view key, json::Value value) {
    const auto [map, is_new] = maps_.try_emplace(name, arena_);
    if (is_new) object_.Set(name, json::Value());
    map->second.Set(key, value);
  }
  json::Value Build() {
    for (auto& [name, list] : lists_) object_.Set(name, list.Build());
    for (auto& [name, map] : maps_) object_.Set(name, map.Build());
    return object_.Build();
  }

 private:
  json::Arena& arena_;
  json::ObjectBuilder object_;
  std::map<std::string_view, json::ArrayBuilder> lists_;
  std::map<std::string_view, json::ObjectBuilder> maps_;
};

class Reader {
 public:
  Reader(json::Arena& arena, const Fields& fields) : arena_(arena), fields_(fields) {}

  base::Result<json::Value> Object(std::string_view package, std::string_view type,
                                   std::string_view bytes) {
    MessageBuilder object(arena_);
    TRY(Into(object, package, type, bytes, 0));
    return object.Build();
  }

 private:
  base::Status Into(MessageBuilder& object, std::string_view package, std::string_view type,
                    std::string_view bytes, int depth) {
    if (depth > kMaxDepth) return base::BadRequest("proto: exceeded max depth");
    const Message* message = fields_.Find(package, type);
    if (message == nullptr) return base::OkStatus();  // a message without fields we know
    Wire wire(bytes);
    while (!wire.done()) {
      Part part;
      if (!ReadPart(wire, part)) return Malformed();
      const auto found = message->find(part.number);
      if (found == message->end()) continue;
      const FieldLine& field = found->second;
      if (field.mode == Mode::kInline) {
        TRY(Into(object, field.package, field.type, part.bytes, depth + 1));
        continue;
      }
      if (field.mode == Mode::kMap) {
        TRY(AddEntry(object, field, part.bytes, depth));
        continue;
      }
      const json::Value value = TRY(ValueOf(field, part, depth));
      if (field.mode == Mode::kRepeated) {
        object.AddElement(field.name, value);
      } else {
        object.Set(field.name, value);
      }
    }
    return base::OkStatus();
  }

  base::Status AddEntry(MessageBuilder& object, const FieldLine& field, std::string_view bytes,
                        int depth) {
    std::string_view key;
    Part value_part;
    Wire wire(bytes);
    while (!wire.done()) {
      Part part;
      if (!ReadPart(wire, part)) return Malformed();
      if (part.number == 1) key = part.bytes;
      if (part.number == 2) value_part = part;
    }
    object.AddEntry(field.name, arena_.Copy(key), TRY(ValueOf(field, value_part, depth)));
    return base::OkStatus();
  }

  base::Result<json::Value> ValueOf(const FieldLine& field, const Part& part, int depth) {
    if (field.type.size() == 1) return Scalar(field.type.front(), part);
    bool special = true;
    const json::Value known = TRY(Special(field.type, part.bytes, special));
    if (special) return known;
    MessageBuilder message(arena_);
    TRY(Into(message, field.package, field.type, part.bytes, depth + 1));
    const json::Value object = message.Build();
    // A list of strings with a name of its own is a message with one field.
    if (field.type == "ExtraValue" || field.type == "Verbs") {
      const json::Value* items = object.Find("items");
      return items != nullptr ? *items : json::MakeArray(arena_, {});
    }
    return object;
  }

  json::Value Scalar(char type, const Part& part) {
    switch (type) {
      case 's':
        return json::String(arena_, part.bytes);
      case 'b':
        return json::String(arena_, base::Base64Encode(part.bytes));
      case 't':
        return json::Value::Bool(part.scalar != 0);
      case 'd': {
        double number = 0;
        std::memcpy(&number, &part.scalar, sizeof(number));
        return json::Value::Double(number);
      }
      default:
        return json::Value::Int(static_cast<std::int64_t>(part.scalar));
    }
  }

  // Types whose JSON is no object. `special` is false for all others.
  base::Result<json::Value> Special(std::string_view type, std::string_view bytes, bool& special) {
    if (type == "Quantity") return Named(bytes, 1, true);
    if (type == "RawExtension" || type == "FieldsV1" || type == "JSON") {
      const json::Value raw = TRY(Named(bytes, 1, true));
      if (raw.is_null() || raw.AsString().empty()) return json::Value();
      return json::Parse(arena_, raw.AsString());
    }
    if (type == "Time" || type == "MicroTime") {
      const std::int64_t seconds = TRY(Named(bytes, 1, false)).AsInt();
      const std::int64_t nanos = TRY(Named(bytes, 2, false)).AsInt();
      if (bytes.empty()) return json::Value();
      const base::WallTime time(std::chrono::duration_cast<base::WallTime::duration>(
          std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos)));
      return json::String(arena_,
                          type == "Time" ? base::FormatTime(time) : base::FormatMicroTime(time));
    }
    if (type == "Duration") {
      const std::int64_t nanos = TRY(Named(bytes, 1, false)).AsInt();
      return json::String(arena_, base::FormatDuration(std::chrono::nanoseconds(nanos)));
    }
    if (type == "IntOrString") {
      if (TRY(Named(bytes, 1, false)).AsInt() == 1) {
        return json::String(arena_, TRY(Named(bytes, 3, true)).AsString());
      }
      return json::Value::Int(TRY(Named(bytes, 2, false)).AsInt());
    }
    special = false;
    return json::Value();
  }

  // One field of a small message; null if it is not there.
  base::Result<json::Value> Named(std::string_view bytes, std::uint32_t number, bool text) {
    Wire wire(bytes);
    json::Value value;
    while (!wire.done()) {
      Part part;
      if (!ReadPart(wire, part)) return Malformed();
      if (part.number == number) value = Scalar(text ? 's' : 'i', part);
    }
    return value;
  }

  json::Arena& arena_;
  const Fields& fields_;
};

// "rbac.authorization.k8s.io/v1" has its types in "api.rbac.v1".
std::string PackageOf(const api::GroupVersion& version) {
  if (version.group == "meta.k8s.io") return "meta";
  std::string_view group = version.group;
  group = group.substr(0, group.find('.'));
  if (group.empty()) group = "core";
  return base::StrCat("api.", group, ".", version.version);
}

}  // namespace

base::Result<json::Value> ParseProtobuf(json::Arena& arena, std::string_view body) {
  if (body.substr(0, kMagic.size()) != kMagic) {
    return base::BadRequest(
        "provided data does not appear to be a protobuf message, expected "
        "prefix [107 56 115 0]");
  }
  static const Fields kFields(EmbeddedProtobufFields());
  std::string_view raw;
  std::string_view meta;
  Wire wire(body.substr(kMagic.size()));
  while (!wire.done()) {
    Part part;
    if (!ReadPart(wire, part)) return Malformed();
    if (part.number == 1) meta = part.bytes;
    if (part.number == 2) raw = part.bytes;
  }
  std::string_view api_version;
  std::string_view kind;
  Wire meta_wire(meta);
  while (!meta_wire.done()) {
    Part part;
    if (!ReadPart(meta_wire, part)) return Malformed();
    if (part.number == 1) api_version = part.bytes;
    if (part.number == 2) kind = part.bytes;
  }
  const api::GroupVersion version = TRY(api::ParseGroupVersion(api_version));
  // Options have the version of the resource they are for.
  const bool is_options = kind.size() > 7 && kind.substr(kind.size() - 7) == "Options" &&
                          kFields.Find(PackageOf(version), kind) == nullptr;
  const std::string package = is_options ? "meta" : PackageOf(version);
  if (kFields.Find(package, kind) == nullptr) {
    return base::BadRequest(base::StrCat("no kind \"", kind, "\" is registered for version \"",
                                         api_version, "\" in protobuf"));
  }
  json::Value object = TRY(Reader(arena, kFields).Object(package, kind, raw));
  object = json::With(arena, object, "kind", json::String(arena, kind));
  return json::With(arena, object, "apiVersion", json::String(arena, api_version));
}

}  // namespace portcullis::engine
