// SPDX-License-Identifier: Apache-2.0

#include "offline/order.h"

#include <algorithm>
#include <utility>

#include "admission/chain.h"
#include "api/selector/label_selector.h"
#include "base/clock.h"
#include "base/strings.h"
#include "json/value.h"
#include "json/writer.h"
#include "offline/judging.h"
#include "offline/lint/facts.h"

namespace portcullis::offline {
namespace {

using admission::Phase;
using api::catalog::Catalog;
using api::catalog::ResourceInfo;

constexpr admission::Operation kShown[] = {admission::kCreate, admission::kUpdate,
                                           admission::kDelete, admission::kConnect};

bool Names(const ResourceInfo& resource, std::string_view name) {
  const auto& shorts = resource.short_names;
  return resource.resource.resource == name || resource.singular == name ||
         base::ToLower(resource.kind.kind) == name ||
         std::find(shorts.begin(), shorts.end(), name) != shorts.end();
}

// The first in the order of discovery, as kubectl chooses.
const ResourceInfo* FindResource(const Catalog& catalog, std::string_view text) {
  const std::string lower = base::ToLower(text);
  const auto cut = base::Cut(lower, ".");
  const std::string_view name = cut ? cut->first : std::string_view(lower);
  for (const auto& group : catalog.groups()) {
    if (cut && group.name != cut->second) continue;
    for (const auto& version : group.versions) {
      for (const ResourceInfo* resource : version.resources) {
        if (Names(*resource, name)) return resource;
      }
    }
  }
  return nullptr;
}

std::string SelectorNote(std::string_view name, json::Value selector) {
  if (selector.empty()) return "";
  const auto parsed = api::LabelSelector::FromJson(selector);
  return base::StrCat(name, " ", parsed.ok() ? parsed->ToString() : "that is not valid");
}

void AddNote(std::string& note, std::string_view more) {
  if (!more.empty()) note += base::StrCat(note.empty() ? "" : ", ", more);
}

std::string CountNote(std::size_t count, std::string_view what) {
  return count == 0 ? "" : base::StrCat(std::to_string(count), " ", what);
}

class Builder {
 public:
  Builder(const Judging& judging, const LintFacts& facts, const ResourceInfo& resource,
          std::string_view subresource)
      : chain_(*judging.cluster().world().chain),
        facts_(facts),
        resource_(resource),
        subresource_(subresource) {
    for (const ResourceInfo* same : facts.catalog().Equivalents(resource)) {
      equivalents_.push_back(same->resource);
    }
  }

  Order Build() {
    Order order;
    const auto& [group, version, resource] = resource_.resource;
    order.resource = NameWithSubresource();
    if (!group.empty()) order.resource += base::StrCat(".", group);
    order.version = version;
    order.phases.push_back(PhaseOf("mutating", Phase::kMutate, 0));
    order.phases.push_back(PhaseOf("mutating", Phase::kMutate, 1));
    order.phases.push_back(PhaseOf("validating", Phase::kValidate, 0));
    return order;
  }

 private:
  std::string NameWithSubresource() const {
    const std::string& name = resource_.resource.resource;
    return subresource_.empty() ? name : base::StrCat(name, "/", subresource_);
  }

  bool IsPossible(admission::Operation operation) const {
    return operation != admission::kConnect || !subresource_.empty();
  }

  OrderPhase PhaseOf(std::string_view name, Phase phase, int round) {
    OrderPhase out;
    out.name = name;
    out.round = round;
    for (const admission::PluginInfo* plugin : chain_.Asked(admission::kAllOperations, phase)) {
      OrderStep step;
      step.plugin = plugin->name;
      for (const admission::Operation operation : kShown) {
        if (!IsPossible(operation) || (plugin->operations & operation) == 0) continue;
        step.operations.emplace_back(admission::OperationText(operation));
      }
      if (step.operations.empty()) continue;
      out.steps.push_back(std::move(step));
      AddParts(plugin->name, round, out.steps);
    }
    return out;
  }

  void AddParts(std::string_view plugin, int round, std::vector<OrderStep>& steps) {
    const bool mutates = plugin.starts_with("Mutating");
    const std::size_t begin = steps.size();
    if (plugin == "MutatingAdmissionWebhook" || plugin == "ValidatingAdmissionWebhook") {
      AddWebhooks(plugin, mutates, round, steps);
    } else if (plugin == "MutatingAdmissionPolicy" || plugin == "ValidatingAdmissionPolicy") {
      AddPolicies(plugin, mutates, round, steps);
    }
    // Configurations and policies are asked in the order of their names, webhooks of one
    // configuration in its own.
    const auto group = [](const OrderStep& step) { return base::Cut(step.part, "/")->first; };
    std::stable_sort(steps.begin() + static_cast<std::ptrdiff_t>(begin), steps.end(),
                     [&](const OrderStep& a, const OrderStep& b) { return group(a) < group(b); });
  }

  std::vector<std::string> OperationsOf(json::Value rules, bool exact) const {
    std::vector<std::string> operations;
    const std::string name = NameWithSubresource();
    for (const admission::Operation operation : kShown) {
      if (!IsPossible(operation)) continue;
      const bool matches =
          std::any_of(equivalents_.begin(), equivalents_.end(), [&](const auto& one) {
            if (exact && !(one == resource_.resource)) return false;
            const std::string resource =
                subresource_.empty() ? one.resource : base::StrCat(one.resource, "/", subresource_);
            return RulesMatch(rules, {one.group, one.version, resource,
                                      admission::OperationText(operation), resource_.namespaced});
          });
      if (matches) operations.emplace_back(admission::OperationText(operation));
    }
    return operations;
  }

  void AddWebhooks(std::string_view plugin, bool mutates, int round,
                   std::vector<OrderStep>& steps) const {
    for (const WebhookFact& webhook : facts_.webhooks()) {
      const json::Value hook = webhook.hook;
      if (webhook.mutates != mutates) continue;
      if (round > 0 && hook["reinvocationPolicy"].AsString() != "IfNeeded") continue;
      OrderStep step;
      step.operations = OperationsOf(hook["rules"], hook["matchPolicy"].AsString() == "Exact");
      if (step.operations.empty()) continue;
      step.plugin = plugin;
      step.part = base::StrCat(webhook.configuration->name, "/", webhook.name());
      step.place = webhook.configuration->Find(webhook.Steps({}));
      AddNote(step.note, base::StrCat("failurePolicy ", hook["failurePolicy"].AsString("Fail")));
      AddNote(step.note, base::StrCat(std::to_string(webhook.timeout_seconds()), " s"));
      AddNote(step.note, SelectorNote("namespaceSelector", hook["namespaceSelector"]));
      AddNote(step.note, SelectorNote("objectSelector", hook["objectSelector"]));
      AddNote(step.note, CountNote(hook["matchConditions"].size(), "matchConditions"));
      steps.push_back(std::move(step));
    }
  }

  void AddPolicies(std::string_view plugin, bool mutates, int round,
                   std::vector<OrderStep>& steps) const {
    for (const PolicyFact& policy : facts_.policies()) {
      const json::Value spec = policy.spec();
      if (policy.mutates != mutates) continue;
      if (round > 0 && spec["reinvocationPolicy"].AsString() != "IfNeeded") continue;
      const json::Value constraints = spec["matchConstraints"];
      const auto operations = OperationsOf(constraints["resourceRules"],
                                           constraints["matchPolicy"].AsString() == "Exact");
      if (operations.empty()) continue;
      std::vector<const Manifest*> bindings = policy.bindings;
      std::sort(bindings.begin(), bindings.end(),
                [](const Manifest* a, const Manifest* b) { return a->name < b->name; });
      for (const Manifest* binding : bindings) {
        OrderStep step;
        step.plugin = plugin;
        step.part = base::StrCat(policy.manifest->name, "/", binding->name);
        step.operations = operations;
        step.place = policy.manifest->Find({});
        AddNote(step.note, base::StrCat("failurePolicy ", spec["failurePolicy"].AsString("Fail")));
        AddSelectors(constraints, step.note);
        AddSelectors(binding->object["spec"]["matchResources"], step.note);
        AddNote(step.note, CountNote(spec["matchConditions"].size(), "matchConditions"));
        steps.push_back(std::move(step));
      }
    }
  }

  static void AddSelectors(json::Value resources, std::string& note) {
    AddNote(note, SelectorNote("namespaceSelector", resources["namespaceSelector"]));
    AddNote(note, SelectorNote("objectSelector", resources["objectSelector"]));
  }

  const admission::Chain& chain_;
  const LintFacts& facts_;
  const ResourceInfo& resource_;
  const std::string_view subresource_;
  std::vector<api::GroupVersionResource> equivalents_;
};

std::string Padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

}  // namespace

base::Result<Order> OrderOf(const Inputs& inputs, const JudgeOptions& options,
                            std::string_view kind) {
  Judging judging(inputs, options);  // definitions among the files are served then
  TRY(judging.Begin());
  const auto catalog = judging.cluster().world().catalog->Get();
  const auto cut = base::Cut(kind, "/");
  const std::string_view name = cut ? cut->first : kind;
  const std::string_view subresource = cut ? cut->second : std::string_view();
  const ResourceInfo* resource = FindResource(*catalog, name);
  if (resource == nullptr) {
    return base::BadRequest(base::StrCat("the server doesn't have a resource type \"", name, "\""));
  }
  if (!subresource.empty() && resource->FindSubresource(subresource) == nullptr) {
    return base::BadRequest(
        base::StrCat(resource->resource.resource, " have no subresource \"", subresource, "\""));
  }
  std::vector<Manifest> manifests = inputs.manifests;
  manifests.insert(manifests.end(), inputs.given.begin(), inputs.given.end());
  const LintFacts facts(manifests, *catalog, judging.cluster().world().clock->Now(), options);
  return Builder(judging, facts, *resource, subresource).Build();
}

std::string OrderAsText(const Order& order) {
  constexpr std::size_t kName = 36;
  constexpr std::size_t kOperationsWidth = 30;
  std::string out = base::StrCat(order.resource, ", ", order.version, "\n");
  for (const OrderPhase& phase : order.phases) {
    out += base::StrCat("\n", phase.name,
                        phase.name != "mutating" ? ""
                        : phase.round == 0
                            ? ", round 0"
                            : ", round 1: if a webhook or policy has changed the object",
                        "\n");
    for (const OrderStep& step : phase.steps) {
      std::string line =
          step.part.empty() ? base::StrCat("  ", step.plugin) : base::StrCat("    ", step.part);
      line = Padded(std::move(line), kName) + "  " + base::Join(step.operations, ",");
      if (!step.note.empty()) {
        line = Padded(std::move(line), kName + kOperationsWidth) + "  " + step.note;
      }
      out += base::StrCat(line, "\n");
    }
  }
  return out;
}

std::string OrderAsJson(const Order& order) {
  json::Arena arena;
  json::ArrayBuilder phases(arena);
  for (const OrderPhase& phase : order.phases) {
    json::ArrayBuilder steps(arena);
    for (const OrderStep& step : phase.steps) {
      json::ArrayBuilder operations(arena);
      for (const std::string& operation : step.operations) {
        operations.Add(std::string_view(operation));
      }
      json::ObjectBuilder object(arena);
      object.Set("plugin", step.plugin);
      if (!step.part.empty()) object.Set("part", step.part);
      object.Set("operations", operations.Build());
      if (!step.note.empty()) object.Set("note", step.note);
      if (!step.place.file.empty()) object.Set("place", step.place.ToString());
      steps.Add(object.Build());
    }
    phases.Add(json::ObjectBuilder(arena)
                   .Set("phase", phase.name)
                   .Set("round", phase.round)
                   .Set("steps", steps.Build())
                   .Build());
  }
  const json::Value document = json::ObjectBuilder(arena)
                                   .Set("resource", order.resource)
                                   .Set("version", order.version)
                                   .Set("phases", phases.Build())
                                   .Build();
  return json::ToString(document, {.escape_html = false, .indent = 2}) + "\n";
}

}  // namespace portcullis::offline
