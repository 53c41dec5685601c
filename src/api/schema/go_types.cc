// SPDX-License-Identifier: Apache-2.0

#include "api/schema/go_types.h"

#include <map>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace portcullis::api::schema {
namespace {

constexpr std::pair<std::string_view, Kind> kBasic[] = {
    {"string", Kind::kString}, {"bool", Kind::kBoolean},  {"int32", Kind::kInteger},
    {"int64", Kind::kInteger}, {"[]uint8", Kind::kBytes}, {"any", Kind::kAny},
    {"v1.Time", Kind::kTime}};

class Builder {
 public:
  explicit Builder(std::shared_ptr<SchemaPool> pool) : pool_(std::move(pool)) {}

  const Schema* Build(std::string_view text) {
    std::vector<std::pair<Schema*, std::string_view>> bodies;
    for (const std::string_view line : base::Split(text, '\n')) {
      if (base::Trim(line).empty()) continue;
      const auto cut = base::Cut(line, ":");
      if (!cut) return nullptr;
      bodies.emplace_back(AddStruct(base::Trim(cut->first)), cut->second);
    }
    // Fields may be of structs that are described further down.
    for (const auto& [node, body] : bodies) {
      if (!AddFields(*node, body)) return nullptr;
    }
    return bodies.empty() ? nullptr : bodies.front().first;
  }

 private:
  Schema* AddStruct(std::string_view name) {
    Schema* node = pool_->Add();
    node->kind = Kind::kStruct;
    node->go_type = pool_->Copy(name);
    node->go_struct = node->go_type.substr(name.rfind('.') + 1);
    structs_.emplace(node->go_type, node);
    return node;
  }

  bool AddFields(Schema& node, std::string_view body) {
    std::vector<std::string_view> pieces;
    if (!base::Trim(body).empty()) pieces = base::Split(body, ',');
    for (const std::string_view piece : pieces) {
      const auto cut = base::Cut(base::Trim(piece), " ");
      if (!cut) return false;
      Field field;
      field.name = pool_->Copy(cut->first);
      field.schema = TypeOf(base::Trim(cut->second));
      if (field.schema == nullptr) return false;
      node.fields.push_back(field);
    }
    SchemaPool::Finish(node);
    return true;
  }

  const Schema* TypeOf(std::string_view type) {
    if (const Schema* basic = BasicType(type)) return basic;
    for (const auto& [prefix, kind] :
         {std::pair<std::string_view, Kind>{"[]", Kind::kArray},
          std::pair<std::string_view, Kind>{"map[string]", Kind::kMap}}) {
      if (!type.starts_with(prefix)) continue;
      Schema* node = pool_->Add();
      node->kind = kind;
      node->element = TypeOf(type.substr(prefix.size()));
      if (node->element == nullptr) return nullptr;
      node->go_type = pool_->Copy(base::StrCat(prefix, node->element->go_type));
      return node;
    }
    const auto found = structs_.find(type);
    return found == structs_.end() ? nullptr : found->second;
  }

  const Schema* BasicType(std::string_view type) {
    const auto named = base::Cut(type, "=");
    if (named && named->first.find(']') != named->first.npos) return nullptr;  // a list of them
    const std::string_view basic = named ? named->second : type;
    for (const auto& [name, kind] : kBasic) {
      if (name == basic) return pool_->Leaf(kind, named ? named->first : type, basic);
    }
    return nullptr;
  }

  const std::shared_ptr<SchemaPool> pool_;
  std::map<std::string_view, const Schema*, std::less<>> structs_;
};

}  // namespace

std::shared_ptr<const Schema> SchemaOfGoTypes(std::string_view text) {
  auto pool = std::make_shared<SchemaPool>();
  const Schema* root = Builder(pool).Build(text);
  return {std::move(pool), root};
}

}  // namespace portcullis::api::schema
