// SPDX-License-Identifier: Apache-2.0

#include "server/rest/list_text.h"

#include <utility>

#include "base/strings.h"
#include "cbor/writer.h"
#include "engine/codec/cbor.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "server/rest/list_piece.h"

namespace portcullis::server::rest {
namespace {

constexpr int kIndent = 2;

json::WriteOptions Indented() {
  json::WriteOptions options;
  options.indent = kIndent;
  return options;
}

}  // namespace

ListText::ListText(json::Value frame, const Accepted& accepted,
                   std::vector<store::ObjectPtr> objects, Item item,
                   const api::schema::Schema* schema)
    : style_(StyleOf(accepted)),
      objects_(std::move(objects)),
      item_(std::move(item)),
      schema_(schema) {
  SplitFrame(frame);
}

ListText::Style ListText::StyleOf(const Accepted& accepted) {
  if (accepted.type == MediaType::kYaml) return Style::kYaml;
  if (accepted.type == MediaType::kCbor) return Style::kCbor;
  return accepted.pretty ? Style::kIndented : Style::kPlain;
}

// The length of an array stands before it, and members have no order: the items come last.
void ListText::SplitCborFrame(json::Value frame, std::string_view items) {
  frame_ = cbor::kSelfDescribed;
  if (objects_.empty()) return cbor::Write(frame, frame_);
  cbor::WriteHead(cbor::Major::kMap, frame.size(), frame_);
  for (const json::Member& member : frame.members()) {
    if (member.name() == items) continue;
    cbor::WriteString(member.name(), frame_);
    cbor::Write(member.value, frame_);
  }
  cbor::WriteString(items, frame_);
  cbor::WriteHead(cbor::Major::kArray, objects_.size(), frame_);
}

void ListText::SplitFrame(json::Value frame) {
  const std::string_view items = frame.Has("rows") ? "rows" : "items";
  if (style_ == Style::kCbor) return SplitCborFrame(frame, items);
  if (style_ == Style::kYaml) {
    frame_ = json::ToYaml(frame);
    if (objects_.empty()) return;
    // Names are in order; only those of the list itself begin a line.
    const std::string name = base::StrCat("\n", items, ":");
    const std::size_t at = frame_.find(base::StrCat(name, " []\n")) + name.size();
    end_ = frame_.substr(at + std::string_view(" []\n").size());
    frame_.resize(at);
    frame_ += '\n';
    return;
  }
  frame_ = json::ToString(frame, style_ == Style::kIndented ? Indented() : json::WriteOptions());
  if (style_ == Style::kPlain) end_ = "\n";
  if (objects_.empty()) return;
  // Within strings quotes are escaped: this is the name itself.
  const std::size_t name = frame_.rfind(base::StrCat("\"", items, "\":"));
  const std::size_t at = frame_.find(']', name);
  end_.insert(0, frame_.substr(at));
  if (style_ == Style::kIndented) end_.insert(0, "\n  ");
  frame_.resize(at);
}

base::Result<bool> ListText::Append(std::string& out) {
  ListPiece piece(out);
  if (next_ == 0) out += frame_;
  while (next_ < objects_.size() && !piece.is_full()) {
    piece.MakeRoom(objects_.size() - next_);
    const bool has_commas = style_ == Style::kPlain || style_ == Style::kIndented;
    if (next_ != 0 && has_commas) out += ',';
    if (style_ == Style::kIndented) out += "\n    ";
    TRY(AppendItem(objects_[next_], out));
    objects_[next_++] = nullptr;
  }
  if (next_ < objects_.size()) return true;
  out += end_;
  return false;
}

base::Status ListText::AppendItem(const store::ObjectPtr& object, std::string& out) {
  json::Arena arena;
  if (style_ == Style::kPlain) return item_(arena, object, out);
  std::string line;
  TRY(item_(arena, object, line));
  const json::Value value = TRY(json::Parse(arena, line));
  if (style_ == Style::kCbor) {
    engine::WriteCbor(schema_, value, out);
    return base::OkStatus();
  }
  if (style_ == Style::kYaml) {
    json::WriteYaml(json::MakeArray(arena, {value}), out);
    return base::OkStatus();
  }
  // Within strings line breaks are escaped: what is one here separates lines, two levels deep.
  for (const char c : json::ToString(value, Indented())) {
    out += c;
    if (c == '\n') out += "    ";
  }
  return base::OkStatus();
}

}  // namespace portcullis::server::rest
