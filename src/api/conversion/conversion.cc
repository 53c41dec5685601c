// SPDX-License-Identifier: Apache-2.0

#include "api/conversion/conversion.h"

#include <memory>
#include <unordered_map>

#include "api/conversion/conversion_functions.h"
#include "api/embedded_data.h"
#include "api/schema/rules.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::api {
namespace {

using json::Value;
using schema::RulePath;
using schema::Statement;

// Immutable; a mistake in the embedded rules is found by this module's tests.
const base::Result<std::shared_ptr<const Converter>>& Shared() {
  static const auto kConverter = Converter::BuiltIn();
  return kConverter;
}

}  // namespace

struct Converter::Rules {
  schema::RuleFile file;
  struct Way {
    const schema::RuleBlock* block = nullptr;
    bool backwards = false;
  };
  std::unordered_map<std::string, Way> ways;  // "<from>><to>"
  // The v1 that a version with a block converts to: others are reached through it.
  std::unordered_map<GroupVersionKind, GroupVersionKind> hubs;
  std::unordered_map<GroupVersionKind, const schema::RuleBlock*> internal;

  static std::string Key(const GroupVersionKind& from, const GroupVersionKind& to) {
    return base::StrCat(from.ToString(), ">", to.ToString());
  }

  static base::Result<GroupVersionKind> KindIn(const schema::RuleBlock& block, std::size_t at) {
    const GroupVersion version = TRY(ParseGroupVersion(block.words[at]));
    return GroupVersionKind{version.group, version.version, std::string(block.words[at + 1])};
  }

  base::Status Link() {
    for (const schema::RuleBlock& block : file.blocks) {
      const bool is_internal = block.head == "internal" && block.words.size() == 2;
      if (!is_internal && (block.head != "convert" || block.words.size() != 4)) {
        return base::ConfigError(
            "want: convert <apiVersion> <Kind> <apiVersion> <Kind>, or internal <apiVersion> "
            "<Kind>");
      }
      bool reversible = true;
      for (const Statement& statement : block.statements) {
        reversible = reversible && statement.action == Statement::Action::kMove;
        if (statement.action == Statement::Action::kCall &&
            FindConversionFunction(statement.name) == nullptr) {
          return base::ConfigError(base::StrCat("no function ", statement.name));
        }
      }
      const GroupVersionKind a = TRY(KindIn(block, 0));
      if (is_internal) {
        internal.emplace(a, &block);
        continue;
      }
      const GroupVersionKind b = TRY(KindIn(block, 2));
      ways[Key(a, b)] = {&block, false};
      if (reversible) ways[Key(b, a)] = {&block, true};
      if (a.version != "v1" && b.version == "v1") hubs.emplace(a, b);
    }
    return base::OkStatus();
  }

  const Way* Find(const GroupVersionKind& from, const GroupVersionKind& to) const {
    const auto found = ways.find(Key(from, to));
    return found == ways.end() ? nullptr : &found->second;
  }

  // Through which version the one is reached from the other, unless there is a way; null: directly.
  const GroupVersionKind* HubBetween(const GroupVersionKind& from,
                                     const GroupVersionKind& to) const {
    for (const GroupVersionKind* end : {&from, &to}) {
      const auto hub = hubs.find(*end);
      if (hub != hubs.end() && hub->second != from && hub->second != to) return &hub->second;
    }
    return nullptr;
  }
};

namespace {

// Moves a top-level field; deeper moves are not needed by any rule.
Value Move(json::Arena& arena, Value object, std::string_view from, std::string_view to) {
  const Value* value = object.Find(from);
  if (value == nullptr) return object;
  return json::With(arena, json::Without(arena, object, from), to, *value);
}

base::Result<Value> CallAt(json::Arena& arena, Value object, const RulePath& path, std::size_t at,
                           ConversionFunction function) {
  if (!object.is_object()) return object;
  if (at == path.size()) return function(arena, object);
  const Value old = object[path[at].name];
  const Value changed = TRY(CallAt(arena, old, path, at + 1, function));
  return changed.IsSameAs(old) ? object : json::With(arena, object, path[at].name, changed);
}

GroupVersionKind KindOf(Value object) {
  const auto gv = ParseGroupVersion(object["apiVersion"].AsString());
  const GroupVersion parsed = gv.ok() ? *gv : GroupVersion{};
  return {parsed.group, parsed.version, std::string(object["kind"].AsString())};
}

}  // namespace

Converter::Converter(std::unique_ptr<const Rules> rules) : rules_(std::move(rules)) {}
Converter::~Converter() = default;

base::Result<std::shared_ptr<const Converter>> Converter::Parse(std::string_view text) {
  auto rules = std::make_unique<Rules>();
  TRY(schema::ParseRules(text, rules->file));
  TRY(rules->Link());
  return std::shared_ptr<const Converter>(new Converter(std::move(rules)));
}

base::Result<std::shared_ptr<const Converter>> Converter::BuiltIn() {
  return Parse(EmbeddedConversionRules());
}

bool Converter::IsConvertible(const GroupVersionKind& from, const GroupVersionKind& to) const {
  if ((from.group == to.group && from.kind == to.kind) || rules_->Find(from, to) != nullptr) {
    return true;
  }
  const GroupVersionKind* hub = rules_->HubBetween(from, to);
  return hub != nullptr && IsConvertible(from, *hub) && IsConvertible(*hub, to);
}

base::Result<Value> Converter::Convert(json::Arena& arena, Value object,
                                       const GroupVersionKind& to) const {
  const GroupVersionKind from = KindOf(object);
  if (from == to) return object;
  if (!IsConvertible(from, to)) {
    return base::BadRequest(base::StrCat("converting (", from.ToString(), ") to (", to.ToString(),
                                         "): unknown conversion"));
  }
  const Rules::Way* way = rules_->Find(from, to);
  if (way == nullptr) {
    if (const GroupVersionKind* hub = rules_->HubBetween(from, to)) {
      return Convert(arena, TRY(Convert(arena, object, *hub)), to);
    }
  } else {
    for (const Statement& statement : way->block->statements) {
      if (statement.action == Statement::Action::kMove) {
        const std::string_view a = statement.path.front().name;
        const std::string_view b = statement.source->front().name;
        object = way->backwards ? Move(arena, object, b, a) : Move(arena, object, a, b);
      } else if (statement.action == Statement::Action::kCall) {
        object =
            TRY(CallAt(arena, object, statement.path, 0, FindConversionFunction(statement.name)));
      }
    }
  }
  object =
      json::With(arena, object, "apiVersion", json::String(arena, to.group_version().ToString()));
  return json::With(arena, object, "kind", json::String(arena, to.kind));
}

base::Result<Value> Converter::ThroughInternal(json::Arena& arena, Value object,
                                               const GroupVersionKind& kind) const {
  const auto found = rules_->internal.find(kind);
  if (found == rules_->internal.end()) return object;
  for (const Statement& statement : found->second->statements) {
    if (statement.action != Statement::Action::kCall) continue;
    object = TRY(CallAt(arena, object, statement.path, 0, FindConversionFunction(statement.name)));
  }
  return object;
}

bool IsConvertible(const GroupVersionKind& from, const GroupVersionKind& to) {
  return Shared().ok() && (*Shared())->IsConvertible(from, to);
}

base::Result<Value> Convert(json::Arena& arena, Value object, const GroupVersionKind& to) {
  if (!Shared().ok()) return Shared().status();
  return (*Shared())->Convert(arena, object, to);
}

base::Result<Value> ThroughInternal(json::Arena& arena, Value object,
                                    const GroupVersionKind& kind) {
  if (!Shared().ok()) return Shared().status();
  return (*Shared())->ThroughInternal(arena, object, kind);
}

}  // namespace portcullis::api
