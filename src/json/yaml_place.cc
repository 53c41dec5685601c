#include "json/yaml_place.h"

#include <yaml.h>

#include "base/strings.h"

namespace portcullis::json {
namespace {

// A parsed document; gone with this.
class YamlDocument {
 public:
  explicit YamlDocument(std::string_view text) {
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0) return;
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
    loaded_ = yaml_parser_load(&parser, &document_) != 0;
    yaml_parser_delete(&parser);
  }
  ~YamlDocument() {
    if (loaded_) yaml_document_delete(&document_);
  }
  YamlDocument(const YamlDocument&) = delete;
  YamlDocument& operator=(const YamlDocument&) = delete;

  const yaml_node_t* root() { return loaded_ ? yaml_document_get_root_node(&document_) : nullptr; }
  const yaml_node_t* At(int index) { return yaml_document_get_node(&document_, index); }

 private:
  yaml_document_t document_{};
  bool loaded_ = false;
};

std::string_view TextOf(const yaml_node_t* node) {
  if (node == nullptr || node->type != YAML_SCALAR_NODE) return {};
  return {reinterpret_cast<const char*>(node->data.scalar.value), node->data.scalar.length};
}

YamlPlace PlaceOf(const yaml_node_t* node, std::size_t steps) {
  return {node->start_mark.line + 1, node->start_mark.column + 1, steps};
}

// One step down; `named` is what a message should point at. Null if the step does not exist.
const yaml_node_t* Step(YamlDocument& document, const yaml_node_t* node, std::string_view step,
                        const yaml_node_t*& named) {
  if (node->type == YAML_MAPPING_NODE) {
    const auto& pairs = node->data.mapping.pairs;
    for (const yaml_node_pair_t* pair = pairs.start; pair < pairs.top; ++pair) {
      if (TextOf(document.At(pair->key)) != step) continue;
      named = document.At(pair->key);
      return document.At(pair->value);
    }
  } else if (node->type == YAML_SEQUENCE_NODE) {
    const auto& items = node->data.sequence.items;
    const auto index = base::ParseInt(step);
    if (!index || *index < 0 || *index >= items.top - items.start) return nullptr;
    named = document.At(items.start[*index]);
    return named;
  }
  return nullptr;
}

}  // namespace

std::optional<YamlPlace> FindInYaml(std::string_view text, std::span<const std::string> path) {
  YamlDocument document(text);
  const yaml_node_t* node = document.root();
  std::optional<YamlPlace> found;
  for (std::size_t i = 0; i < path.size() && node != nullptr; ++i) {
    const yaml_node_t* named = nullptr;
    node = Step(document, node, path[i], named);
    if (node != nullptr) found = PlaceOf(named, i + 1);
  }
  return found;
}

std::optional<YamlPlace> FindMemberInYaml(std::string_view text, std::string_view name) {
  YamlDocument document(text);
  if (document.root() == nullptr) return std::nullopt;
  // Nodes are numbered as they are met, from 1.
  for (int i = 1; const yaml_node_t* node = document.At(i); ++i) {
    const yaml_node_t* named = nullptr;
    if (node->type == YAML_MAPPING_NODE && Step(document, node, name, named) != nullptr) {
      return PlaceOf(named, 1);
    }
  }
  return std::nullopt;
}

}  // namespace portcullis::json
