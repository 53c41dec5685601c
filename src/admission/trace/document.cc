// SPDX-License-Identifier: Apache-2.0

#include "admission/trace/document.h"

#include "admission/trace/fields.h"
#include "admission/trace/hiding.h"
#include "json/diff.h"

namespace portcullis::admission {
namespace {

constexpr std::string_view kHidden = "(hidden)";

// Reasons whose messages Portcullis makes of the configuration and of labels alone.
bool IsOwnText(TraceReason reason) {
  switch (reason) {
    case TraceReason::kRules:
    case TraceReason::kMatchPolicy:
    case TraceReason::kExcludeResourceRules:
    case TraceReason::kNamespaceSelector:
    case TraceReason::kObjectSelector:
    case TraceReason::kReinvocationPolicy:
    case TraceReason::kExempt:
    case TraceReason::kNoBindings:
    case TraceReason::kParameterNotFound:
    case TraceReason::kNoObject:
      return true;
    default:
      return false;
  }
}

class Writer {
 public:
  Writer(json::Arena& arena, const Trace& trace, const TraceSubject& subject,
         const TraceDocumentOptions& options)
      : arena_(arena),
        trace_(trace),
        subject_(subject),
        options_(options),
        hiding_(Hiding::Of(subject.resource, subject.subresource, options.hides_config_maps)) {
    for (const TraceStep& step : trace.steps()) {
      if (step.parent != Trace::kNoStep) has_parts_[static_cast<std::size_t>(step.parent)] = true;
    }
  }

  json::Value Run() {
    json::ObjectBuilder out(arena_);
    out.Set("kind", "AdmissionTrace").Set("apiVersion", kTraceVersion);
    SetText(out, "id", subject_.id);
    out.Set("time", base::FormatMicroTime(trace_.time()));
    out.Set("durationNanoseconds", static_cast<std::int64_t>(trace_.took().count()));
    out.Set("request", Request()).Set("verdict", Verdict());
    json::ArrayBuilder steps(arena_);
    for (std::size_t i = 0; i < trace_.steps().size(); ++i) {
      steps.Add(Step(trace_.steps()[i], has_parts_[i]));
    }
    out.Set("steps", steps.Build());
    if (trace_.omitted_steps() != 0) {
      out.Set("omittedSteps", static_cast<std::int64_t>(trace_.omitted_steps()));
    }
    if (trace_.is_complete()) {
      out.Set("fields", Fields());
      if (options_.full) out.Set("object", hiding_.Part(arena_, "", trace_.object()));
    }
    return out.Build();
  }

 private:
  static void SetText(json::ObjectBuilder& out, std::string_view name, std::string_view text) {
    if (!text.empty()) out.Set(name, text);
  }

  // A text that others have made, which may repeat what is hidden.
  void SetForeign(json::ObjectBuilder& out, std::string_view name, std::string_view text) const {
    if (!text.empty()) out.Set(name, hiding_.hides_texts() ? kHidden : text);
  }

  json::Value Texts(const std::vector<std::string>& texts) const {
    json::ArrayBuilder list(arena_);
    for (const std::string& text : texts) list.Add(hiding_.hides_texts() ? kHidden : text);
    return list.Build();
  }

  json::Value Request() const {
    json::ObjectBuilder out(arena_);
    out.Set("verb", subject_.verb);
    SetText(out, "group", subject_.resource.group);
    out.Set("version", subject_.resource.version).Set("resource", subject_.resource.resource);
    SetText(out, "subresource", subject_.subresource);
    SetText(out, "namespace", subject_.ns);
    std::string_view name = subject_.name;
    if (name.empty()) name = trace_.object()["metadata"]["name"].AsString();
    SetText(out, "name", name);
    out.Set("user", subject_.user);
    if (subject_.dry_run) out.Set("dryRun", true);
    return out.Build();
  }

  json::Value Verdict() const {
    const Trace::Verdict& verdict = trace_.verdict();
    json::ObjectBuilder out(arena_);
    out.Set("allowed", verdict.code < 400).Set("code", verdict.code);
    SetText(out, "reason", verdict.reason);
    SetForeign(out, "message", verdict.message);
    if (!subject_.warnings.empty()) out.Set("warnings", Texts(subject_.warnings));
    return out.Build();
  }

  json::Value Step(const TraceStep& step, bool has_parts) const {
    json::ObjectBuilder out(arena_);
    out.Set("phase", step.phase);
    if (step.attempt != 0) out.Set("attempt", step.attempt);
    if (step.phase == "mutating") out.Set("round", step.round);
    SetText(out, "object", step.subject);
    SetActor(out, step.actor);
    SetText(out, "outcome", OutcomeText(step.outcome));
    SetText(out, "reason", ReasonText(step.reason));
    if (IsOwnText(step.reason)) {
      SetText(out, "message", step.message);
    } else {
      SetForeign(out, "message", step.message);
    }
    out.Set("durationNanoseconds", static_cast<std::int64_t>(step.took.count()));
    if (step.cost != 0) out.Set("cost", static_cast<std::int64_t>(step.cost));
    if (options_.full && !step.patch.is_null()) {
      out.Set("patch", hiding_.Patch(arena_, step.patch));
    }
    // The changes of a plugin's parts stand with the parts.
    if (step.changed && !has_parts) {
      SetText(out, "objectVersion", step.version);
      out.Set("changes", Changes(step));
    }
    if (!step.warnings.empty()) out.Set("warnings", Texts(step.warnings));
    if (!step.annotations.empty()) out.Set("auditAnnotations", Annotations(step));
    return out.Build();
  }

  void SetActor(json::ObjectBuilder& out, const TraceActor& actor) const {
    switch (actor.kind) {
      case TraceActor::Kind::kStage:
        out.Set("stage", actor.name);
        return;
      case TraceActor::Kind::kPlugin:
        out.Set("plugin", actor.name);
        return;
      case TraceActor::Kind::kWebhook:
        out.Set("configuration", actor.name).Set("webhook", actor.member);
        return;
      case TraceActor::Kind::kPolicy:
        out.Set("policy", actor.name);
        SetText(out, "binding", actor.member);
        SetText(out, "param", actor.param);
        return;
    }
  }

  json::Value Changes(const TraceStep& step) const {
    const json::Value patch = json::Diff(arena_, step.before, step.after);
    if (options_.full) return hiding_.Patch(arena_, patch);
    json::ArrayBuilder list(arena_);
    for (const json::Value& operation : patch.elements()) {
      list.Add(json::Without(arena_, operation, "value"));
    }
    return list.Build();
  }

  json::Value Annotations(const TraceStep& step) const {
    json::ObjectBuilder out(arena_);
    for (const auto& [key, value] : step.annotations) {
      out.Set(arena_.Copy(key), hiding_.hides_texts() ? kHidden : std::string_view(value));
    }
    return out.Build();
  }

  json::Value Fields() const {
    json::ArrayBuilder list(arena_);
    for (const FieldOrigin& field : FieldOrigins(trace_)) {
      json::ObjectBuilder row(arena_);
      list.Add(row.Set("path", field.path).Set("setBy", field.set_by).Build());
    }
    return list.Build();
  }

  json::Arena& arena_;
  const Trace& trace_;
  const TraceSubject& subject_;
  const TraceDocumentOptions& options_;
  const Hiding hiding_;
  std::vector<bool> has_parts_ = std::vector<bool>(trace_.steps().size());
};

}  // namespace

json::Value TraceDocument(json::Arena& arena, const Trace& trace, const TraceSubject& subject,
                          const TraceDocumentOptions& options) {
  return Writer(arena, trace, subject, options).Run();
}

}  // namespace portcullis::admission
