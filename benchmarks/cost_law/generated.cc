// SPDX-License-Identifier: Apache-2.0

#include "generated.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "base/strings.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "values.h"

namespace portcullis::cost_law {
namespace {

using api::catalog::ResourceInfo;
using api::schema::Field;
using api::schema::Kind;
using api::schema::Schema;

// An object of each kind, by "apps/v1 Deployment", and one of any version by "apps Deployment".
struct Seeds {
  json::Arena arena;
  std::map<std::string, json::Value, std::less<>> by_kind;

  base::Status Read() {
    std::ifstream file(std::string(PC_SOURCE_DIR) + "/benchmarks/cost_law/seeds.yaml");
    std::ostringstream text;
    text << file.rdbuf();
    const std::string all = text.str();
    for (const std::string_view document : json::SplitYaml(all)) {
      const json::Value seed = TRY(json::ParseYaml(arena, document));
      const std::string_view version = seed["apiVersion"].AsString();
      const std::string_view kind = seed["kind"].AsString();
      by_kind[base::StrCat(version, " ", kind)] = seed;
      const auto cut = base::Cut(version, "/");
      by_kind.emplace(base::StrCat(cut ? cut->first : "", " ", kind), seed);
    }
    return base::OkStatus();
  }

  // Null if there is none.
  json::Value Find(const api::GroupVersionKind& kind) const {
    auto found = by_kind.find(base::StrCat(kind.group_version().ToString(), " ", kind.kind));
    if (found == by_kind.end()) found = by_kind.find(base::StrCat(kind.group, " ", kind.kind));
    return found == by_kind.end() ? json::Value() : found->second;
  }
};

// A kind whose objects are grown.
struct Grown {
  const ResourceInfo* resource = nullptr;
  std::shared_ptr<const Seeds> seeds;

  std::string Collection() const {
    const auto& name = resource->resource;
    return base::StrCat(name.group.empty() ? "/api/" : "/apis/" + name.group + "/", name.version,
                        resource->namespaced ? "/namespaces/default/" : "/", name.resource);
  }
  std::string Body(const Growth& growth) const {
    json::Arena arena;
    return json::ToString(cost_law::Grown(arena, *resource->schema, Object(arena), growth));
  }
  std::string SmallBody() const {
    json::Arena arena;
    return json::ToString(Object(arena));
  }
  json::Value Object(json::Arena& arena) const {
    const std::string version = resource->kind.group_version().ToString();
    json::Value object = seeds->Find(resource->kind);
    if (object.is_null()) {
      object = Example(arena, *resource->schema, "", 0, Likeness::kDistinct);
    }
    object = json::SetPath(arena, object, {"apiVersion"}, json::String(arena, version));
    object = json::SetPath(arena, object, {"kind"}, json::String(arena, resource->kind.kind));
    const json::Value name = object["metadata"]["name"];
    return json::SetPath(arena, object, {"metadata", "name"},
                         json::String(arena, Name(name.AsString())));
  }
  static std::string Name(std::string_view given) {
    return given.empty() || given == "n0" ? "cost-law" : std::string(given);
  }
  std::string ObjectPath() const {
    const json::Value seed = seeds->Find(resource->kind);
    return base::StrCat(Collection(), "/", Name(seed["metadata"]["name"].AsString()));
  }
};

constexpr std::string_view kDry = "?dryRun=All";

Ask Create(const Grown& grown, const Growth& growth) {
  return {"POST", base::StrCat(grown.Collection(), kDry), grown.Body(growth)};
}

Ask Apply(const Grown& grown, const Growth& growth, std::string_view manager) {
  return {"PATCH", base::StrCat(grown.ObjectPath(), kDry, "&force=true&fieldManager=", manager),
          grown.Body(growth), "application/apply-patch+yaml"};
}

// A change of a stored object.
Sample Changed(const Grown& grown, const Growth& growth, std::string_view method,
               std::string_view type) {
  Growth after = growth;
  after.likeness = Likeness::kChanged;
  Sample sample;
  sample.before = {{"POST", grown.Collection(), grown.Body(growth)}};
  sample.measured = {std::string(method), base::StrCat(grown.ObjectPath(), kDry), grown.Body(after),
                     std::string(type)};
  sample.after = {grown.ObjectPath()};
  return sample;
}

// The same of a small object, where a large one is refused: an update is judged otherwise than a
// create.
Sample FromSmall(const Grown& grown, Sample sample) {
  sample.before = {{"POST", grown.Collection(), grown.SmallBody()}};
  return sample;
}

struct Operation {
  std::string_view name;
  bool of_resources_only;  // stored kinds that can be changed
  bool of_texts;           // also of long texts, not only of lists and maps
  Sample (*make)(const Grown& grown, const Growth& growth);
};

constexpr Operation kOperations[] = {
    {"create", false, true,
     [](const Grown& grown, const Growth& growth) {
       return Sample{{}, Create(grown, growth), {}};
     }},
    {"create equal ones", false, true,
     [](const Grown& grown, const Growth& growth) {
       return Sample{{}, Create(grown, {growth.place, growth.size, Likeness::kEqual}), {}};
     }},
    {"apply", true, false,
     [](const Grown& grown, const Growth& growth) {
       return Sample{{}, Apply(grown, growth, "a"), {}};
     }},
    {"apply on another's", true, false,
     [](const Grown& grown, const Growth& growth) {
       Sample sample = Changed(grown, growth, "PATCH", "");
       sample.measured = Apply(grown, {growth.place, growth.size, Likeness::kChanged}, "b");
       return sample;
     }},
    {"update", true, true,
     [](const Grown& grown, const Growth& growth) {
       return Changed(grown, growth, "PUT", "application/json");
     }},
    {"merge patch", true, false,
     [](const Grown& grown, const Growth& growth) {
       return Changed(grown, growth, "PATCH", "application/merge-patch+json");
     }},
    {"strategic merge patch", true, false,
     [](const Grown& grown, const Growth& growth) {
       return Changed(grown, growth, "PATCH", "application/strategic-merge-patch+json");
     }},
};

class Generator {
 public:
  Generator(std::shared_ptr<const Seeds> seeds, const GeneratedOptions& options)
      : seeds_(std::move(seeds)), options_(options) {}

  void Add(const ResourceInfo& resource) {
    grown_ = {&resource, seeds_};
    Place place;
    Walk(*resource.schema, place, {});
  }

  std::vector<Family> families;

 private:
  // `parents` are the definitions on the way, so that recursive types end.
  void Walk(const Schema& schema, Place& place, const std::vector<std::string_view>& parents) {
    const std::string_view definition = schema.definition;
    const bool again = !definition.empty() &&
                       std::find(parents.begin(), parents.end(), definition) != parents.end();
    if (again) return;
    std::vector<std::string_view> here = parents;
    if (!definition.empty()) here.push_back(definition);
    if (schema.element != nullptr && schema.element->kind != Kind::kAny) {
      place.emplace_back(schema.kind == Kind::kArray ? "[]" : "{}");
      Walk(*schema.element, place, here);
      place.pop_back();
    }
    for (const Field& field : schema.fields) {
      const bool type_meta = place.empty() && (field.name == "kind" || field.name == "apiVersion");
      if (field.schema == nullptr || type_meta) continue;
      place.emplace_back(field.name);
      if (IsNew(schema, field, place)) AddFamilies(*field.schema, place);
      Walk(*field.schema, place, here);
      place.pop_back();
    }
  }

  bool IsNew(const Schema& parent, const Field& field, const Place& place) {
    if (!options_.once || parent.definition.empty()) return true;
    if (place.front() == "status") return false;  // creates drop it
    return seen_.insert(base::StrCat(parent.definition, " ", field.name)).second;
  }

  void AddFamilies(const Schema& schema, const Place& place) {
    const bool is_many =
        schema.kind == Kind::kArray || schema.kind == Kind::kMap || schema.kind == Kind::kAny;
    const bool is_text = schema.kind == Kind::kString || schema.kind == Kind::kBytes;
    if (!is_many && !is_text) return;
    const bool changeable = grown_.resource->HasVerb("patch");
    for (const Operation& operation : kOperations) {
      if ((operation.of_resources_only && !changeable) || (is_text && !operation.of_texts))
        continue;
      const auto make = [grown = grown_, place, make = operation.make](std::size_t n) {
        return make(grown, {place, n, Likeness::kDistinct});
      };
      Family family{
          base::StrCat(grown_.resource->resource.resource, " ", TextOf(place), " ", operation.name),
          make};
      family.otherwise = [grown = grown_, make](std::size_t n) {
        return FromSmall(grown, make(n));
      };
      families.push_back(std::move(family));
    }
  }

  const std::shared_ptr<const Seeds> seeds_;
  const GeneratedOptions options_;
  Grown grown_;
  std::set<std::string> seen_;
};

}  // namespace

base::Result<std::vector<Family>> GeneratedFamilies(const api::catalog::Catalog& catalog,
                                                    const GeneratedOptions& options) {
  auto seeds = std::make_shared<Seeds>();
  TRY(seeds->Read());
  Generator generator(std::move(seeds), options);
  for (const ResourceInfo* resource : catalog.resources()) {
    if (resource->schema != nullptr && resource->HasVerb("create")) generator.Add(*resource);
  }
  return std::move(generator.families);
}

}  // namespace portcullis::cost_law
