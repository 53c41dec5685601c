// SPDX-License-Identifier: Apache-2.0

#include "engine/testing/expectation.h"

#include <algorithm>

#include "api/api_status.h"
#include "api/schema/order.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/testing/difference.h"
#include "engine/write/write.h"
#include "json/writer.h"
#include "store/store.h"

namespace portcullis::engine::testing {
namespace {

json::Value Text(json::Arena& arena, std::string_view text) { return json::String(arena, text); }

// Whether `text` begins with the shape: x is a hexadecimal digit, 9 a decimal one.
bool BeginsLike(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = text[i];
    const bool digit = c >= '0' && c <= '9';
    const bool hex = digit || (c >= 'a' && c <= 'f');
    if (shape[i] == 'x' ? !hex : shape[i] == '9' ? !digit : c != shape[i]) return false;
  }
  return true;
}

std::string NormalizedText(std::string_view text) {
  constexpr std::string_view kUid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  constexpr std::string_view kTime = "9999-99-99T99:99:99Z";
  constexpr std::string_view kVersion = "resourceVersion";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (BeginsLike(rest, kUid)) {
      out += "(uid)";
      i += kUid.size();
    } else if (BeginsLike(rest, kTime)) {
      out += "(time)";
      i += kTime.size();
    } else if (rest.starts_with(kVersion)) {
      const std::size_t digits =
          std::min(rest.find_first_not_of("\\\":", kVersion.size()), rest.size());
      const std::size_t end = std::min(rest.find_first_not_of("0123456789", digits), rest.size());
      out += rest.substr(0, digits);
      if (end > digits) out += "(version)";
      i += end;
    } else {
      out += text[i++];
    }
  }
  return out;
}

json::Value NormalizedTexts(json::Arena& arena, json::Value value) {
  if (value.is_string()) return Text(arena, NormalizedText(value.AsString()));
  if (value.is_array()) {
    json::ArrayBuilder out(arena);
    for (const json::Value& element : value.elements()) out.Add(NormalizedTexts(arena, element));
    return out.Build();
  }
  if (!value.is_object()) return value;
  json::ObjectBuilder out(arena);
  for (const json::Member& member : value.members()) {
    out.Set(member.name(), NormalizedTexts(arena, member.value));
  }
  return out.Build();
}

json::Value NormalizedMetadata(json::Arena& arena, json::Value metadata) {
  json::ObjectBuilder out(arena, metadata);
  for (std::string_view name : {"uid", "resourceVersion", "creationTimestamp", "managedFields"}) {
    out.Remove(name);
  }
  if (metadata.Has("deletionTimestamp")) out.Set("deletionTimestamp", Text(arena, "(time)"));
  if (metadata.Has("generateName")) {
    out.Set("name", Text(arena, base::StrCat(metadata["generateName"].AsString(), "(random)")));
  }
  return out.Build();
}

class Comparison {
 public:
  Comparison(Operation& op, json::Value expect) : op_(op), expect_(expect) {}

  std::vector<std::string> Of(const base::Result<Outcome>& outcome) {
    if (!outcome.ok()) {
      OfRefusal(api::StatusToJson(op_.arena, outcome.status()));
    } else if (outcome->code >= 300) {
      OfRefusal(outcome->object);
    } else if (expect_.Has("error")) {
      texts_.push_back("succeeded");
    } else {
      OfSuccess(*outcome);
    }
    if (expect_.Has("warnings")) {
      json::ArrayBuilder warnings(op_.arena);
      for (const std::string& warning : op_.recorder.warnings()) warnings.Add(warning);
      Compare("warnings", warnings.Build());
    }
    if (expect_.Has("stored")) {
      const store::ObjectPtr stored = op_.world.store->Get(KeyOf(op_, op_.name));
      Compare("stored", stored != nullptr ? stored->document().root() : json::Value());
      if (stored != nullptr) CheckOrder(stored->document().root());
    }
    return std::move(texts_);
  }

 private:
  // Stored objects are written to clients as they are.
  void CheckOrder(json::Value stored) {
    if (op_.resource->custom || op_.resource->schema == nullptr) return;
    if (op_.resource->storage_kind != op_.resource->kind) return;  // of another schema
    const json::Value ordered = api::schema::InGoOrder(op_.arena, *op_.resource->schema, stored);
    if (!ordered.IsSameAs(stored)) texts_.emplace_back("stored: members are not in Go's order");
  }

  void OfRefusal(json::Value status) {
    const json::Value shown = Normalized(op_.arena, status);
    CompareIfGiven("code", shown["code"]);
    CompareIfGiven("reason", shown["reason"]);
    CompareIfGiven("causes", shown["details"]["causes"]);
    if (!texts_.empty() && expect_.Has("error")) return;  // the message says the same
    if (shown["message"].AsString() == expect_["error"].AsString()) return;
    texts_.push_back(base::StrCat("error: ", shown["message"].AsString()));
  }

  void OfSuccess(const Outcome& outcome) {
    CompareIfGiven("code", json::Value::Int(outcome.code));
    json::Value object = outcome.object;
    if (outcome.stored != nullptr) {
      const auto shown = FromStore(op_, outcome.stored);
      object = shown.ok() ? *shown : json::Value();
    }
    CompareIfGiven("object", object);
    if (!expect_.Has("becomes")) return;
    const json::Value normalized = Normalized(op_.arena, object);
    if (expect_["becomes"] == normalized) return;
    std::string difference = Difference(expect_["becomes"], normalized, "becomes");
    if (difference.empty()) difference = Difference(normalized, expect_["becomes"], "is");
    texts_.push_back(base::StrCat(difference, "\n  all of it: ", json::ToString(normalized)));
  }

  void CompareIfGiven(std::string_view name, json::Value actual) {
    if (expect_.Has(name)) Compare(name, actual);
  }

  void Compare(std::string_view name, json::Value actual) {
    std::string difference = Difference(expect_[name], actual, std::string(name));
    if (!difference.empty()) texts_.push_back(std::move(difference));
  }

  Operation& op_;
  const json::Value expect_;
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<std::string_view> ExpectationNames() {
  return {"error", "code", "reason", "causes", "object", "becomes", "warnings", "stored"};
}

std::vector<std::string> Differences(Operation& op, json::Value expect,
                                     const base::Result<Outcome>& outcome) {
  return Comparison(op, expect).Of(outcome);
}

json::Value Normalized(json::Arena& arena, json::Value object) {
  if (!object.is_object()) return object;
  const json::Value metadata = object["metadata"];
  if (object["kind"].AsString() == "Status") {
    return NormalizedTexts(arena, json::RemovePath(arena, object, {"details", "uid"}));
  }
  if (metadata.is_object()) {
    object = json::With(arena, object, "metadata", NormalizedMetadata(arena, metadata));
  }
  return NormalizedTexts(arena, object);
}

}  // namespace portcullis::engine::testing
