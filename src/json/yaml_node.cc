// SPDX-License-Identifier: Apache-2.0

#include "json/yaml_node.h"

#include <yaml.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/strings.h"

namespace portcullis::json::internal {
namespace {

// The scanner's work per token grows with the nesting of brackets: the sum of these depths is
// limited. Maps in maps up to kYamlMaxDepth make 150,000,000, which takes two to three seconds; a text of
// 3 MB without a limit would take minutes.
constexpr std::size_t kMaxScannerWork = 160'000'000;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// A character of private use that libyaml reads in the place of another one.
struct StandIn {
  std::string_view character;
  std::string_view number;  // in escapes
  std::string_view original;
};
constexpr StandIn kMark = {"\xEE\x80\x80", "e000", kByteOrderMark};
constexpr StandIn kSlash = {"\xEE\x80\x81", "e001", "/"};

// The version 1.2, which Go's library does not know, becomes 1.0, which libyaml does not know.
void ReplaceVersion(std::string& text) {
  std::size_t line = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (; line < text.size(); line = text.find('\n', line) + 1) {
    const std::size_t first = text.find_first_not_of(" \t\r", line);
    if (first == std::string::npos) return;
    if (text.compare(line, 5, "%YAML") == 0) {
      const std::size_t number = text.find_first_not_of(" \t", line + 5);
      if (number != std::string::npos && text.compare(number, 3, "1.2") == 0)
        text[number + 2] = '0';
    } else if (text[line] != '%' && text[first] != '#' && text[first] != '\n') {
      return;
    }
    if (text.find('\n', line) == std::string::npos) return;
  }
}

// The text with what libyaml reads in another way than Go's library: versions, byte order marks that begin a later line,
// and the escape `\/`. For Go the marks are characters like others, and a slash cannot be escaped. The same holds here of
// the stand-ins that are put in their places: characters that the text has in no form. They are added to `used`.
std::string ForLibyaml(std::string_view text, std::vector<StandIn>& used) {
  std::string out(text);
  ReplaceVersion(out);
  const auto put = [&](const StandIn& stand_in, std::string_view before) {
    const std::string wanted = base::StrCat(before, stand_in.original);
    if (out.find(wanted, 1) == std::string::npos) return;
    if (out.find(stand_in.character) != std::string::npos) return;
    if (base::ToLower(out).find(stand_in.number) != std::string::npos) return;
    out = out.substr(0, 1) + base::ReplaceAll(std::string_view(out).substr(1), wanted,
                                              base::StrCat(before, stand_in.character));
    used.push_back(stand_in);
  };
  put(kMark, "");
  put(kSlash, "\\");
  return out;
}

// Gives libyaml as much of a text at a time as Go's library takes, since both look for characters that
// are not allowed in all they have.
class Source {
 public:
  explicit Source(std::string text) : text_(std::move(text)) {}

  static int Read(void* source, unsigned char* buffer, std::size_t size, std::size_t* length) {
    Source& self = *static_cast<Source*>(source);
    self.capacity_ = std::max(self.capacity_, size);
    const std::size_t kept = self.capacity_ - size;  // of what came before
    *length = std::min(kChunk - kept, self.text_.size() - self.read_);
    std::copy_n(self.text_.data() + self.read_, *length, buffer);
    self.read_ += *length;
    return 1;
  }

  // The text from that character on.
  std::string_view From(const yaml_mark_t& mark) const {
    std::string_view rest = text_;
    if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    for (std::size_t left = mark.index; left > 0 && !rest.empty(); --left) {
      do rest.remove_prefix(1);
      while (!rest.empty() && continues(rest[0]));
    }
    return rest;
  }

 private:
  static constexpr std::size_t kChunk = 512;
  std::string text_;
  std::size_t read_ = 0;
  std::size_t capacity_ = 0;
};

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }
  yaml_event_t* get() { return &event_; }
  const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_ = {};
};

class TreeReader {
 public:
  explicit TreeReader(std::string_view text) : source_(ForLibyaml(text, stand_ins_)) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input(&parser_, Source::Read, &source_);
  }
  TreeReader(const TreeReader&) = delete;
  TreeReader& operator=(const TreeReader&) = delete;
  ~TreeReader() { yaml_parser_delete(&parser_); }

  base::Result<YamlTree> Run() {
    while (true) {
      Event event;
      if (yaml_parser_parse(&parser_, event.get()) == 0) return ParserError();
      if (event->type == YAML_STREAM_END_EVENT || event->type == YAML_DOCUMENT_END_EVENT) break;
      TRY(Handle(event));
    }
    return std::move(tree_);
  }

 private:
  std::string Text(std::string_view text) const {
    std::string out(text);
    for (const StandIn& stand_in : stand_ins_) {
      out = base::ReplaceAll(out, stand_in.character, stand_in.original);
    }
    return out;
  }

  std::string Text(const yaml_char_t* text) const {
    return text == nullptr ? std::string() : Text(reinterpret_cast<const char*>(text));
  }

  // Go's library counts lines from 0 except in errors of its scanner, and prints no line 0.
  base::Status ParserError() const {
    std::size_t line = parser_.problem_mark.line;
    if (line != 0) {
      if (parser_.error == YAML_SCANNER_ERROR) ++line;
    } else {
      line = parser_.context_mark.line;
    }
    std::string_view problem =
        parser_.problem == nullptr ? "unknown problem parsing YAML content" : parser_.problem;
    if (problem == "could not find expected ':'" && IsNoToken()) {
      problem = "found character that cannot start any token";
    }
    if (line == 0) return YamlError(problem);
    return YamlError(base::StrCat("line ", std::to_string(line), ": ", problem));
  }

  // Whether no token can begin where libyaml misses the colon of a key. It looks for such keys before each token,
  // Go's library when their turn comes: if nothing but space and comments is between, once it has the token.
  bool IsNoToken() const {
    const std::string_view at = source_.From(parser_.problem_mark);
    std::string_view before = source_.From(parser_.context_mark);
    before = before.substr(0, before.size() - at.size());
    before.remove_prefix(std::min(before.find('\n'), before.size()));
    for (const std::string_view line : base::Split(before, '\n')) {
      const std::string_view text = base::Trim(line);
      if (!text.empty() && text[0] != '#') return false;
    }
    const bool in_flow = parser_.flow_level > 0;
    return !at.empty() && (std::string_view("\t@`").find(at[0]) != std::string_view::npos ||
                           (at[0] == '%' && parser_.problem_mark.column > 0) ||
                           (in_flow && (at[0] == '|' || at[0] == '>')));
  }

  base::Status Handle(const Event& event) {
    scanner_work_ += flow_depth_;
    if (scanner_work_ > kMaxScannerWork) return YamlTooDeep(event->start_mark.line + 1);
    switch (event->type) {
      case YAML_SCALAR_EVENT: {
        YamlNode& node = NewNode(YamlKind::kScalar, event);
        node.value = Text(
            {reinterpret_cast<const char*>(event->data.scalar.value), event->data.scalar.length});
        node.tag = Text(event->data.scalar.tag);
        node.plain = event->data.scalar.plain_implicit != 0;
        Anchor(event->data.scalar.anchor, node);
        break;
      }
      case YAML_ALIAS_EVENT: {
        YamlNode& node = NewNode(YamlKind::kAlias, event);
        node.value = Text(event->data.alias.anchor);
        const auto found = anchors_.find(node.value);
        if (found == anchors_.end()) {
          return YamlError(base::StrCat("unknown anchor '", node.value, "' referenced"));
        }
        node.target = found->second;
        break;
      }
      case YAML_SEQUENCE_START_EVENT: {
        YamlNode& node = NewNode(YamlKind::kSequence, event);
        node.tag = Text(event->data.sequence_start.tag);
        Anchor(event->data.sequence_start.anchor, node);
        return Open(node, event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
      }
      case YAML_MAPPING_START_EVENT: {
        YamlNode& node = NewNode(YamlKind::kMapping, event);
        node.tag = Text(event->data.mapping_start.tag);
        Anchor(event->data.mapping_start.anchor, node);
        return Open(node, event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
      }
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        open_.pop_back();
        if (flow_depth_ > 0) --flow_depth_;
        break;
      default:
        break;
    }
    return base::OkStatus();
  }

  YamlNode& NewNode(YamlKind kind, const Event& event) {
    YamlNode& node = tree_.nodes.emplace_back();
    node.kind = kind;
    node.line = event->start_mark.line + 1;
    if (open_.empty()) {
      tree_.root = &node;
    } else {
      open_.back()->children.push_back(&node);
    }
    return node;
  }

  void Anchor(const yaml_char_t* anchor, const YamlNode& node) {
    if (anchor != nullptr) anchors_[Text(anchor)] = &node;
  }

  // Everything inside a flow collection is one, too.
  base::Status Open(YamlNode& node, bool is_flow) {
    open_.push_back(&node);
    if (is_flow) ++flow_depth_;
    return open_.size() > kYamlMaxDepth ? YamlTooDeep(node.line) : base::OkStatus();
  }

  std::vector<StandIn> stand_ins_;
  Source source_;
  yaml_parser_t parser_ = {};
  YamlTree tree_;
  std::vector<YamlNode*> open_;
  std::size_t flow_depth_ = 0;
  std::size_t scanner_work_ = 0;
  std::map<std::string, const YamlNode*> anchors_;
};

}  // namespace

base::Status YamlError(std::string_view what) {
  return base::BadRequest(base::StrCat("yaml: ", what));
}

base::Status YamlTooDeep(std::size_t line) {
  const std::string problem = base::StrCat("exceeded max depth of ", std::to_string(kYamlMaxDepth));
  return YamlError(line > 1 ? base::StrCat("line ", std::to_string(line), ": ", problem) : problem);
}

base::Result<YamlTree> ReadYamlTree(std::string_view text) { return TreeReader(text).Run(); }

}  // namespace portcullis::json::internal
