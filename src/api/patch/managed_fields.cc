// SPDX-License-Identifier: Apache-2.0

#include "api/patch/managed_fields.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "api/patch/fields_cache.h"
#include "api/patch/last_applied.h"
#include "api/patch/managed_entries.h"
#include "api/patch/typed.h"
#include "api/schema/decode.h"
#include "api/schema/from_unstructured.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/shared_parts.h"

namespace portcullis::api::patch {
namespace {

using json::Value;

// Beyond this many Update entries the oldest ones are folded into one of this name.
constexpr std::size_t kMaxUpdateManagers = 10;
constexpr std::string_view kAncientManager = "ancient-changes";

// Fields without an owner: identity and what the server keeps itself.
const FieldSet& StrippedFields() {
  static const FieldSet kFields = [] {
    FieldSet out;
    for (const std::string_view field : {"apiVersion", "kind", "metadata"}) {
      out.Insert(PathElement::Field(field));
    }
    for (const std::string_view field :
         {"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
          "managedFields", "resourceVersion"}) {
      out.Insert(FieldPathSteps{PathElement::Field("metadata"), PathElement::Field(field)});
    }
    return out;
  }();
  return kFields;
}

// A custom object may be of an earlier schema, or of another version that has been renamed to this one.
bool IsCustom(const schema::Schema& schema) { return schema.definition.empty(); }

// The object as a manager of another version sees it. A custom object that has been converted to that version
// must fit its schema, and no two elements of a list may have one name.
base::Result<Versions::View> ViewIn(const Versions& versions, const std::string& version,
                                    Value object) {
  const Versions::View view = TRY(versions.In(version, object));
  const bool converted = object["apiVersion"].AsString() != version;
  if (converted && view.schema != nullptr && IsCustom(*view.schema)) {
    TRY(CheckTyped(*view.schema, view.object));
  }
  return view;
}

template <typename T>
base::Result<T> Annotated(std::string_view context, base::Result<T> result) {
  if (result.ok()) return result;
  return result.status().Annotate(context);
}

void Note(const Writer& writer, bool noted) {
  if (writer.noted != nullptr) *writer.noted = noted;
}

FieldSet Ownable(FieldSet fields, const Writer& writer) {
  if (writer.reset != nullptr) fields.Prune(*writer.reset);
  fields.Subtract(StrippedFields());
  return fields;
}

// managedFields as the client wants them, if it says anything sensible, else as they are stored.
// A single empty entry (`managedFields: [{}]`) asks for a fresh start.
Entries StartingEntries(Value live, Value next, const Writer& writer, const KnownSets& known) {
  const Value wanted = next["metadata"]["managedFields"];
  if (writer.subresource.empty() && wanted.is_array() && !wanted.empty()) {
    if (wanted.size() == 1 && wanted[0].is_object() && wanted[0].empty()) return {};
    if (auto decoded = DecodeEntries(wanted, known); decoded.ok()) return *std::move(decoded);
  } else if (writer.subresource.empty() && wanted.is_array()) {
    return {};
  }
  auto decoded = DecodeEntries(live["metadata"]["managedFields"], known);
  return decoded.ok() ? *std::move(decoded) : Entries();
}

void CapUpdateManagers(Entries& entries) {
  std::vector<Entry*> updates;
  for (Entry& entry : entries) {
    if (!entry.is_apply() && entry.subresource.empty()) updates.push_back(&entry);
  }
  if (updates.size() <= kMaxUpdateManagers) return;
  std::stable_sort(updates.begin(), updates.end(),
                   [](const Entry* a, const Entry* b) { return a->time < b->time; });
  struct Bucket {
    Entry* entry = nullptr;
    std::vector<const FieldSet*> fields;
  };
  std::map<std::string, Bucket> buckets;
  std::vector<Entry*> folded;
  std::size_t count = updates.size();
  for (Entry* entry : updates) {
    if (count <= kMaxUpdateManagers) break;
    Bucket& bucket = buckets[entry->api_version];
    bucket.fields.push_back(&*entry->fields);
    if (bucket.entry == nullptr) {
      bucket.entry = entry;
      entry->manager = kAncientManager;
      continue;
    }
    bucket.entry->time = std::max(bucket.entry->time, entry->time);
    folded.push_back(entry);
    --count;
  }
  for (auto& [version, bucket] : buckets) {
    bucket.entry->fields = FieldSet::UnionOf(bucket.fields);
  }
  for (Entry* entry : folded) entry->fields = FieldSet();
}

// What a write has changed, as each version tells it.
class Changes {
 public:
  Changes(const schema::Schema& schema, Value before, Value after, const Writer& writer)
      : writer_(writer),
        schema_(schema),
        before_(before),
        after_(after),
        whole_(Compare(&schema, before, after, writer.sent)) {}

  // Whether they cannot be told: see Comparison.
  bool nameless() const { return whole_.nameless; }
  // All that is new or different, in the version of the request.
  FieldSet Touched() const { return whole_.modified.Union(whole_.added); }

  // What a write through this endpoint can change, which is what others may lose: all of it, and what of that is new
  // or different; and the schema by which it is told.
  struct Lost {
    FieldSet all;
    FieldSet touched;
    const schema::Schema* schema;
  };

  // Null if the version is gone. Where the objects cannot be converted, `error` is set.
  const Lost* In(const std::string& version) {
    if (writer_.versions == nullptr || version == writer_.api_version) return &Own();
    const auto known = by_version_.find(version);
    if (known != by_version_.end()) return known->second ? &*known->second : nullptr;
    const auto before = View(version, before_);
    if (!before.ok()) return Failed(before.status().Annotate("failed to convert old object"));
    const auto after = View(version, after_);
    if (!after.ok()) return Failed(after.status().Annotate("failed to convert new object"));
    std::optional<Lost>& made = by_version_[version];
    if (after->schema == nullptr) return nullptr;
    const Comparison change = Compare(after->schema, before->object, after->object);
    return &made.emplace(LostBy(change, *after->schema, after->resets));
  }
  const base::Status& error() const { return error_; }

 private:
  const Lost& Own() {
    if (!own_) own_ = LostBy(whole_, schema_, true);
    return *own_;
  }

  const Lost* Failed(base::Status error) {
    if (error_.ok()) error_ = std::move(error);
    return &Own();
  }

  Lost LostBy(const Comparison& change, const schema::Schema& schema, bool resets) const {
    FieldSet touched = change.modified.Union(change.added);
    if (resets && writer_.reset != nullptr) touched.Prune(*writer_.reset);
    FieldSet removed = change.removed;
    if (resets && writer_.reset != nullptr) removed.Prune(*writer_.reset);
    return {touched.Union(removed), std::move(touched), &schema};
  }

  base::Result<Versions::View> View(const std::string& version, Value object) const {
    // There was no object before a create.
    if (object.empty()) return Versions::View{object, nullptr};
    return ViewIn(*writer_.versions, version, object);
  }

  const Writer& writer_;
  const schema::Schema& schema_;
  const Value before_;
  const Value after_;
  Comparison whole_;
  std::optional<Lost> own_;  // of whole_, once somebody asks
  std::map<std::string, std::optional<Lost>, std::less<>> by_version_;
  base::Status error_;
};

// Takes from everybody but `except` what a write has changed; from who wrote in a version that is
// gone, everything. `own` gets `won` for it.
void Disown(Entries& entries, Changes& changes, const Entry* except, const Entry* own = nullptr,
            const FieldSet& won = {}) {
  for (Entry& entry : entries) {
    if (&entry == except) continue;
    const Changes::Lost* lost = changes.In(entry.api_version);
    if (lost == nullptr) {
      entry.fields = {};
      continue;
    }
    entry.fields.Reconcile(*lost->schema);
    entry.fields.Update(lost->all, &entry == own ? won : FieldSet());
  }
}

Value WithoutManagedFields(json::Arena& arena, Value object) {
  return json::RemovePath(arena, object, {"metadata", "managedFields"});
}

// --- apply ---

struct ConflictOf {
  std::string manager;  // as messages print it
  std::string order;    // by which messages sort it
  FieldPathSteps path;
};

std::string Describe(const Entry& entry) {
  std::string out = base::GoQuote(entry.manager);
  if (!entry.subresource.empty()) {
    out += base::StrCat(" with subresource ", base::GoQuote(entry.subresource));
  }
  if (!entry.is_apply()) out += base::StrCat(" using ", entry.api_version);
  return out;
}

// Sorted as the JSON by which Kubernetes tells managers apart.
std::string Identifier(const Entry& entry) {
  std::string out = base::StrCat(base::GoQuote(entry.manager), ",", base::GoQuote(entry.operation));
  if (!entry.is_apply()) out += base::StrCat(",", base::GoQuote(entry.api_version));
  if (!entry.subresource.empty()) out += base::StrCat(",", base::GoQuote(entry.subresource));
  return out + "}";
}

base::Status ConflictError(std::vector<ConflictOf> conflicts) {
  std::stable_sort(conflicts.begin(), conflicts.end(),
                   [](const auto& a, const auto& b) { return a.order < b.order; });
  base::StatusDetails details;
  std::string list;
  std::string_view last;
  for (const ConflictOf& conflict : conflicts) {
    const std::string path = ToText(conflict.path);
    details.causes.push_back({.reason = "FieldManagerConflict",
                              .message = "conflict with " + conflict.manager,
                              .field = path});
    if (last != conflict.manager) {
      if (!list.empty()) list += "\n";
      list += base::StrCat("conflicts with ", conflict.manager, ":");
      last = conflict.manager;
    }
    list += "\n- " + path;
  }
  std::string message = conflicts.size() == 1
                            ? base::StrCat("Apply failed with 1 conflict: conflict with ",
                                           conflicts[0].manager, ": ", details.causes[0].field)
                            : base::StrCat("Apply failed with ", std::to_string(conflicts.size()),
                                           " conflicts: ", list);
  return {base::Reason::kConflict, std::move(message), std::move(details)};
}

// As messages name an object: "team/a; apps/v1, Kind=Deployment".
std::string NameOf(Value object) {
  const auto version = object["apiVersion"].AsString();
  return base::StrCat(object["metadata"]["namespace"].AsString(), "/",
                      object["metadata"]["name"].AsString(), "; ",
                      version.find('/') == std::string_view::npos ? "/" : "", version,
                      ", Kind=", object["kind"].AsString());
}

// One application of a configuration.
class Application {
 public:
  Application(json::Arena& arena, const schema::Schema& schema, Value live, Value config,
              const Writer& writer)
      : arena_(arena), schema_(schema), live_(live), config_(config), writer_(writer) {}

  base::Result<Value> Run(Force force);

 private:
  base::Status OwnByNobody(Value plain);
  base::Status CheckConfiguration() const;
  Entry& Own(FieldSet claimed, std::optional<Entry>& before);
  bool MayLose(const Entry& last, const FieldSet& claimed) const;
  base::Result<Value> Prune(Value merged, const Entry& last) const;
  base::Result<Versions::View> In(const std::string& version, Value object) const;
  std::vector<ConflictOf> Conflicts(const Entry& own, Changes& changes) const;
  // Whether `kubectl apply --server-side` applies.
  bool IsKubectl() const { return writer_.manager == "kubectl"; }

  json::Arena& arena_;
  const schema::Schema& schema_;
  Value live_;
  Value config_;
  const Writer& writer_;
  Entries entries_;
};

// The writer's entry with its new claim; `before` receives what it claimed last time.
Entry& Application::Own(FieldSet claimed, std::optional<Entry>& before) {
  Entry own{.manager = std::string(writer_.manager),
            .operation = std::string(kApplied),
            .api_version = std::string(writer_.api_version),
            .subresource = std::string(writer_.subresource),
            .time = "",
            .fields = std::move(claimed)};
  for (Entry& entry : entries_) {
    if (!entry.IsSameAs(own)) continue;
    own.time = entry.time;
    before = std::move(entry);
    entry = std::move(own);
    return entry;
  }
  entries_.push_back(std::move(own));
  return entries_.back();
}

base::Result<Versions::View> Application::In(const std::string& version, Value object) const {
  const bool own = version == writer_.api_version && object["apiVersion"].AsString() == version;
  if (own || writer_.versions == nullptr) return Versions::View{object, &schema_};
  return ViewIn(*writer_.versions, version, object);
}

// False if Prune() cannot remove anything: the new configuration has every field of the last one, and all entries are
// of one version.
bool Application::MayLose(const Entry& last, const FieldSet& claimed) const {
  const auto is_of_request = [&](const Entry& entry) {
    return entry.api_version == writer_.api_version;
  };
  const bool one_version =
      is_of_request(last) && std::all_of(entries_.begin(), entries_.end(), is_of_request);
  return !last.fields->empty() && !(one_version && last.fields->IsWithin(claimed));
}

// Drops what the writer applied last time, applies no more, and no other manager owns.
base::Result<Value> Application::Prune(Value merged, const Entry& last) const {
  const auto lost = [](const Versions::View& from, const Versions::View& to) {
    return WithNamedFields(from.schema, FieldsOf(from.schema, from.object))
        .Difference(WithNamedFields(to.schema, FieldsOf(to.schema, to.object)));
  };
  const Versions::View whole = TRY(
      Annotated("failed to prune fields: failed to convert merged object to last applied version",
                In(last.api_version, merged)));
  // The version of the last configuration is gone: its fields cannot be located.
  if (whole.schema == nullptr) return merged;
  const FieldSet named = WithNamedFields(whole.schema, *last.fields);
  Value pruned = RemoveFields(arena_, whole.schema, whole.object, named);
  // Give back what somebody (the writer included) owns, version by version, the last applied one first: what an
  // earlier version keeps as one text is there again as a whole once a part of it is …
  std::map<std::pair<bool, std::string>, std::vector<const FieldSet*>> owned;
  for (const Entry& entry : entries_) {
    const std::string& version = writer_.versions != nullptr ? entry.api_version : last.api_version;
    owned[{version != last.api_version, version}].push_back(&*entry.fields);
  }
  for (const auto& [place, sets] : owned) {
    const std::string& version = place.second;
    const FieldSet fields = FieldSet::UnionOf(sets);
    const auto convert = [&](std::string_view what, Value object) {
      return Annotated(
          base::StrCat("failed to prune fields: failed add back owned items: failed to convert ",
                       what, " object at version ", version),
          In(version, object));
    };
    const Versions::View from = TRY(convert("merged", merged));
    if (from.schema == nullptr) continue;
    const Versions::View to = TRY(convert("pruned", pruned));
    pruned = RemoveFields(arena_, from.schema, from.object,
                          lost(from, to).Difference(WithNamedFields(from.schema, fields)));
  }
  // … and what went only because it lay inside something that was removed.
  const Versions::View to =
      TRY(Annotated("failed to prune fields: failed add back dangling items: failed to convert "
                    "pruned object to last applied version",
                    In(last.api_version, pruned)));
  pruned = RemoveFields(arena_, whole.schema, whole.object, lost(whole, to).Intersection(named));
  return TRY(In(std::string(writer_.api_version), pruned)).object;
}

std::vector<ConflictOf> Application::Conflicts(const Entry& own, Changes& changes) const {
  std::vector<ConflictOf> out;
  for (const Entry& entry : entries_) {
    if (&entry == &own) continue;
    const Changes::Lost* lost = changes.In(entry.api_version);
    if (lost == nullptr) continue;
    for (FieldPathSteps& path : entry.fields->Intersection(lost->touched).Paths()) {
      out.push_back({Describe(entry), Identifier(entry), std::move(path)});
    }
  }
  return out;
}

// An object without managers has one made up for all of it, which an apply can be in conflict with.
base::Status Application::OwnByNobody(Value plain) {
  Value nothing = json::MakeObject(arena_, {});
  // Members that an empty object of the Go type is written with have no manager.
  if (!schema_.definition.empty()) {
    if (auto zero = schema::Decode(arena_, schema_, nothing); zero.ok()) nothing = *zero;
  }
  Changes all(schema_, nothing, plain, writer_);
  if (all.nameless() || !Fits(schema_, plain)) {
    TRY(CheckTypedStored(schema_, plain)
            .Annotate(base::StrCat(
                "failed to create manager for existing fields: failed to convert new object (",
                NameOf(plain), ") to smd typed")));
  }
  Entry entry{.manager = "before-first-apply",
              .operation = std::string(kUpdated),
              .api_version = std::string(writer_.api_version),
              .subresource = std::string(writer_.subresource),
              .time = std::string(writer_.now),
              .fields = Ownable(all.Touched(), writer_)};
  if (!entry.fields->empty()) {
    entries_.push_back(std::move(entry));
    Note(writer_, true);
  }
  return base::OkStatus();
}

// The configuration may have no managedFields; those that cannot be read are refused by their schema.
base::Status Application::CheckConfiguration() const {
  const Value managers = config_["metadata"]["managedFields"];
  if (!managers.is_array()) return base::OkStatus();
  const schema::Schema* list = schema::FindSchema(schema_, {"metadata", "managedFields"});
  for (const Value& entry : managers.elements()) {
    if (!entry.is_object()) return base::OkStatus();
    if (list != nullptr && !schema::FromUnstructured(arena_, *list->element, entry).ok()) {
      return base::OkStatus();
    }
  }
  return base::BadRequest("metadata.managedFields must be nil");
}

base::Result<Value> Application::Run(Force force) {
  Note(writer_, false);
  const Value stored = live_.is_object() ? live_ : json::MakeObject(arena_, {});
  auto decoded = DecodeEntries(stored["metadata"]["managedFields"],
                               {writer_.cache, &schema_, writer_.api_version});
  if (decoded.ok()) entries_ = *std::move(decoded);
  const Value plain = WithoutManagedFields(arena_, stored);
  if (entries_.empty() && !plain.empty()) TRY(OwnByNobody(plain));
  TRY(CheckConfiguration());
  TRY(CheckTyped(schema_, config_)
          .Annotate(base::StrCat("failed to create typed patch object (", NameOf(config_), ")")));
  if (!Fits(schema_, plain)) {
    TRY(CheckTypedStored(schema_, plain)
            .Annotate(base::StrCat("failed to create typed live object (", NameOf(plain), ")")));
  }

  // The fields of each manager are looked at in its own version first.
  for (Entry& entry : entries_) {
    const Versions::View view = TRY(In(entry.api_version, plain));
    if (view.schema != nullptr) entry.fields.Reconcile(*view.schema);
  }

  FieldSet claimed = FieldsOf(&schema_, config_);
  if (writer_.reset != nullptr) claimed.Prune(*writer_.reset);
  std::optional<Entry> before;
  Entry& own = Own(claimed, before);
  Value merged = json::WithPartsOf(arena_, MergeTyped(arena_, &schema_, plain, config_), plain);
  if (before && MayLose(*before, claimed)) merged = TRY(Prune(merged, *before));
  Changes changes(schema_, plain, merged, writer_);

  std::vector<ConflictOf> conflicts = Conflicts(own, changes);
  TRY(changes.error());
  if (force == Force::kNo && !conflicts.empty()) {
    const FieldSet allowed =
        IsKubectl() ? FieldsLastApplied(arena_, schema_, plain, writer_.api_version) : FieldSet();
    conflicts.erase(std::remove_if(conflicts.begin(), conflicts.end(),
                                   [&](const ConflictOf& c) { return allowed.Has(c.path); }),
                    conflicts.end());
    if (!conflicts.empty()) return ConflictError(std::move(conflicts));
  }
  Disown(entries_, changes, &own);
  own.fields = claimed.Difference(StrippedFields());
  if (before && *before->fields == *own.fields) own.fields = before->fields;  // with its text
  // An apply that changes nothing but who owns it does not count as a write: its entry keeps its time, a new
  // one has none, and the object stays as it is stored, raw JSON in the order that it was sent in included.
  if (plain == merged) {
    merged = plain;
  } else {
    own.time = writer_.now;
    Note(writer_, true);
  }
  if (IsKubectl()) merged = WithLastApplied(arena_, merged, config_);
  return WithEntries(arena_, merged, entries_);
}

}  // namespace

std::string ManagerFromUserAgent(std::string_view user_agent) {
  constexpr std::size_t kMaxLength = 128;
  std::string out;
  std::string_view rest = user_agent.substr(0, user_agent.find('/'));
  while (!rest.empty()) {
    std::size_t size = 0;
    const char32_t rune = base::DecodeRune(rest, size);
    rest.remove_prefix(size);
    if (!base::IsPrintable(rune)) continue;
    std::string text;
    base::AppendRune(rune, text);
    if (out.size() + text.size() > kMaxLength) break;
    out += text;
  }
  return out.empty() ? "unknown" : out;
}

namespace {

Entry UpdateBy(const Writer& writer) {
  return {.manager = std::string(writer.manager),
          .operation = std::string(kUpdated),
          .api_version = std::string(writer.api_version),
          .subresource = std::string(writer.subresource),
          .time = std::string(writer.now),
          .fields = {}};
}

// All fields of a new object are the writer's. Nothing where it takes a comparison to tell them.
std::optional<Value> TrackNew(json::Arena& arena, const schema::Schema& schema, Value empty,
                              Value object, const Writer& writer) {
  const NotOwned not_owned{writer.reset, &StrippedFields()};
  const auto fields =
      writer.cache != nullptr && writer.cache->EmptyOf(schema).IsSameAs(empty)
          ? writer.cache->FieldsOfNew(arena, schema, empty, object, writer.sent, not_owned)
          : FieldsOfNew(arena, schema, empty, object, writer.sent, not_owned);
  if (!fields) return std::nullopt;
  if (fields->empty() || !Fits(schema, object)) return object;
  Note(writer, true);
  const Value entry = EncodeEntry(arena, UpdateBy(writer), *fields);
  return json::SetPath(arena, object, {"metadata", "managedFields"},
                       json::MakeArray(arena, std::span(&entry, 1)));
}

}  // namespace

Value Track(json::Arena& arena, const schema::Schema& schema, Value live, Value next,
            const Writer& writer) {
  Note(writer, false);
  Entries entries =
      StartingEntries(live, next, writer, {writer.cache, &schema, writer.api_version});
  // An existing object without managedFields is not tracked again before the next apply.
  if (entries.empty() && !live["metadata"]["uid"].AsString().empty()) {
    return WithoutManagedFields(arena, next);
  }
  const Value before =
      live.is_object() ? WithoutManagedFields(arena, live) : json::MakeObject(arena, {});
  const Value after = WithoutManagedFields(arena, next);
  if (entries.empty()) {
    if (const auto tracked = TrackNew(arena, schema, before, after, writer)) return *tracked;
  }
  Changes changes(schema, before, after, writer);
  if (changes.nameless() || !Fits(schema, before) || !Fits(schema, after)) return after;
  Entry own = UpdateBy(writer);
  FieldSet won = Ownable(changes.Touched(), writer);
  const auto same = std::find_if(entries.begin(), entries.end(),
                                 [&](const Entry& entry) { return entry.IsSameAs(own); });
  Disown(entries, changes, nullptr, same == entries.end() ? nullptr : &*same, won);
  // Kubernetes gives up: the object has no managers any more.
  if (!changes.error().ok()) return after;

  if (!won.empty()) {
    Note(writer, true);
    if (same == entries.end()) {
      own.fields = std::move(won);
      entries.push_back(std::move(own));
    } else {
      same->time = own.time;
    }
  }
  CapUpdateManagers(entries);
  return WithEntries(arena, after, entries);
}

base::Result<Value> Apply(json::Arena& arena, const schema::Schema& schema, Value live,
                          Value config, const Writer& writer, Force force) {
  return Application(arena, schema, live, config, writer).Run(force);
}

base::Status CheckManagedFields(Value object) {
  return DecodeEntries(object["metadata"]["managedFields"]).status();
}

}  // namespace portcullis::api::patch
