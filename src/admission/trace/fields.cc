// SPDX-License-Identifier: Apache-2.0

// The object is followed through its changes with a tree beside it that has a name at each leaf. A
// node without children stands for everything below it, so that the tree grows only where an
// object's parts have different origins; each change is compared with the object before it, which
// costs little because unchanged parts are shared.
#include "admission/trace/fields.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"
#include "json/diff.h"
#include "json/pointer.h"

namespace portcullis::admission {
namespace {

using Change = Trace::Change;

struct Node {
  int origin = 0;
  // Set for objects and arrays whose parts differ in origin; empty: all parts have `origin`.
  std::map<std::string_view, Node> members;
  std::vector<Node> elements;

  bool is_uniform() const { return members.empty() && elements.empty(); }
};

// A node for each part of `value`, which may still be uniform.
void Expand(Node& node, json::Value value) {
  if (!node.is_uniform()) return;
  const Node part{node.origin, {}, {}};
  for (const json::Member& member : value.members()) node.members.emplace(member.name(), part);
  node.elements.assign(value.elements().size(), part);
}

void Update(Node& node, json::Value before, json::Value after, int origin);

void UpdateMembers(Node& node, json::Value before, json::Value after, int origin) {
  std::map<std::string_view, Node> kept;
  for (const json::Member& member : after.members()) {
    const json::Value* old = before.Find(member.name());
    if (old == nullptr) {
      kept.emplace(member.name(), Node{origin, {}, {}});
      continue;
    }
    Node part = std::move(node.members[member.name()]);
    Update(part, *old, member.value, origin);
    kept.emplace(member.name(), std::move(part));
  }
  node.members = std::move(kept);
}

void UpdateElements(Node& node, json::Value before, json::Value after, int origin) {
  const auto aligned = json::AlignElements(before, after);
  std::vector<Node> kept;
  kept.reserve(aligned.size());
  for (std::size_t i = 0; i < aligned.size(); ++i) {
    if (aligned[i] == json::kNewElement) {
      kept.push_back({origin, {}, {}});
      continue;
    }
    const auto old = static_cast<std::size_t>(aligned[i]);
    kept.push_back(std::move(node.elements[old]));
    Update(kept.back(), before.elements()[old], after.elements()[i], origin);
  }
  node.elements = std::move(kept);
}

// `before` becomes `after`; what differs is of `origin`.
void Update(Node& node, json::Value before, json::Value after, int origin) {
  if (before.IsSameAs(after)) return;
  if (before.is_object() && after.is_object()) {
    Expand(node, before);
    return UpdateMembers(node, before, after, origin);
  }
  if (before.is_array() && after.is_array()) {
    Expand(node, before);
    return UpdateElements(node, before, after, origin);
  }
  if (!(before == after)) node = {origin, {}, {}};
}

// Marks the parts of `value` that are equal in the stored object: they come from there.
void MarkStored(Node& node, json::Value value, json::Value live, int stored) {
  if (value == live) {
    node = {stored, {}, {}};
  } else if (value.is_object() && live.is_object()) {
    Expand(node, value);
    for (const json::Member& member : value.members()) {
      const json::Value* old = live.Find(member.name());
      if (old != nullptr) MarkStored(node.members[member.name()], member.value, *old, stored);
    }
  } else if (value.is_array() && live.is_array()) {
    Expand(node, value);
    const auto aligned = json::AlignElements(live, value);
    for (std::size_t i = 0; i < aligned.size(); ++i) {
      if (aligned[i] == json::kNewElement) continue;
      const auto old = static_cast<std::size_t>(aligned[i]);
      MarkStored(node.elements[i], value.elements()[i], live.elements()[old], stored);
    }
  }
}

class Follower {
 public:
  explicit Follower(const Trace& trace) : trace_(trace) {}

  std::vector<FieldOrigin> Run() {
    for (const Change& change : trace_.changes()) Take(change);
    Collect(root_, object_, "");
    return std::move(rows_);
  }

 private:
  void Take(const Change& change) {
    switch (change.kind) {
      case Change::Kind::kNew:
        root_ = {Origin("client"), {}, {}};
        break;
      case Change::Kind::kLive:
        if (!live_known_) body_ = std::exchange(root_, {});
        body_object_ = live_known_ ? body_object_ : object_;
        live_known_ = true;
        live_ = change.object;
        root_ = {Origin("stored"), {}, {}};
        break;
      case Change::Kind::kReplace:
        root_ = body_;
        Update(root_, body_object_, change.object, Origin("client"));
        MarkStored(root_, change.object, live_, Origin("stored"));
        break;
      case Change::Kind::kStep:
        Update(root_, object_, change.object, Origin(change));
        break;
      case Change::Kind::kDefault:
        Update(root_, object_, change.object, Origin("defaulting"));
        break;
      case Change::Kind::kOther:
        Await(NameOf(change));
        return;
    }
    object_ = change.object;
  }

  std::string NameOf(const Change& change) const {
    if (change.step == Trace::kNoStep) return "an omitted step";
    return SetByText(trace_.steps()[static_cast<std::size_t>(change.step)].actor);
  }

  // Webhooks that have changed the object in another version: the change of this one is theirs.
  void Await(std::string name) {
    if (!awaited_.empty()) awaited_ += ", ";
    awaited_ += name;
  }

  int Origin(const Change& change) {
    if (awaited_.empty()) return Origin(NameOf(change));
    return Origin(std::exchange(awaited_, {}));
  }

  int Origin(std::string_view name) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return static_cast<int>(i);
    }
    names_.emplace_back(name);
    return static_cast<int>(names_.size()) - 1;
  }

  // Adds the rows of a subtree; one row if all of it has one origin.
  void Collect(const Node& node, json::Value value, const std::string& path) {
    const std::size_t first = rows_.size();
    if (node.is_uniform() || value.size() == 0) {
      rows_.push_back({path, NameAt(node.origin)});
      return;
    }
    for (const json::Member& member : value.members()) {
      const auto part = node.members.find(member.name());
      if (part == node.members.end()) continue;
      Collect(part->second, member.value,
              base::StrCat(path, "/", json::EscapeToken(member.name())));
    }
    for (std::size_t i = 0; i < std::min(value.elements().size(), node.elements.size()); ++i) {
      Collect(node.elements[i], value.elements()[i], base::StrCat(path, "/", std::to_string(i)));
    }
    const auto differs = [&](const FieldOrigin& row) { return row.set_by != rows_[first].set_by; };
    const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(first);
    if (begin == rows_.end() || std::any_of(begin, rows_.end(), differs)) return;
    rows_[first].path = path;
    rows_.resize(first + 1);
  }

  std::string NameAt(int origin) const {
    const auto index = static_cast<std::size_t>(origin);
    return index < names_.size() ? names_[index] : std::string();
  }

  const Trace& trace_;
  std::vector<std::string> names_;
  Node root_;
  json::Value object_;
  Node body_;  // of the body of a replacement, as it was decoded
  json::Value body_object_;
  json::Value live_;
  bool live_known_ = false;
  std::string awaited_;
  std::vector<FieldOrigin> rows_;
};

}  // namespace

std::string SetByText(const TraceActor& actor) {
  switch (actor.kind) {
    case TraceActor::Kind::kPlugin:
      return base::StrCat("plugin/", actor.name);
    case TraceActor::Kind::kWebhook:
      return base::StrCat("webhook/", actor.name, "/", actor.member);
    case TraceActor::Kind::kPolicy:
      return base::StrCat("policy/", actor.name, "/", actor.member);
    case TraceActor::Kind::kStage:
      break;
  }
  for (const std::string_view stage : {"client", "defaulting", "strategy"}) {
    if (actor.name == stage) return std::string(stage);
  }
  return "server";
}

std::vector<FieldOrigin> FieldOrigins(const Trace& trace) { return Follower(trace).Run(); }

}  // namespace portcullis::admission
