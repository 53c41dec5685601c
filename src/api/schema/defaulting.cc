// SPDX-License-Identifier: Apache-2.0

#include "api/schema/defaulting.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "api/catalog/bygone_kinds.h"
#include "api/embedded_data.h"
#include "api/schema/default_functions.h"
#include "api/schema/rules.h"
#include "api/schema/structural.h"
#include "api/stored_size.h"
#include "base/strings.h"
#include "json/edit.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

struct Program;

Value MemberOf(Value object, const PathStep& step) {
  const Value* found = object.Find(step.name, step.hash);
  return found != nullptr ? *found : Value();
}

// A statement whose names are resolved.
struct Step {
  const Statement* statement = nullptr;
  const Program* used = nullptr;
  DefaultFunction function = nullptr;
  const base::Clock* clock = nullptr;  // of kTimeAdded, which is no DefaultFunction
  // Nothing is done unless there is a member where the path begins: only the last one of a path is made.
  bool needs_member = false;
  // It looks at nothing else.
  bool needs_member_only = false;
  // Nothing is done if the one member of its path has a value.
  bool fills = false;
};

struct Program {
  std::vector<Step> steps;
};

// A value, and what was at its place in an earlier state of the object, which had its defaults; null if
// there is no such state.
struct Place {
  Value value;
  Value known;

  Value KnownMember(const PathStep& step) const {
    return known.is_null() ? Value() : MemberOf(known, step);
  }
  Value KnownElement(std::size_t index) const { return known.is_null() ? Value() : known[index]; }
};

// An object while a block's statements run over it. Its members are copied at the first change, not
// at every one.
class Draft {
 public:
  explicit Draft(Value object) { Replace(object); }

  Value Find(const PathStep& step) const {
    if ((present_ & BitOf(step.hash)) == 0) return {};
    if (!changed_) return MemberOf(object_, step);
    const std::size_t at = PositionOf(step);
    return at < members_.size() ? members_[at].value : Value();
  }

  Value At(const RulePath& path) const {
    Value value = Find(path.front());
    for (std::size_t i = 1; i < path.size(); ++i) value = MemberOf(value, path[i]);
    return value;
  }

  void Set(const PathStep& step, Value value) {
    Open();
    const std::size_t at = PositionOf(step);
    if (value.is_null()) {
      if (at < members_.size()) members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (at < members_.size()) {
      members_[at].value = value;
    } else {
      members_.emplace_back(step.name, value);
      present_ |= BitOf(step.hash);
    }
  }

  void Replace(Value object) {
    object_ = object;
    changed_ = false;
    members_.clear();
    present_ = 0;
    for (const json::Member& member : object.members()) present_ |= BitOf(member.hash);
  }

  Value Build(json::Arena& arena) {
    if (changed_) Replace(json::MakeObject(arena, members_));
    return object_;
  }

 private:
  // Where the bit of a name is not set there is no such member: most fields of an object are absent.
  static std::uint64_t BitOf(std::uint32_t hash) { return std::uint64_t{1} << (hash >> 26); }

  void Open() {
    if (changed_) return;
    constexpr std::size_t kRoom = 8;
    const auto members = object_.members();
    members_.reserve(members.size() + kRoom);
    members_.assign(members.begin(), members.end());
    changed_ = true;
  }
  std::size_t PositionOf(const PathStep& step) const {
    std::size_t at = 0;
    while (at < members_.size() &&
           (members_[at].hash != step.hash || members_[at].name() != step.name)) {
      ++at;
    }
    return at;
  }

  Value object_;
  std::uint64_t present_ = 0;
  bool changed_ = false;
  std::vector<json::Member> members_;
};

Value Run(json::Arena& arena, const Program& program, const Place& object);

// What the statement makes of the value its path leads to; @paths start at the draft.
Value ApplyHere(json::Arena& arena, const Step& step, const Draft& draft, const Place& place) {
  const Statement& statement = *step.statement;
  const Value value = place.value;
  switch (statement.action) {
    case Statement::Action::kUse:
      if (!value.is_object()) return value;
      // Conditions may not have held for the earlier state.
      return Run(arena, *step.used, {value, statement.conditions.empty() ? place.known : Value()});
    case Statement::Action::kCall:
      if (!value.is_object()) return value;
      if (step.function != nullptr) return step.function(arena, value);
      return step.clock != nullptr ? TimeAdded(arena, value, *step.clock) : value;
    case Statement::Action::kSetIfAbsent:
      if (!value.is_null()) return value;
      break;
    case Statement::Action::kSetIfZero:
      if (!IsZeroValue(value)) return value;
      break;
    default:
      break;
  }
  return statement.source ? draft.At(*statement.source) : statement.value;
}

Value ApplyInside(json::Arena& arena, const Step& step, const Draft& draft, const Place& object,
                  std::size_t at);

// Not inlined, so that a member takes few registers: most are no lists.
[[gnu::noinline]] Value ApplyToElements(json::Arena& arena, const Step& step, const Draft& draft,
                                        const Place& list, std::size_t at) {
  std::size_t index = 0;
  return json::EditElements(arena, list.value, [&](Value element) {
    return ApplyInside(arena, step, draft, {element, list.KnownElement(index++)}, at);
  });
}

// The member `old` of an object with the statement applied from step `at` of its path on. Objects
// on the way are never made: a default of a field needs the struct that has it.
Value ApplyToMember(json::Arena& arena, const Step& step, const Draft& draft, const Place& old,
                    std::size_t at) {
  const RulePath& path = step.statement->path;
  if (path[at].each) return ApplyToElements(arena, step, draft, old, at + 1);
  if (at + 1 == path.size()) return ApplyHere(arena, step, draft, old);
  return old.value.is_object() ? ApplyInside(arena, step, draft, old, at + 1) : old.value;
}

Value ApplyInside(json::Arena& arena, const Step& step, const Draft& draft, const Place& object,
                  std::size_t at) {
  const RulePath& path = step.statement->path;
  if (at == path.size()) return ApplyHere(arena, step, draft, object);
  if (!object.value.is_object()) return object.value;
  const Place old{MemberOf(object.value, path[at]), object.KnownMember(path[at])};
  const Value changed = ApplyToMember(arena, step, draft, old, at);
  if (changed.IsSameAs(old.value)) return object.value;
  return changed.is_null() ? json::Without(arena, object.value, path[at].name)
                           : json::With(arena, object.value, path[at].name, changed);
}

bool IsFilled(const Step& step, Value member) {
  if (!step.fills || member.is_null()) return false;
  return step.statement->action == Statement::Action::kSetIfAbsent || !IsZeroValue(member);
}

bool AllHold(const Statement& statement, const Draft& draft) {
  return std::all_of(
      statement.conditions.begin(), statement.conditions.end(),
      [&](const Condition& condition) { return Holds(condition, draft.At(condition.path)); });
}

Value Run(json::Arena& arena, const Program& program, const Place& object) {
  if (object.value.IsSameAs(object.known)) return object.value;
  Draft draft(object.value);
  for (const Step& step : program.steps) {
    const RulePath& path = step.statement->path;
    const Value old = path.empty() ? Value() : draft.Find(path.front());
    if (step.needs_member && old.is_null()) continue;
    if (IsFilled(step, old)) continue;
    if (!AllHold(*step.statement, draft)) continue;
    if (path.empty()) {
      const Value whole = draft.Build(arena);
      const Value changed = ApplyHere(arena, step, draft, {whole, object.known});
      if (!changed.IsSameAs(whole)) draft.Replace(changed);
      continue;
    }
    const Place place{old, object.KnownMember(path.front())};
    if (step.needs_member_only && old.IsSameAs(place.known)) continue;
    const Value changed = ApplyToMember(arena, step, draft, place, 0);
    if (!changed.IsSameAs(old)) draft.Set(path.front(), changed);
  }
  return draft.Build(arena);
}

}  // namespace

struct Defaulter::Rules {
  RuleFile file;
  std::unordered_map<std::string_view, Program> defined;
  std::unordered_map<GroupVersionKind, Program> kinds;
  const base::Clock* clock = nullptr;

  // Drops what the release does not do, in all blocks.
  void Restrict(const release::Release& release) {
    for (RuleBlock& block : file.blocks) {
      std::erase_if(block.statements, [&](const Statement& statement) {
        return statement.since_minor > release.legacy_minor() ||
               (!statement.gate.empty() && !release.GateEnabled(statement.gate));
      });
    }
  }

  base::Status Compile(const RuleBlock& block, Program& program) {
    for (const Statement& statement : block.statements) {
      Step step;
      step.statement = &statement;
      if (statement.action == Statement::Action::kUse) {
        const auto found = defined.find(statement.name);
        if (found == defined.end()) {
          return base::ConfigError(base::StrCat("no define ", statement.name));
        }
        step.used = &found->second;
      }
      if (statement.action == Statement::Action::kCall) {
        step.function = FindDefaultFunction(statement.name);
        if (statement.name == kTimeAdded) {
          step.clock = clock;
        } else if (step.function == nullptr) {
          return base::ConfigError(base::StrCat("no function ", statement.name));
        }
      }
      if (statement.action == Statement::Action::kMove) {
        return base::ConfigError("defaults cannot move fields");
      }
      const RulePath& path = statement.path;
      step.needs_member = !path.empty() && (path.size() > 1 || path.front().each ||
                                            statement.action == Statement::Action::kUse ||
                                            statement.action == Statement::Action::kCall);
      step.fills = path.size() == 1 && !path.front().each &&
                   (statement.action == Statement::Action::kSetIfAbsent ||
                    statement.action == Statement::Action::kSetIfZero);
      step.needs_member_only =
          step.needs_member && statement.conditions.empty() && !statement.source;
      program.steps.push_back(step);
    }
    return base::OkStatus();
  }

  // Blocks may use one another in any order, so that all names are known first.
  base::Status Link() {
    for (const RuleBlock& block : file.blocks) {
      if (block.head == "define") defined.emplace(block.words[0], Program{});
    }
    for (const RuleBlock& block : file.blocks) {
      if (block.head == "define") {
        TRY(Compile(block, defined[block.words[0]]));
        continue;
      }
      if (block.head != "kind" || block.words.size() != 2) {
        return base::ConfigError("want: kind <apiVersion> <Kind>");
      }
      const GroupVersion gv = TRY(ParseGroupVersion(block.words[0]));
      TRY(Compile(block, kinds[{gv.group, gv.version, std::string(block.words[1])}]));
    }
    LinkBygone();
    return base::OkStatus();
  }

  // Versions that are read and served no more have the defaults of later ones, unless they have rules.
  void LinkBygone() {
    for (const catalog::BygoneKinds& row : catalog::kBygoneKinds) {
      for (const std::string_view kind : base::Split(row.kinds, ' ')) {
        GroupVersionKind name{std::string(row.group), std::string(row.later), std::string(kind)};
        const auto later = kinds.find(name);
        if (later == kinds.end()) continue;
        Program program = later->second;
        name.version = row.version;
        kinds.emplace(std::move(name), std::move(program));
      }
    }
  }
};

Defaulter::Defaulter(std::unique_ptr<const Rules> rules) : rules_(std::move(rules)) {}
Defaulter::~Defaulter() = default;

base::Result<std::shared_ptr<const Defaulter>> Defaulter::Parse(std::string_view text,
                                                                const release::Release& release,
                                                                const base::Clock* clock) {
  auto rules = std::make_unique<Rules>();
  rules->kinds.max_load_factor(0.25F);  // few share a bucket, so that few are hashed
  rules->clock = clock;
  TRY(ParseRules(text, rules->file));
  rules->Restrict(release);
  TRY(rules->Link());
  return std::shared_ptr<const Defaulter>(new Defaulter(std::move(rules)));
}

base::Result<std::shared_ptr<const Defaulter>> Defaulter::BuiltIn(const release::Release& release,
                                                                  const base::Clock* clock) {
  return Parse(EmbeddedDefaultRules(), release, clock);
}

Value Defaulter::Apply(json::Arena& arena, const GroupVersionKind& kind, Value object,
                       Value known) const {
  const auto found = rules_->kinds.find(kind);
  return found == rules_->kinds.end() ? object : Run(arena, found->second, {object, known});
}

namespace {

// About how long the value is as text.
std::size_t TextSize(Value value) {
  std::size_t size = 8;
  if (value.is_string()) return size + value.AsString().size();
  for (const Value& element : value.elements()) size += TextSize(element);
  for (const json::Member& member : value.members()) {
    size += member.name().size() + TextSize(member.value);
  }
  return size;
}

// One run of ApplySchemaDefaults().
class SchemaDefaulter {
 public:
  explicit SchemaDefaulter(json::Arena& arena) : arena_(arena) {}

  // More than kMaxSchemaDefaults would have been added; the result is worthless.
  bool exhausted() const { return added_ > kMaxSchemaDefaults; }

  Value Apply(const Schema& schema, Value value) {
    if (exhausted()) return value;
    if (schema.kind == Kind::kArray && value.is_array() && schema.element != nullptr) {
      return json::EditElements(arena_, value,
                                [&](Value element) { return Element(schema, element); });
    }
    if (!value.is_object()) return value;
    if (schema.kind == Kind::kMap && schema.element != nullptr) {
      return json::EditMembers(
          arena_, value, [&](const json::Member& member) { return Element(schema, member.value); });
    }
    return Fields(schema, value);
  }

 private:
  // An element of a list or a map. A null where null is not allowed counts as absent.
  Value Element(const Schema& container, Value element) {
    if (exhausted()) return element;
    if (element.is_null() && !container.element->nullable) {
      element = DefaultOfElement(container);
      if (!element.is_null()) added_ += TextSize(element);
    }
    return Apply(*container.element, element);
  }

  Value Fields(const Schema& schema, Value object) {
    std::vector<json::Member> changes;
    for (const Field& field : schema.fields) {
      const Value* found = object.Find(field.name, field.hash);
      if (field.schema == nullptr) continue;
      // A null where null is not allowed counts as absent.
      const bool absent = found == nullptr || (found->is_null() && !field.schema->nullable);
      if (absent && field.default_value().is_null()) continue;
      if (absent) added_ += field.name.size() + TextSize(field.default_value());
      const Value old = found != nullptr ? *found : Value();
      const Value value = Apply(*field.schema, absent ? field.default_value() : old);
      if (exhausted()) return object;
      if (found == nullptr || !value.IsSameAs(old)) changes.emplace_back(field.name, value);
    }
    if (changes.empty()) return object;
    return json::WithMembers(arena_, object, json::MakeObject(arena_, changes));
  }

  json::Arena& arena_;
  std::size_t added_ = 0;
};

}  // namespace

base::Result<Value> ApplySchemaDefaults(json::Arena& arena, const Schema& schema, Value object) {
  SchemaDefaulter defaulter(arena);
  const Value defaulted = defaulter.Apply(schema, object);
  if (defaulter.exhausted()) return RequestTooLargeStatus();
  return defaulted;
}

}  // namespace portcullis::api::schema
