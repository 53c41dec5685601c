// The table of field numbers, parsed: data/protobuf.fields, whose format protobuf.h describes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace portcullis::engine::protobuf {

// How the field holds its type: see the modes in protobuf.h.
enum class Mode { kSingle, kRepeated, kMap, kInline };

struct FieldLine {
  std::string_view name;
  Mode mode = Mode::kSingle;
  std::string_view type;  // one letter for scalars
  std::string package;    // of a message type
};
using Message = std::unordered_map<std::uint32_t, FieldLine>;

// Immutable after construction: thread-safe. Views into the text, which outlives it.
class Fields {
 public:
  explicit Fields(std::string_view text);
  // Null: the table does not have the message.
  const Message* Find(std::string_view package, std::string_view message) const;

 private:
  void AddMessage(const std::string& package, std::string_view line);

  std::unordered_map<std::string, Message> messages_;
};

}  // namespace portcullis::engine::protobuf
