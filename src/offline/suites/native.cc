// SPDX-License-Identifier: Apache-2.0

// Test files of portcullis.dev/v1 (docs/offline-tests.md).
#include <utility>

#include "base/strings.h"
#include "golang/url.h"
#include "json/writer.h"
#include "offline/blame.h"
#include "offline/suites/reading.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

constexpr std::string_view kOperations[] = {"CREATE", "UPDATE", "PATCH",
                                            "APPLY",  "DELETE", "CONNECT"};

constexpr std::pair<std::string_view, engine::PatchType> kPatchTypes[] = {
    {"json", engine::PatchType::kJson},
    {"merge", engine::PatchType::kMerge},
    {"strategic", engine::PatchType::kStrategic},
};

bool IsStatus(std::string_view text) { return ExpectedNamed(text).has_value(); }

class NativeReader {
 public:
  NativeReader(const Manifest& document, Location& wrong, const FileAccess& files)
      : reading_(document, wrong, files) {}

  base::Result<Suite> Run() {
    const json::Value root = reading_.root();
    TRY(reading_.CheckNames(root, {},
                            {"apiVersion", "kind", "metadata", "files", "objects", "namespace",
                             "object", "oldObject", "user", "cases", "steps"}));
    Suite suite;
    const Manifest& document = reading_.document();
    suite.name = document.name.empty() ? document.source->path() : document.name;
    arena_ = suite.arena.get();
    suite.inputs = TRY(reading_.Files(root["files"], {"files"}));
    TRY(ReadObjects(root["objects"], suite));
    suite.steps = root.Has("steps");
    const std::string_view list = suite.steps ? "steps" : "cases";
    if (suite.steps && root.Has("cases")) {
      return reading_.Wrong({"cases"}, "a Test has cases or steps, not both");
    }
    if (root[list].empty()) return reading_.Wrong({}, "a Test has cases, at least one");
    for (std::size_t i = 0; i < root[list].size(); ++i) {
      suite.cases.push_back(
          TRY(ReadCase(root[list][i], {std::string(list), std::to_string(i)}, suite.steps)));
    }
    return suite;
  }

 private:
  // What the cluster has besides the files.
  base::Status ReadObjects(json::Value objects, Suite& suite) const {
    const Manifest& document = reading_.document();
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const Steps steps = {"objects", std::to_string(i)};
      if (objects[i]["kind"].AsString().empty()) {
        return reading_.Wrong(steps, "an object has apiVersion, kind and metadata");
      }
      const auto arena = std::make_shared<json::Arena>();
      Manifest manifest = MakeManifest(document, arena, objects[i]);
      manifest.steps.insert(manifest.steps.end(), steps.begin(), steps.end());
      suite.inputs.manifests.push_back(std::move(manifest));
    }
    return base::OkStatus();
  }

  base::Result<Case> ReadCase(json::Value value, const Steps& steps, bool is_step) {
    TRY(reading_.CheckNames(
        value, steps,
        {"name", "operation", "subresource", "object", "set", "oldObject", "oldSet", "patch",
         "patchType", "fieldManager", "force", "options", "request", "user", "expect"}));
    Case one = reading_.NewCase(
        std::string(value["name"].AsString(base::StrCat("case ", steps[1]))), steps);
    const bool silent = is_step && !value.Has("expect");
    if (!silent) TRY(ReadExpect(value["expect"], steps, one.expect));
    one.expect_place = reading_.document().Find(Below(steps, "expect"));
    TRY(ReadUser(value, steps, one.review.user));
    if (value.Has("request")) {
      TRY(ReadRequest(value["request"], Below(steps, "request"), one));
      return one;
    }
    TRY(ReadReviewOf(value, steps, is_step, one.review));
    return one;
  }

  base::Status ReadReviewOf(json::Value value, const Steps& steps, bool is_step, Review& review) {
    const json::Value root = reading_.root();
    review.operation = value["operation"].AsString("CREATE");
    if (std::find(std::begin(kOperations), std::end(kOperations), review.operation) ==
        std::end(kOperations)) {
      return reading_.Wrong(Below(steps, "operation"),
                            base::StrCat("must be one of ", base::Join(kOperations, ", ")));
    }
    review.subresource = value["subresource"].AsString();
    review.field_manager = value["fieldManager"].AsString();
    review.force = value["force"].AsBool();
    review.options = value["options"];
    const json::Value object = value.Has("object") ? value["object"] : root["object"];
    if (!object.is_object()) {
      return reading_.Wrong(steps, "the case has no object, and the Test has none");
    }
    const json::Value changed = TRY(Apply(object, value["set"], Below(steps, "set")));
    const bool keeps = review.operation == "DELETE" || review.operation == "PATCH";
    if (!keeps) review.object = changed;
    if (review.operation == "PATCH") TRY(ReadPatch(value, steps, review));
    TRY(ReadOld(value, steps, object, review));
    const json::Value shown = keeps ? review.old_object : changed;
    review.name = shown["metadata"]["name"].AsString();
    review.ns = shown["metadata"]["namespace"].AsString(root["namespace"].AsString("default"));
    if (is_step) review.old_object = shown;  // names the resource, and is not stored
    Manifest& manifest = review.manifest;
    manifest.object = shown;
    manifest.kind = shown["kind"].AsString();
    manifest.api_version = shown["apiVersion"].AsString();
    manifest.name = review.name;
    return base::OkStatus();
  }

  // What is stored before: of an apply only what the file says.
  base::Status ReadOld(json::Value value, const Steps& steps, json::Value object, Review& review) {
    const json::Value root = reading_.root();
    const bool said = value.Has("oldObject") || value.Has("oldSet") || root.Has("oldObject");
    if (review.operation == "CREATE" && review.subresource.empty()) return base::OkStatus();
    if ((review.operation == "APPLY" || review.operation == "CREATE") && !said) {
      return base::OkStatus();
    }
    const json::Value old = value.Has("oldObject")  ? value["oldObject"]
                            : root.Has("oldObject") ? root["oldObject"]
                                                    : object;
    review.old_object = TRY(Apply(old, value["oldSet"], Below(steps, "oldSet")));
    return base::OkStatus();
  }

  base::Status ReadPatch(json::Value value, const Steps& steps, Review& review) const {
    review.patch = value["patch"];
    if (review.patch.is_null()) return reading_.Wrong(steps, "a PATCH has a patch");
    const std::string_view type =
        value["patchType"].AsString(review.patch.is_array() ? "json" : "merge");
    for (const auto& [name, patch_type] : kPatchTypes) {
      if (name != type) continue;
      review.patch_type = patch_type;
      return base::OkStatus();
    }
    return reading_.Wrong(Below(steps, "patchType"), "must be json, merge or strategic");
  }

  // A request as HTTP has it.
  base::Status ReadRequest(json::Value value, const Steps& steps, Case& one) const {
    TRY(reading_.CheckNames(value, steps, {"method", "path", "contentType", "userAgent", "body"}));
    HttpRequest request;
    request.method = value["method"].AsString();
    constexpr std::string_view kAllowed[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    if (std::find(std::begin(kAllowed), std::end(kAllowed), request.method) == std::end(kAllowed)) {
      return reading_.Wrong(Below(steps, "method"),
                            base::StrCat("must be one of ", base::Join(kAllowed, ", ")));
    }
    const base::Status read = ReadUri(request, value["path"].AsString());
    if (!read.ok()) return reading_.Wrong(Below(steps, "path"), read.message());
    request.content_type = value["contentType"].AsString();
    request.user_agent = value["userAgent"].AsString();
    const json::Value body = value["body"];
    request.body = body.is_string() ? std::string(body.AsString())
                   : body.is_null() ? ""
                                    : json::ToString(body);
    one.request = std::move(request);
    return base::OkStatus();
  }

  base::Status ReadUser(json::Value value, const Steps& steps, api::UserInfo& user) const {
    const json::Value root = reading_.root();
    TRY(reading_.CheckNames(value["user"], Below(steps, "user"),
                            {"name", "groups", "uid", "extra"}));
    TRY(reading_.CheckNames(root["user"], {"user"}, {"name", "groups", "uid", "extra"}));
    const json::Value said = value.Has("user") ? value["user"] : root["user"];
    user = ReadUserInfo(said);
    user.name = said["name"].AsString();
    if (!user.name.empty()) user.groups.emplace_back(api::kGroupAuthenticated);
    return base::OkStatus();
  }

  base::Status ReadExpect(json::Value expect, const Steps& steps, Expectation& out) const {
    const Steps at = Below(steps, "expect");
    if (!expect.is_object() && !expect.is_string()) {
      return reading_.Wrong(
          steps, "a case expects something: allow, deny, or {verdict: deny, message: TEXT}");
    }
    out.written = expect;
    TRY(reading_.CheckNames(expect, at,
                            {"verdict", "code", "message", "warnings", "annotations", "object",
                             "policy", "matched", "reason", "costBelow"}));
    const bool matched = expect.Has("matched") || expect.Has("reason");
    const std::string_view verdict = expect.is_string()
                                         ? expect.AsString()
                                         : expect["verdict"].AsString(matched ? "any" : "allow");
    if (!IsStatus(verdict)) {
      return reading_.Wrong(at, "a verdict is allow, deny, warn, audit, error, skip or any");
    }
    out.verdict = *ExpectedNamed(verdict);
    out.policy = expect["policy"].AsString();
    const bool about_policy = matched || expect.Has("costBelow");
    if (about_policy && out.policy.empty()) {
      return reading_.Wrong(at, "matched, reason and costBelow need the name of a policy");
    }
    if (expect["code"].is_int()) out.code = static_cast<int>(expect["code"].AsInt());
    if (expect.Has("message")) {
      out.message =
          TRY(ReadMatch(expect["message"], Below(at, "message"), TextMatch::Kind::kWhole));
    }
    for (std::size_t i = 0; i < expect["warnings"].size(); ++i) {
      out.warnings.push_back(TRY(ReadMatch(expect["warnings"][i], Below(Below(at, "warnings"), i),
                                           TextMatch::Kind::kPart)));
    }
    for (const json::Member& member : expect["annotations"].members()) {
      const Steps place = Below(Below(at, "annotations"), member.name());
      out.annotations.emplace_back(member.name(),
                                   TRY(ReadMatch(member.value, place, TextMatch::Kind::kWhole)));
    }
    out.object = expect["object"];
    if (expect["matched"].is_bool()) out.matched = expect["matched"].AsBool();
    out.reason = expect["reason"].AsString();
    if (!out.reason.empty()) out.matched = false;
    if (expect["costBelow"].is_int()) {
      out.cost_below = static_cast<std::uint64_t>(expect["costBelow"].AsInt());
    }
    return base::OkStatus();
  }

  base::Result<TextMatch> ReadMatch(json::Value value, const Steps& steps,
                                    TextMatch::Kind kind) const {
    if (value.is_string()) return TextMatch{kind, std::string(value.AsString())};
    TRY(reading_.CheckNames(value, steps, {"contains", "matches"}));
    if (value.Has("matches")) {
      TRY(reading_.CheckPattern(value["matches"], Below(steps, "matches")));
      return TextMatch{TextMatch::Kind::kRegex, std::string(value["matches"].AsString())};
    }
    return TextMatch{TextMatch::Kind::kPart, std::string(value["contains"].AsString())};
  }

  // `changes` by path; null removes.
  base::Result<json::Value> Apply(json::Value object, json::Value changes, const Steps& at) {
    constexpr std::size_t kMaxDepth = 64;
    for (const json::Member& change : changes.members()) {
      const Steps path = FieldSteps(change.name());
      if (path.empty() || path.size() > kMaxDepth) {
        return reading_.Wrong(Below(at, change.name()), "a path has 1 to 64 steps: spec.replicas");
      }
      object = SetAt(*arena_, object, path, change.value);
    }
    return object;
  }

  const Reading reading_;
  json::Arena* arena_ = nullptr;
};

}  // namespace

bool IsNativeTest(const Manifest& document) {
  return document.group() == "portcullis.dev" && document.kind == "Test";
}

base::Status ReadNativeTest(std::span<const Manifest> documents, Location& wrong, Suites& suites) {
  for (const Manifest& document : documents) {
    suites.suites.push_back(TRY(NativeReader(document, wrong, *suites.files).Run()));
  }
  return base::OkStatus();
}

}  // namespace portcullis::offline
