// SPDX-License-Identifier: Apache-2.0

#include "offline/webhooks.h"

#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "json/yaml_place.h"

namespace portcullis::offline {
namespace {

class PassesOverAll final : public admission::WebhookStandIn {
 public:
  std::optional<admission::WebhookAnswer> AnswerFor(std::string_view,
                                                    std::string_view) const override {
    return admission::WebhookAnswer{};
  }
};

class Answers final : public admission::WebhookStandIn {
 public:
  std::optional<admission::WebhookAnswer> AnswerFor(std::string_view,
                                                    std::string_view webhook) const override {
    const auto found = answers_.find(webhook);
    if (found == answers_.end()) return std::nullopt;
    return admission::WebhookAnswer{found->second};
  }

  void Add(json::Value answer) {
    json::Value response = answer["response"];
    // A patch is easier to write as JSON than as its Base64.
    if (const json::Value patch = response["patch"]; patch.is_array()) {
      const std::string text = base::Base64Encode(json::ToString(patch));
      response = json::With(arena_, response, "patch", json::String(arena_, text));
      response = json::With(arena_, response, "patchType", json::Value::StringView("JSONPatch"));
    }
    answers_[std::string(answer["webhook"].AsString())] = response;
  }

  json::Arena& arena() { return arena_; }

 private:
  json::Arena arena_;
  std::map<std::string, json::Value, std::less<>> answers_;
};

base::Status Wrong(const std::string& path, std::string_view text,
                   const std::vector<std::string>& steps, std::string_view what) {
  const auto place = json::FindInYaml(text, steps);
  const std::string at =
      place ? base::StrCat(":", std::to_string(place->line), ":", std::to_string(place->column))
            : "";
  return base::ConfigError(base::StrCat(path, at, ": ", what));
}

}  // namespace

base::Result<WebhookPlan> ReadWebhookPlan(const std::string& path, std::string_view text) {
  auto answers = std::make_unique<Answers>();
  const auto parsed = json::ParseYaml(answers->arena(), text);
  if (!parsed.ok()) return parsed.status().Annotate(path);
  WebhookPlan plan;
  plan.calls = true;
  for (const json::Member& member : parsed->members()) {
    if (member.name() != "answers" && member.name() != "services") {
      return Wrong(path, text, {std::string(member.name())},
                   base::StrCat("unknown field \"", member.name(), "\": answers and services are"));
    }
  }
  const json::Value list = (*parsed)["answers"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i]["webhook"].AsString().empty() || !list[i]["response"].is_object()) {
      return Wrong(path, text, {"answers", std::to_string(i)},
                   "an answer has the name of a webhook and a response: {webhook: NAME, response: "
                   "{allowed: true}}");
    }
    answers->Add(list[i]);
  }
  for (const json::Member& member : (*parsed)["services"].members()) {
    plan.services[std::string(member.name())] = member.value.AsString();
  }
  plan.stand_in = std::move(answers);
  return plan;
}

base::Result<WebhookPlan> PlanWebhooks(std::string_view choice) {
  WebhookPlan plan;
  if (choice == "call") {
    plan.calls = true;
    return plan;
  }
  if (choice != "skip") {
    const std::string path(choice);
    return ReadWebhookPlan(path, TRY(base::ReadFile(path)));
  }
  plan.stand_in = std::make_unique<PassesOverAll>();
  return plan;
}

}  // namespace portcullis::offline
