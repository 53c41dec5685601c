// SPDX-License-Identifier: Apache-2.0

#include "json/yaml_node.h"

#include <yaml.h>

#include <map>

#include "base/strings.h"

namespace portcullis::json::internal {
namespace {

// The scanner's work per token grows with the nesting of brackets: the sum of these depths is
// limited. A text of 3 MB takes a second to get there; none that anybody needs comes near.
constexpr std::size_t kMaxScannerWork = 400'000'000;

std::string Text(const yaml_char_t* text) {
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
}

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
  explicit TreeReader(std::string_view text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
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
  // Go's library counts lines from 0 except in errors of its scanner, and prints no line 0.
  base::Status ParserError() const {
    std::size_t line = parser_.problem_mark.line;
    if (line != 0) {
      if (parser_.error == YAML_SCANNER_ERROR) ++line;
    } else {
      line = parser_.context_mark.line;
    }
    const std::string_view problem =
        parser_.problem == nullptr ? "unknown problem parsing YAML content" : parser_.problem;
    if (line == 0) return YamlError(problem);
    return YamlError(base::StrCat("line ", std::to_string(line), ": ", problem));
  }

  base::Status Handle(const Event& event) {
    scanner_work_ += flow_depth_;
    if (scanner_work_ > kMaxScannerWork) return YamlTooDeep(event->start_mark.line + 1);
    switch (event->type) {
      case YAML_SCALAR_EVENT: {
        YamlNode& node = NewNode(YamlKind::kScalar, event);
        node.value.assign(reinterpret_cast<const char*>(event->data.scalar.value),
                          event->data.scalar.length);
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
