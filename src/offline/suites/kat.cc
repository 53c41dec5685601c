// SPDX-License-Identifier: Apache-2.0

// Tests of kat (github.com/zemanlx/kat), which are named by files in a folder tests/:
//   POLICY.TEST.VERDICT.object.yaml      and oldObject, request, params, authorizer in the same way
//   POLICY.TEST.deny.message.txt, POLICY.TEST.warn.warnings.txt, POLICY.TEST.audit.annotations.yaml
//   POLICY.TEST.object.yaml and POLICY.TEST.gold.yaml for MutatingAdmissionPolicies
// Policies and bindings stand in the directory above. What authorizer files allow becomes roles.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "offline/suites/reading.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRoles[] = {"object", "oldObject",  "request",  "params",
                                       "gold",   "authorizer", "expected", "annotations"};
constexpr std::string_view kVerdicts[] = {"allow", "deny", "warn", "audit", "mutate"};

// What the name of a file says.
struct FileName {
  std::string stem;     // without role and ending: POLICY.TEST.VERDICT
  std::string test;     // POLICY.TEST
  std::string verdict;  // "" for tests of mutations
  std::string role;
};

std::optional<FileName> ReadName(const fs::path& path) {
  std::string name = path.filename().string();
  for (std::string_view ending : {".yaml", ".yml"}) {
    if (!name.ends_with(ending)) continue;
    name.resize(name.size() - ending.size());
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos || dot == 0) return std::nullopt;
    FileName made;
    made.role = name.substr(dot + 1);
    if (std::find(std::begin(kRoles), std::end(kRoles), made.role) == std::end(kRoles)) {
      return std::nullopt;
    }
    made.stem = made.test = name.substr(0, dot);
    const std::size_t last = made.test.rfind('.');
    const std::string word = last == std::string::npos ? made.test : made.test.substr(last + 1);
    if (std::find(std::begin(kVerdicts), std::end(kVerdicts), word) != std::end(kVerdicts)) {
      made.verdict = word;
      made.test.resize(last == std::string::npos ? 0 : last);
    }
    return made;
  }
  return std::nullopt;
}

// The subresources whose parent kat's requests leave out.
constexpr std::string_view kPodSubresources[] = {"exec", "attach",   "portforward", "proxy",
                                                 "log",  "eviction", "binding"};

class KatReader {
 public:
  KatReader(std::span<const Manifest> documents, Location& wrong, Suites& suites)
      : documents_(documents), wrong_(wrong), suites_(suites) {}

  base::Status Run() {
    const fs::path folder = base::FolderOf(documents_.front().source->path());
    policies_ = ReadPolicies(folder / "..");
    std::vector<std::string> order;
    for (const Manifest& document : documents_) {
      const auto name = ReadName(document.source->path());
      auto& files = tests_[name->stem];
      if (files.empty()) order.push_back(name->stem);
      files.emplace(name->role, &document);
      names_[name->stem] = *name;
    }
    for (const std::string& stem : order) TRY(ReadTest(names_[stem], tests_[stem]));
    return base::OkStatus();
  }

 private:
  using Files = std::map<std::string, const Manifest*>;

  Inputs ReadPolicies(const fs::path& folder) const {
    InputOptions options;
    options.filenames = {folder.string()};
    return suites_.files->Read(options);
  }

  base::Status Wrong(const Manifest& document, const Steps& steps, std::string_view what) const {
    wrong_ = document.Find(steps);
    return base::ConfigError(std::string(what));
  }

  // The policy that the name begins with, or the only one.
  const Manifest* PolicyOf(const std::string& test) const {
    const Manifest* only = nullptr;
    std::size_t count = 0;
    for (const Manifest& manifest : policies_.manifests) {
      if (!IsPolicy(manifest)) continue;
      if (test.starts_with(base::StrCat(manifest.name, "."))) return &manifest;
      only = &manifest;
      ++count;
    }
    return count == 1 ? only : nullptr;
  }

  static const Manifest* Find(const Files& files, std::string_view role) {
    const auto found = files.find(std::string(role));
    return found == files.end() ? nullptr : found->second;
  }

  base::Status ReadTest(const FileName& name, const Files& files) {
    const Manifest& first = *files.begin()->second;
    const Manifest* policy = PolicyOf(name.test);
    if (policy == nullptr) {
      return Wrong(first, {},
                   "no policy in the directory above has a name that the file's begins with");
    }
    Suite suite;
    suite.name = base::StrCat(policy->name, ": ", base::FolderOf(first.source->path()));
    Reading reading(first, wrong_);
    Case one = reading.NewCase(name.stem, {});
    const Manifest* object = Find(files, "object");
    const Manifest* old = Find(files, "oldObject");
    if (object != nullptr || old != nullptr) SetRequest(one, object, old);
    if (const Manifest* request = Find(files, "request")) {
      TRY(ReadRequest(*request, suite, one));
    }
    TRY(ReadExpect(name, files, *policy, one.expect));
    const Manifest* params = Find(files, "params");
    json::Value ref;
    if (params != nullptr) {
      suite.inputs.given.push_back(*params);
      ref = json::ObjectBuilder(*suite.arena)
                .Set("name", params->name)
                .Set("namespace", params->ns.empty() ? std::string_view("default")
                                                     : std::string_view(params->ns))
                .Set("parameterNotFoundAction", "Deny")
                .Build();
    }
    GivePolicy(suite, *policy, policies_.manifests, ref);
    if (const Manifest* rights = Find(files, "authorizer")) GiveRights(*rights, suite, one);
    suite.cases.push_back(std::move(one));
    suites_.suites.push_back(std::move(suite));
    return base::OkStatus();
  }

  base::Status ReadRequest(const Manifest& request, Suite& suite, Case& one) const {
    Location& wrong = wrong_;
    const Reading reading(request, wrong);
    const json::Value root = request.object;
    TRY(reading.CheckNames(root, {},
                           {"apiVersion", "kind", "operation", "userInfo", "namespaceObject",
                            "namespace", "name", "resource", "subResource", "object", "oldObject",
                            "options", "dryRun", "uid", "requestKind", "requestResource"}));
    Review& review = one.review;
    if (root.Has("object") || root.Has("oldObject")) {
      const Manifest object = MakeManifest(request, request.arena, root["object"]);
      const Manifest old = MakeManifest(request, request.arena, root["oldObject"]);
      SetRequest(one, root["object"].is_object() ? &object : nullptr,
                 root["oldObject"].is_object() ? &old : nullptr);
    }
    if (root.Has("operation")) review.operation = root["operation"].AsString();
    if (root.Has("name")) review.name = root["name"].AsString();
    if (root.Has("namespace")) review.ns = root["namespace"].AsString();
    review.subresource = root["subResource"].AsString();
    review.options = root["options"];
    review.user = ReadUserInfo(root["userInfo"]);
    if (std::find(std::begin(kPodSubresources), std::end(kPodSubresources), review.subresource) !=
        std::end(kPodSubresources)) {
      review.resource = {"", "v1", "pods"};
    }
    if (review.ns.empty()) review.ns = "default";
    const json::Value space = root["namespaceObject"];
    if (!space.is_object()) return base::OkStatus();
    if (space["metadata"].Has("name") && !root.Has("namespace")) {
      review.ns = space["metadata"]["name"].AsString();
    }
    suite.inputs.given.push_back(MakeManifest(
        request, suite.arena, MakeNamespace(*suite.arena, review.ns, space["metadata"]["labels"])));
    // The object stands in that namespace, whatever it says.
    for (json::Value* value : {&review.object, &review.old_object}) {
      const bool stands = (*value)["metadata"].Has("namespace");
      if (!stands) continue;
      *value = json::SetPath(*suite.arena, *value, {"metadata", "namespace"},
                             json::String(*suite.arena, review.ns));
    }
    return base::OkStatus();
  }

  base::Status ReadExpect(const FileName& name, const Files& files, const Manifest& policy,
                          Expectation& expect) const {
    expect.policy = policy.name;
    const bool mutates = policy.kind.starts_with("Mutating");
    expect.verdict =
        mutates ? Expected::kAny : ExpectedNamed(name.verdict).value_or(Expected::kAllow);
    expect.accepts_skip = mutates || expect.verdict == Expected::kAllow;
    const Manifest* gold = Find(files, "gold");
    if (gold == nullptr) gold = Find(files, "expected");
    if (gold != nullptr) expect.object = gold->object;
    const Manifest& first = *files.begin()->second;
    const fs::path beside = base::FolderOf(first.source->path());
    const auto text_of = [&](std::string_view role) -> std::optional<std::string> {
      const auto text = suites_.files->Text((beside / base::StrCat(name.stem, ".", role)).string());
      if (!text.ok()) return std::nullopt;
      return std::string(base::Trim(*text));
    };
    if (const auto message = text_of("message.txt")) {
      expect.message = TextMatch{TextMatch::Kind::kPart, *message};
    }
    if (const auto warnings = text_of("warnings.txt")) {
      for (const std::string_view line : base::Split(*warnings, '\n')) {
        expect.warnings.push_back({TextMatch::Kind::kPart, std::string(base::Trim(line))});
      }
    }
    if (const Manifest* annotations = Find(files, "annotations")) {
      for (const json::Member& member : annotations->object.members()) {
        expect.annotations.emplace_back(
            base::StrCat(policy.name, "/", member.name()),
            TextMatch{TextMatch::Kind::kWhole, std::string(member.value.AsString())});
      }
      // The annotations are compared; whether the policy allows or denies is another file's matter.
      expect.verdict = Expected::kAny;
    }
    return base::OkStatus();
  }

  // A role for what the file allows, bound to the user of the request.
  void GiveRights(const Manifest& rights, Suite& suite, Case& one) const {
    json::Arena& arena = *suite.arena;
    Review& review = one.review;
    if (review.user.name.empty()) review.user.name = "kat";
    const auto list = [&](std::string_view text) {
      return json::ArrayBuilder(arena).Add(text).Build();
    };
    json::ArrayBuilder rules(arena);
    for (const json::Value& right : rights.object.elements()) {
      if (right["decision"].AsString() != "allow") continue;
      std::string resource(right["resource"].AsString());
      if (!right["subresource"].AsString().empty()) {
        resource += base::StrCat("/", right["subresource"].AsString());
      }
      rules.Add(json::ObjectBuilder(arena)
                    .Set("apiGroups", list(right["group"].AsString()))
                    .Set("resources", list(resource))
                    .Set("verbs", list(right["verb"].AsString()))
                    .Build());
    }
    const json::Value metadata = json::ObjectBuilder(arena).Set("name", "kat").Build();
    const json::Value subject = json::ObjectBuilder(arena)
                                    .Set("apiGroup", "rbac.authorization.k8s.io")
                                    .Set("kind", "User")
                                    .Set("name", review.user.name)
                                    .Build();
    const auto give = [&](std::string_view kind, json::ObjectBuilder& object) {
      object.Set("apiVersion", "rbac.authorization.k8s.io/v1")
          .Set("kind", kind)
          .Set("metadata", metadata);
      suite.inputs.given.push_back(MakeManifest(rights, suite.arena, object.Build()));
    };
    json::ObjectBuilder role(arena);
    role.Set("rules", rules.Build());
    give("ClusterRole", role);
    json::ObjectBuilder binding(arena);
    binding
        .Set("roleRef", json::ObjectBuilder(arena)
                            .Set("apiGroup", "rbac.authorization.k8s.io")
                            .Set("kind", "ClusterRole")
                            .Set("name", "kat")
                            .Build())
        .Set("subjects", json::MakeArray(arena, {subject}));
    give("ClusterRoleBinding", binding);
  }

  const std::span<const Manifest> documents_;
  Location& wrong_;
  Suites& suites_;
  Inputs policies_;
  std::map<std::string, Files> tests_;
  std::map<std::string, FileName> names_;
};

}  // namespace

bool IsKatFile(const Manifest& document) {
  const fs::path path = document.source->path();
  return path.parent_path().filename() == "tests" && ReadName(path).has_value();
}

base::Status ReadKatFiles(std::span<const Manifest> documents, Location& wrong, Suites& suites) {
  return KatReader(documents, wrong, suites).Run();
}

}  // namespace portcullis::offline
