// SPDX-License-Identifier: Apache-2.0

#include "json/yaml_place.h"

#include <yaml.h>

#include "base/strings.h"

namespace portcullis::json {

class YamlPlaces::Parsed {
 public:
  explicit Parsed(std::string_view text) {
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0) return;
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
    loaded_ = yaml_parser_load(&parser, &document_) != 0;
    yaml_parser_delete(&parser);
  }
  ~Parsed() {
    if (loaded_) yaml_document_delete(&document_);
  }
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;

  const yaml_node_t* root() { return loaded_ ? yaml_document_get_root_node(&document_) : nullptr; }
  const yaml_node_t* At(int index) { return yaml_document_get_node(&document_, index); }
  // One step down; `named` is what a message should point at. Null if the step does not exist.
  const yaml_node_t* Step(const yaml_node_t* node, std::string_view step,
                          const yaml_node_t*& named);

 private:
  yaml_document_t document_{};
  bool loaded_ = false;
};

namespace {

std::string_view TextOf(const yaml_node_t* node) {
  if (node == nullptr || node->type != YAML_SCALAR_NODE) return {};
  return {reinterpret_cast<const char*>(node->data.scalar.value), node->data.scalar.length};
}

YamlPlace PlaceOf(const yaml_node_t* node, std::size_t steps) {
  return {node->start_mark.line + 1, node->start_mark.column + 1, steps};
}

}  // namespace

const yaml_node_t* YamlPlaces::Parsed::Step(const yaml_node_t* node, std::string_view step,
                                            const yaml_node_t*& named) {
  if (node->type == YAML_MAPPING_NODE) {
    const auto& pairs = node->data.mapping.pairs;
    for (const yaml_node_pair_t* pair = pairs.start; pair < pairs.top; ++pair) {
      if (TextOf(At(pair->key)) != step) continue;
      named = At(pair->key);
      return At(pair->value);
    }
  } else if (node->type == YAML_SEQUENCE_NODE) {
    const auto& items = node->data.sequence.items;
    const auto index = base::ParseInt(step);
    if (!index || *index < 0 || *index >= items.top - items.start) return nullptr;
    named = At(items.start[*index]);
    return named;
  }
  return nullptr;
}

YamlPlaces::YamlPlaces(std::string_view text) : parsed_(std::make_unique<Parsed>(text)) {}
YamlPlaces::~YamlPlaces() = default;
YamlPlaces::YamlPlaces(YamlPlaces&&) noexcept = default;
YamlPlaces& YamlPlaces::operator=(YamlPlaces&&) noexcept = default;

std::optional<YamlPlace> YamlPlaces::Find(std::span<const std::string> path) const {
  const yaml_node_t* node = parsed_->root();
  std::optional<YamlPlace> found;
  for (std::size_t i = 0; i < path.size() && node != nullptr; ++i) {
    const yaml_node_t* named = nullptr;
    node = parsed_->Step(node, path[i], named);
    if (node != nullptr) found = PlaceOf(named, i + 1);
  }
  return found;
}

std::optional<YamlPlace> YamlPlaces::FindMember(std::string_view name) const {
  if (parsed_->root() == nullptr) return std::nullopt;
  // Nodes are numbered as they are met, from 1.
  for (int i = 1; const yaml_node_t* node = parsed_->At(i); ++i) {
    const yaml_node_t* named = nullptr;
    if (node->type == YAML_MAPPING_NODE && parsed_->Step(node, name, named) != nullptr) {
      return PlaceOf(named, 1);
    }
  }
  return std::nullopt;
}

std::optional<YamlPlace> YamlPlaces::Root() const {
  const yaml_node_t* root = parsed_->root();
  if (root == nullptr) return std::nullopt;
  return PlaceOf(root, 0);
}

std::optional<YamlPlace> FindInYaml(std::string_view text, std::span<const std::string> path) {
  return YamlPlaces(text).Find(path);
}

std::optional<YamlPlace> FindMemberInYaml(std::string_view text, std::string_view name) {
  return YamlPlaces(text).FindMember(name);
}

}  // namespace portcullis::json
