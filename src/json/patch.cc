// SPDX-License-Identifier: Apache-2.0

#include "json/patch.h"

#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "json/duplicates.h"
#include "json/go_errors.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "json/spellings.h"
#include "json/verbatim.h"
#include "json/working_copy.h"
#include "json/writer.h"

namespace portcullis::json {
namespace {

using base::StrCat;
using internal::LastMembers;
using internal::Place;
using internal::Slot;

base::Status Failure(std::string message) { return {base::Reason::kInvalid, std::move(message)}; }

// One patch being applied to one document. Each operation is a method; its texts are the library's,
// with all their irregularities.
class Application {
 public:
  Application(Arena& arena, Value document, const PatchOptions& options)
      : arena_(arena),
        options_(options),
        copy_(arena, document, options.repeats_keys),
        spellings_(arena) {}

  void NoteSpelling(Value value, Value spelled) { spellings_.Note(value, spelled); }

  base::Status Apply(Value operation) {
    const std::string_view kind = operation["op"].AsString("unknown");
    if (kind == "add") return Add(operation);
    if (kind == "remove") return Remove(operation);
    if (kind == "replace") return Replace(operation);
    if (kind == "move") return Move(operation);
    if (kind == "test") return Test(operation);
    if (kind == "copy") return Copy(operation);
    return Failure(StrCat("Unexpected kind: ", kind));
  }
  Value Result() const { return copy_.Freeze(copy_.root()); }

 private:
  bool Equal(const Slot& slot, const Value& value) {
    if (!options_.repeats_keys) {
      return internal::WorkingCopy::Equal(slot, value) &&
             (spellings_.empty() || spellings_.Same(copy_.Freeze(slot), value));
    }
    return LastOfDuplicates(arena_, copy_.Freeze(slot)) == LastOfDuplicates(arena_, value);
  }

  // What a slot holds once all of it has been compared.
  Value LookedInto(const Slot& slot) {
    const Value value = copy_.Freeze(slot);
    return Sorted(arena_, options_.repeats_keys ? LastOfDuplicates(arena_, value) : value);
  }

  // A path operand: "path" or "from".
  base::Result<std::string_view> Pointer(Value operation, std::string_view member,
                                         std::string_view missing) {
    const Value value = operation[member];
    if (value.is_string()) return value.AsString();
    if (value.is_null()) return Failure(StrCat(missing, ": missing value"));
    return Failure(
        StrCat("json: cannot unmarshal ", GoTypeName(value), " into Go value of type string"));
  }
  base::Result<std::string_view> Path(Value operation) {
    return Pointer(operation, "path", "operation missing path field");
  }
  base::Result<std::string_view> From(Value operation) {
    return Pointer(operation, "from", "operation, missing from field");
  }

  // Adds with the check that the document does not become too deep.
  base::Status Insert(const Place& place, Slot slot) {
    if (place.depth + internal::WorkingCopy::Depth(slot) > options_.max_depth) {
      const bool is_array = slot.open != nullptr ? !slot.open->is_object : slot.value.is_array();
      return Failure(InvalidCharacter(is_array ? '[' : '{', "exceeded max depth"));
    }
    return copy_.Add(place, std::move(slot));
  }

  base::Status Add(Value operation) {
    const auto path = Path(operation);
    if (!path.ok()) return Failure("add operation failed to decode path: missing value");
    const Place place = copy_.Find(*path);
    if (place.container == nullptr) {
      return Failure(StrCat("add operation does not apply: doc is missing path: \"", *path,
                            "\": missing value"));
    }
    base::Status added = Insert(place, {operation["value"], nullptr});
    if (added.ok()) return added;
    return added.Annotate(StrCat("error in add for path: '", *path, "'"));
  }

  base::Status Remove(Value operation) {
    const auto path = Path(operation);
    if (!path.ok()) return Failure("remove operation failed to decode path: missing value");
    const Place place = copy_.Find(*path);
    if (place.container == nullptr) {
      return Failure(StrCat("remove operation does not apply: doc is missing path: \"", *path,
                            "\": missing value"));
    }
    return copy_.Remove(place).Annotate(StrCat("error in remove for path: '", *path, "'"));
  }

  base::Status Replace(Value operation) {
    const auto path = Path(operation);
    if (!path.ok()) return path.status().Annotate("replace operation failed to decode path");
    if (path->empty()) return ReplaceDocument(operation["value"]);
    const Place place = copy_.Find(*path);
    if (place.container == nullptr) {
      return Failure(StrCat("replace operation does not apply: doc is missing path: ", *path,
                            ": missing value"));
    }
    const auto slot = copy_.Get(place);
    if (!slot.ok()) {
      return Failure(StrCat("replace operation does not apply: doc is missing key: ", *path,
                            ": missing value"));
    }
    // A missing member is added; an element exists by now.
    if (*slot == nullptr) return Insert(place, {operation["value"], nullptr});
    if (place.depth + operation["value"].depth() > options_.max_depth) {
      return Failure(InvalidCharacter('{', "exceeded max depth"));
    }
    internal::WorkingCopy::Put(place, **slot, operation["value"]);
    return base::OkStatus();
  }

  base::Status ReplaceDocument(Value value) {
    if (!value.is_object() && !value.is_array()) {
      return Failure("replace operation value must be object or array: %!w(<nil>)");
    }
    // The document is looked into at once: of its members the last of each name is left.
    copy_.Replace(options_.repeats_keys ? LastMembers(arena_, value) : value);
    return base::OkStatus();
  }

  base::Status Move(Value operation) {
    const auto from = From(operation);
    if (!from.ok()) return from.status().Annotate("move operation failed to decode from");
    const Place source = copy_.Find(*from);
    if (source.container == nullptr) {
      return Failure(StrCat("move operation does not apply: doc is missing from path: ", *from,
                            ": missing value"));
    }
    const std::string at_source = StrCat("error in move for path: '", source.key, "'");
    const auto slot = copy_.Get(source);
    if (!slot.ok()) return slot.status().Annotate(at_source);
    Slot moved;
    if (*slot != nullptr) moved = std::move(**slot);
    TRY(copy_.Remove(source).Annotate(at_source));

    const auto path = Path(operation);
    if (!path.ok()) return path.status().Annotate("move operation failed to decode path");
    const Place target = copy_.Find(*path);
    if (target.container == nullptr) {
      return Failure(StrCat("move operation does not apply: doc is missing destination path: ",
                            *path, ": missing value"));
    }
    return Insert(target, std::move(moved))
        .Annotate(StrCat("error in move for path: '", *path, "'"));
  }

  base::Status Test(Value operation) {
    const auto path = Path(operation);
    if (!path.ok()) return path.status().Annotate("test operation failed to decode path");
    base::Status failed = Failure(StrCat("testing value ", *path, " failed: test failed"));
    const Value expected = operation["value"];
    if (path->empty()) {
      if (!Equal(copy_.root(), expected)) return failed;
      copy_.Replace(LookedInto(copy_.root()));
      return base::OkStatus();
    }
    const Place place = copy_.Find(*path);
    if (place.container == nullptr) {
      return Failure(
          StrCat("test operation does not apply: is missing path: ", *path, ": missing value"));
    }
    const auto slot = copy_.Get(place);
    if (!slot.ok()) return slot.status().Annotate(StrCat("error in test for path: '", *path, "'"));
    const bool equal = *slot == nullptr ? expected.is_null() : Equal(**slot, expected);
    if (!equal) return failed;
    if (*slot != nullptr) **slot = {LookedInto(**slot), nullptr};
    return base::OkStatus();
  }

  base::Status Copy(Value operation) {
    const auto from = From(operation);
    if (!from.ok()) return from.status().Annotate("copy operation failed to decode from");
    const Place source = copy_.Find(*from);
    if (source.container == nullptr) {
      return Failure(StrCat("copy operation does not apply: doc is missing from path: ", *from,
                            ": missing value"));
    }
    const auto slot = copy_.Get(source);
    if (!slot.ok()) {
      return slot.status().Annotate(StrCat("error in copy for from: '", *from, "'"));
    }
    const bool missing = *slot == nullptr;

    const auto path = Path(operation);
    if (!path.ok()) return Failure("copy operation failed to decode path: missing value");
    const Place target = copy_.Find(*path);
    if (target.container == nullptr) {
      return Failure(StrCat("copy operation does not apply: doc is missing destination path: ",
                            *path, ": missing value"));
    }
    // The way to the target may lead into what is copied.
    const Value value = missing ? Value() : copy_.Freeze(**slot);
    if (!missing) copied_ += static_cast<std::int64_t>(ToString(value).size());
    if (options_.copy_limit > 0 && copied_ > options_.copy_limit) {
      return Failure(StrCat(
          "Unable to complete the copy, the accumulated size increase of copy is ",
          std::to_string(copied_), ", exceeding the limit ", std::to_string(options_.copy_limit)));
    }
    return Insert(target, {spellings_.Copied(value), nullptr})
        .Annotate("error while adding value during copy");
  }

  Arena& arena_;
  const PatchOptions& options_;
  internal::WorkingCopy copy_;
  std::int64_t copied_ = 0;
  internal::Spellings spellings_;
};

// The Go type of the operations of a patch.
std::string_view ElementType(std::string_view go_type) {
  return go_type.starts_with("[]") ? go_type.substr(2) : "jsonpatch.Operation";
}

}  // namespace

base::Result<Value> DecodePatch(Arena& arena, std::string_view text, std::string_view go_type,
                                const PatchOddities& oddities) {
  ParseOptions options;
  options.repeats_keys = oddities.repeats_keys;
  options.range_error = oddities.range_error;
  Value patch = TRY(Parse(arena, text, options));
  if (oddities.repeats_keys != nullptr && *oddities.repeats_keys) {
    options.keep_duplicates = true;
    patch = TRY(Parse(arena, text, options));
  } else if (oddities.spelled != nullptr &&
             text.find_first_of("\\<>&\xE2") != std::string_view::npos) {
    // Without any of these bytes all is spelled as Go does.
    *oddities.spelled = TRY(ParseSpelled(arena, text));
  }
  if (patch.is_null()) return MakeArray(arena, std::span<const Value>());
  if (!patch.is_array()) {
    return base::BadRequest(
        StrCat("json: cannot unmarshal ", GoTypeName(patch), " into Go value of type ", go_type));
  }
  for (const Value& operation : patch.elements()) {
    if (operation.is_object() || operation.is_null()) continue;
    return base::BadRequest(StrCat("json: cannot unmarshal ", GoTypeName(operation),
                                   " into Go value of type ", ElementType(go_type)));
  }
  return patch;
}

base::Result<Value> ApplyPatch(Arena& arena, Value document, Value patch,
                               const PatchOptions& options) {
  if (patch.empty()) return document;
  Application application(arena, document, options);
  for (std::size_t i = 0; i < options.spelled.elements().size(); ++i) {
    application.NoteSpelling(patch.elements()[i]["value"], options.spelled.elements()[i]["value"]);
  }
  for (const Value& operation : patch.elements()) {
    TRY(application.Apply(options.repeats_keys ? LastMembers(arena, operation) : operation));
  }
  return application.Result();
}

}  // namespace portcullis::json
