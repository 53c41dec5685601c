// SPDX-License-Identifier: Apache-2.0

#include "admission/testing/scenario.h"

#include <map>
#include <memory>
#include <utility>

#include "admission/catalog_objects.h"
#include "admission/config.h"
#include "admission/store_feed.h"
#include "api/catalog/catalog.h"
#include "authz/authorizer.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "json/patch.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "metrics/metrics.h"
#include "release/release.h"
#include "store/memory/memory_store.h"

namespace portcullis::admission::testing {
namespace {

using api::catalog::Catalog;
using api::catalog::ResourceInfo;

// Everything, and what Kubernetes has dropped.
const std::shared_ptr<const Catalog>& TheCatalog() {
  static const std::shared_ptr<const Catalog> catalog = [] {
    api::catalog::LegacyOptions legacy;
    legacy.plugins = {"Initializers", "GenericAdmissionWebhook"};
    legacy.initializers = true;
    auto built_in = Catalog::BuiltIn({{"api/all", true},
                                      {"admissionregistration.k8s.io/v1alpha1", true},
                                      {"policy/v1beta1", true}},
                                     legacy);
    return built_in.ok() ? built_in.value() : std::shared_ptr<const Catalog>();
  }();
  return catalog;
}

// Allows what a list of "verb resource[.group][/name]" says.
class ListAuthorizer final : public authz::Authorizer {
 public:
  explicit ListAuthorizer(json::Value access) : access_(access) {}

  authz::Decision Authorize(const authz::Attributes& attributes) const override {
    std::string resource(attributes.resource);
    if (!attributes.group.empty()) resource += base::StrCat(".", attributes.group);
    if (!attributes.subresource.empty()) resource += base::StrCat("/", attributes.subresource);
    const std::string action = base::StrCat(attributes.verb, " ", resource);
    const std::string named = base::StrCat(action, "/", attributes.name);
    authz::Decision decision;
    bool allowed = access_.is_null() || access_.AsString() == "allow";
    for (const json::Value entry : access_.elements()) {
      allowed = allowed || entry.AsString() == action || entry.AsString() == named;
    }
    if (allowed) decision.verdict = authz::Verdict::kAllowed;
    return decision;
  }
  authz::Rules RulesFor(const api::UserInfo&, std::string_view) const override { return {}; }

 private:
  json::Value access_;
};

// Remembers nothing but answers as a server would whose objects are all valid.
class StoreWriter final : public ClusterWriter {
 public:
  StoreWriter(json::Arena& arena, store::Store& store) : arena_(arena), store_(store) {}

  base::Status Create(const api::GroupVersionResource& resource, std::string_view namespace_name,
                      json::Value object) override {
    const std::string name(object["metadata"]["name"].AsString());
    TRY(store_.Create({resource.group, resource.resource, namespace_name, name}, Encode(object)));
    return base::OkStatus();
  }
  base::Result<json::Document> UpdateStatus(const api::GroupVersionResource& resource,
                                            std::string_view namespace_name, std::string_view name,
                                            json::Value object) override {
    const auto stored = TRY(store_.Update({resource.group, resource.resource, namespace_name, name},
                                          Encode(object), {}));
    return stored->document();
  }

  store::Encoded Encode(json::Value object) const {
    object =
        json::SetPath(arena_, object, {"metadata", "resourceVersion"}, json::Value::StringView(""));
    constexpr std::string_view kPlace = "\"resourceVersion\":\"";
    store::Encoded encoded;
    encoded.bytes = json::ToString(object, {.splice_source = false});
    encoded.revision_at = encoded.bytes.find(kPlace) + kPlace.size();
    return encoded;
  }

 private:
  json::Arena& arena_;
  store::Store& store_;
};

bool Lists(std::string_view list, std::string_view word) {
  for (const std::string_view one : base::Split(list, ' ')) {
    if (one == word) return true;
  }
  return false;
}

// Answers from the store, and notes what the plugin looks at without saying so (PluginInfo::reads).
class DeclaredReader final : public store::Reader {
 public:
  DeclaredReader(const store::Reader& reader, const PluginInfo& plugin,
                 std::vector<std::string>& failures)
      : reader_(reader), plugin_(plugin), failures_(failures) {}

  store::ObjectPtr Get(const store::Key& key) const override {
    Check(key.collection());
    return reader_.Get(key);
  }
  std::vector<store::ObjectPtr> List(const store::Collection& collection,
                                     std::string_view ns) const override {
    Check(collection);
    return reader_.List(collection, ns);
  }
  base::Result<store::Page> ListPage(const store::ListRequest& request) const override {
    Check(request.collection);
    return reader_.ListPage(request);
  }
  std::size_t Count(const store::Collection& collection) const override {
    Check(collection);
    return reader_.Count(collection);
  }
  base::Status WhyUnreadable(const store::Key& key) const override {
    Check(key.collection());
    return reader_.WhyUnreadable(key);
  }
  base::Status WhyUnreadable(const store::Collection& collection,
                             std::string_view ns) const override {
    Check(collection);
    return reader_.WhyUnreadable(collection, ns);
  }
  std::int64_t revision() const override { return reader_.revision(); }

 private:
  void Check(const store::Collection& collection) const {
    const std::string name = collection.group.empty()
                                 ? std::string(collection.resource)
                                 : base::StrCat(collection.resource, ".", collection.group);
    if (Lists(plugin_.reads, name)) return;
    failures_.push_back(base::StrCat("reads ", name, ", which PluginInfo::reads does not name"));
  }

  const store::Reader& reader_;
  const PluginInfo& plugin_;
  std::vector<std::string>& failures_;
};

api::GroupVersionKind KindOf(json::Value object) {
  auto version = api::ParseGroupVersion(object["apiVersion"].AsString());
  if (!version.ok()) return {};
  return {version->group, version->version, std::string(object["kind"].AsString())};
}

class Runner {
 public:
  Runner(const PluginInfo& plugin, std::string_view yaml) : plugin_(plugin), yaml_(yaml) {}

  ScenarioResult Run() {
    if (auto status = RunAll(); !status.ok()) Fail(status.message());
    return std::move(result_);
  }

 private:
  void Fail(std::string text) { result_.failures.push_back(std::move(text)); }

  base::Status RunAll() {
    scenario_ = TRY(json::ParseYaml(arena_, yaml_));
    result_.description = scenario_["description"].AsString();
    if (TheCatalog() == nullptr) return base::ConfigError("no built-in catalog");
    store_ = store::OpenMemory();
    reader_ = std::make_unique<DeclaredReader>(*store_, plugin_, result_.failures);
    writer_ = std::make_unique<StoreWriter>(arena_, *store_);
    feed_ = MakeStoreFeed(*store_);
    for (const json::Value object : scenario_["cluster"].elements()) TRY(AddObject(object));

    auto made = MakePlugin();
    const json::Value init_error = scenario_["expect"]["init"];
    if (!made.ok()) {
      result_.effect = Effect::kInitFailed;
      CompareText("error of the factory", init_error.AsString(), made.status().message());
      return base::OkStatus();
    }
    if (!init_error.is_null()) {
      Fail("the plugin accepts its configuration");
      return base::OkStatus();
    }
    const std::unique_ptr<Plugin> plugin = std::move(made).value();
    Attributes attributes = TRY(MakeAttributes());
    const json::Value before = attributes.object;
    Recorder recorder;
    Request request(std::move(attributes), arena_, recorder);
    const base::Status outcome = RunPhases(*plugin, request);
    if (!outcome.ok()) {
      result_.effect = Effect::kRefused;
    } else if (!objects_.SemanticallyEqual(before, request.object(), request.kind())) {
      result_.effect = Effect::kChanged;
    }
    if (result_.effect == Effect::kRefused || result_.effect == Effect::kChanged) {
      CheckResource(request);
    }
    Compare(outcome, before, request.object(), request.kind());
    CompareRecords(recorder);
    return base::OkStatus();
  }

  base::Status AddObject(json::Value object) {
    const api::GroupVersionKind kind = KindOf(object);
    // Kinds behind gates that are off are not in the catalog: their plurals are regular.
    std::string group = kind.group;
    std::string resource = base::ToLower(kind.kind) + "s";
    if (const ResourceInfo* info = TheCatalog()->FindKind(kind)) {
      group = info->storage_kind.group;
      resource = info->resource.resource;
      if (auto decoded = objects_.Decode(arena_, object, kind); decoded.ok()) object = *decoded;
    }
    const json::Value metadata = object["metadata"];
    TRY(store_->Create(
        {group, resource, metadata["namespace"].AsString(), metadata["name"].AsString()},
        writer_->Encode(object)));
    return base::OkStatus();
  }

  base::Result<std::unique_ptr<Plugin>> MakePlugin() {
    const json::Value config = scenario_["config"];
    release::GateSettings gates;
    for (const json::Member& gate : scenario_["gates"].members()) {
      gates[std::string(gate.name())] = gate.value.AsBool();
    }
    const std::string newest = release::Release::Newest().version();
    release_.emplace(
        TRY(release::Release::Open(scenario_["release"].AsString(newest), std::move(gates))));
    authorizer_ = std::make_unique<ListAuthorizer>(scenario_["access"]);
    PluginContext context;
    context.name = plugin_.name;
    if (!config.is_null()) {
      config_ = ParsePluginConfig(config.is_string() ? std::string(config.AsString())
                                                     : json::ToString(config));
      context.config = &config_;
    }
    context.reader = reader_.get();
    context.clock = &clock_;
    context.release = &*release_;
    context.authorizer = authorizer_.get();
    context.metrics = &metrics_;
    context.writer = writer_.get();
    context.feed = feed_.get();
    context.objects = &objects_;
    return plugin_.create(context);
  }

  base::Result<Attributes> MakeAttributes() {
    const json::Value input = scenario_["request"];
    Attributes out;
    TRY(ReadOperation(input["operation"].AsString("CREATE"), out));
    TRY(ReadResource(input, out));
    out.object = TRY(ReadObject(input["object"], out.kind));
    out.old_object = TRY(ReadObject(input["oldObject"], out.kind));
    const json::Value metadata = (out.object.is_null() ? out.old_object : out.object)["metadata"];
    out.namespace_name = input["namespace"].AsString(metadata["namespace"].AsString());
    out.name = input["name"].AsString(metadata["name"].AsString());
    if (out.kind.kind == "Namespace" && out.namespace_name.empty()) out.namespace_name = out.name;
    out.options = input["options"];
    out.dry_run = input["dryRun"].AsBool();
    const json::Value user = input["user"];
    if (user.is_string()) {
      out.user.name = user.AsString();
    } else if (user.is_object()) {
      out.user = api::UserInfoFromJson(user);
      if (user.Has("name")) out.user.name = user["name"].AsString();
    }
    return out;
  }

  static base::Status ReadOperation(std::string_view text, Attributes& out) {
    for (const Operation operation : {kCreate, kUpdate, kDelete, kConnect}) {
      if (OperationText(operation) != text) continue;
      out.operation = operation;
      return base::OkStatus();
    }
    return base::ConfigError(base::StrCat("unknown operation ", text));
  }

  base::Status ReadResource(json::Value input, Attributes& out) const {
    std::string_view text = input["resource"].AsString("pods");
    if (const auto parts = base::Cut(text, "/")) {
      out.subresource = parts->second;
      text = parts->first;
    }
    if (input.Has("subresource")) out.subresource = input["subresource"].AsString();
    std::string_view group = input["group"].AsString();
    if (const auto parts = base::Cut(text, ".")) {
      group = parts->second;
      text = parts->first;
    }
    const std::string_view version = input["version"].AsString();
    const ResourceInfo* info = version.empty() ? TheCatalog()->FindPreferred(group, text)
                                               : TheCatalog()->Find(group, version, text);
    if (info != nullptr) {
      out.resource = info->resource;
      out.kind = objects_.KindFor(info->resource, out.subresource);
    } else {
      out.resource = {std::string(group), std::string(version), std::string(text)};
    }
    const json::Value object = input.Has("object") ? input["object"] : input["oldObject"];
    if (out.kind.empty()) out.kind = KindOf(object);
    if (const auto kind = input["kind"].AsString(); !kind.empty()) out.kind.kind = kind;
    return base::OkStatus();
  }

  base::Result<json::Value> ReadObject(json::Value object, const api::GroupVersionKind& kind) {
    if (object.is_null() || TheCatalog()->FindSchema(kind) == nullptr) return object;
    return objects_.Decode(arena_, object, kind);
  }

  base::Status RunPhases(const Plugin& plugin, Request& request) {
    const std::string_view phase = scenario_["phase"].AsString("both");
    if ((plugin_.operations & request.operation()) == 0) return base::OkStatus();
    if (phase != "validate" && (plugin_.phases & kMutate) != 0) {
      TRY(plugin.Mutate(request));
      const json::Value once = request.object();
      const base::Status again = plugin.Mutate(request);
      if (!again.ok()) {
        Fail(base::StrCat("a second Mutate refuses: ", again.message()));
      } else if (!objects_.SemanticallyEqual(once, request.object(), request.kind())) {
        Fail(base::StrCat("a second Mutate changes the object to ",
                          json::ToString(request.object())));
      }
    }
    if (phase != "mutate" && (plugin_.phases & kValidate) != 0) TRY(plugin.Validate(request));
    return base::OkStatus();
  }

  // What a plugin acts on it has to name (PluginInfo::resources).
  void CheckResource(const Request& request) {
    if (plugin_.resources.empty()) return;
    const std::string main = request.resource().group_resource().ToString();
    const std::string& subresource = request.subresource();
    const bool named = subresource.empty()
                           ? Lists(plugin_.resources, main)
                           : Lists(plugin_.resources, base::StrCat(main, "/", subresource)) ||
                                 Lists(plugin_.resources, base::StrCat(main, "/*"));
    if (named) return;
    Fail(base::StrCat("acts on ", main, "/", subresource,
                      ", which PluginInfo::resources does not name"));
  }

  void CompareText(std::string_view what, std::string_view expected, std::string_view got) {
    if (expected == got) return;
    Fail(base::StrCat(what, "\n  expected: ", expected, "\n  got:      ", got));
  }

  void CompareRefusal(json::Value expect, const base::Status& outcome) {
    CompareText("message of the refusal", expect["refused"].AsString(), outcome.message());
    if (expect.Has("code")) {
      CompareText("code", std::to_string(expect["code"].AsInt()),
                  std::to_string(outcome.http_code()));
    }
    if (expect.Has("reason")) {
      CompareText("reason", expect["reason"].AsString(), outcome.reason_text());
    }
  }

  void Compare(const base::Status& outcome, json::Value before, json::Value after,
               const api::GroupVersionKind& kind) {
    const json::Value expect = scenario_["expect"];
    if (expect.Has("refused")) {
      CompareRefusal(expect, outcome);
      return;
    }
    if (!outcome.ok()) {
      Fail(base::StrCat("refused: ", outcome.message()));
      return;
    }
    json::Value wanted = after;
    if (expect.Has("object")) {
      const auto decoded = ReadObject(expect["object"], kind);
      if (!decoded.ok()) {
        Fail(base::StrCat("expect.object: ", decoded.status().message()));
        return;
      }
      wanted = *decoded;
    } else if (expect.Has("patch")) {
      const auto patched = json::ApplyPatch(arena_, before, expect["patch"]);
      if (!patched.ok()) {
        Fail(base::StrCat("expect.patch: ", patched.status().message()));
        return;
      }
      wanted = *patched;
    } else if (expect["unchanged"].AsBool()) {
      wanted = before;
    } else if (expect.AsString("allowed") != "allowed") {
      Fail(base::StrCat("expect: unknown word ", expect.AsString()));
    }
    if (objects_.SemanticallyEqual(wanted, after, kind)) return;
    CompareText("object", json::ToString(wanted, {.sort_keys = true, .splice_source = false}),
                json::ToString(after, {.sort_keys = true, .splice_source = false}));
  }

  void CompareRecords(const Recorder& recorder) {
    const json::Value expect = scenario_["expect"];
    if (expect.Has("warnings")) {
      std::vector<std::string> wanted;
      for (const json::Value text : expect["warnings"].elements()) {
        wanted.emplace_back(text.AsString());
      }
      CompareText("warnings", base::Join(wanted, "\n"), base::Join(recorder.warnings(), "\n"));
    }
    if (!expect.Has("audit")) return;
    std::map<std::string, std::string> got;
    for (const AuditAnnotation& annotation : recorder.annotations()) {
      got[annotation.key] = annotation.value;
    }
    for (const json::Member& member : expect["audit"].members()) {
      CompareText(base::StrCat("audit annotation ", member.name()), member.value.AsString(),
                  got[std::string(member.name())]);
    }
  }

  const PluginInfo& plugin_;
  const std::string_view yaml_;
  json::Arena arena_;
  json::Value scenario_;
  ScenarioResult result_;
  base::FakeClock clock_;
  metrics::Registry metrics_;
  PluginConfig config_;
  CatalogObjects objects_{[] { return TheCatalog(); }, nullptr};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Reader> reader_;
  std::unique_ptr<StoreWriter> writer_;
  std::unique_ptr<ObjectFeed> feed_;
  std::optional<release::Release> release_;
  std::unique_ptr<ListAuthorizer> authorizer_;
};

}  // namespace

ScenarioResult RunScenario(const PluginInfo& plugin, std::string_view yaml) {
  return Runner(plugin, yaml).Run();
}

}  // namespace portcullis::admission::testing
