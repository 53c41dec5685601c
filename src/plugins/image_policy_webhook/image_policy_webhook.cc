// SPDX-License-Identifier: Apache-2.0

#include "plugins/image_policy_webhook/image_policy_webhook.h"

#include <optional>
#include <string>
#include <utility>

#include "admission/asks_outside.h"
#include "admission/errors.h"
#include "admission/recorder.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "json/writer.h"
#include "plugins/image_policy_webhook/answer_cache.h"
#include "plugins/image_policy_webhook/image_backend.h"
#include "plugins/image_policy_webhook/image_policy_config.h"

namespace portcullis::plugins::image_policy_webhook {
namespace {

constexpr std::string_view kFailedOpen = "imagepolicywebhook.image-policy.k8s.io/failed-open";

bool Applies(const admission::Request& request) {
  return request.IsResource("", "pods") &&
         (request.subresource().empty() || request.subresource() == "ephemeralcontainers");
}

json::Value ReviewSpec(const admission::Request& request) {
  json::Arena& arena = request.arena();
  const json::Value pod = request.object();
  json::ArrayBuilder containers(arena);
  auto add = [&](std::string_view list) {
    for (const json::Value& container : pod["spec"][list].elements()) {
      containers.Add(json::MakeObject(arena, {{"image", container["image"]}}));
    }
  };
  if (request.subresource().empty()) {
    add("containers");
    add("initContainers");
  } else {
    add("ephemeralContainers");
  }
  json::ObjectBuilder annotations(arena);
  for (const json::Member& annotation : pod["metadata"]["annotations"].members()) {
    if (annotation.name().find(".image-policy.k8s.io/") == std::string_view::npos) continue;
    annotations.Set(annotation.name(), annotation.value);
  }
  json::ObjectBuilder spec(arena);
  if (containers.size() != 0) spec.Set("containers", containers.Build());
  if (!annotations.empty()) spec.Set("annotations", annotations.Build());
  spec.Set("namespace", request.namespace_name());
  return spec.Build();
}

// Thread-safe.
class ImagePolicyWebhook final : public admission::Plugin, public admission::AsksOutside {
 public:
  ImagePolicyWebhook(const admission::PluginContext& context, const ImagePolicyConfig& config,
                     ImageBackend backend)
      : clock_(context.clock != nullptr ? *context.clock : base::SystemClock()),
        config_(config),
        backend_(std::move(backend)) {}

  admission::Waits WaitsOf(const admission::Request& request) const override {
    if (!Applies(request)) return admission::Waits::kForNothing;
    return backend_.runs_program() ? admission::Waits::kOnThread : admission::Waits::kOnFiber;
  }

  base::Status Validate(const admission::Request& request) const override {
    if (!Applies(request)) return base::OkStatus();
    const json::Value spec = ReviewSpec(request);
    const std::string key = json::ToString(spec);
    std::optional<ImageAnswer> answer = Remembered(key);
    if (!answer) {
      base::Result<ImageAnswer> asked = Ask(request, spec);
      if (!asked.ok()) return Failed(request, asked.status());
      answer = *std::move(asked);
      Remember(key, *answer);
    }
    for (const auto& [name, value] : answer->audit_annotations) {
      static_cast<void>(
          request.Annotate(base::StrCat("imagepolicywebhook.image-policy.k8s.io/", name), value));
    }
    if (answer->allowed) return base::OkStatus();
    if (answer->reason.empty()) {
      return admission::Forbidden(request, "one or more images rejected by webhook backend");
    }
    return admission::Forbidden(
        request, "image policy webhook backend denied one or more images: " + answer->reason);
  }

 private:
  base::Result<ImageAnswer> Ask(const admission::Request& request, json::Value spec) const {
    const admission::WaitingForOthers waiting(request.recorder());
    return backend_.Ask(request.arena(), spec);
  }

  base::Status Failed(const admission::Request& request, const base::Status& error) const {
    base::LogWarning("error contacting the image policy backend", {{"error", error.message()}});
    if (!config_.default_allow) return admission::Forbidden(request, error);
    static_cast<void>(request.Annotate(kFailedOpen, "true"));
    return base::OkStatus();
  }

  std::optional<ImageAnswer> Remembered(const std::string& key) const {
    base::MutexLock lock(mutex_);
    return cache_.Find(key, clock_.Steady());
  }

  void Remember(const std::string& key, const ImageAnswer& answer) const {
    const base::Duration ttl = answer.allowed ? config_.allow_ttl : config_.deny_ttl;
    base::MutexLock lock(mutex_);
    cache_.Put(key, answer, clock_.Steady() + ttl);
  }

  const base::Clock& clock_;
  const ImagePolicyConfig config_;
  const ImageBackend backend_;
  mutable base::Mutex mutex_;
  mutable AnswerCache cache_ PC_GUARDED_BY(mutex_);
};

base::Result<std::unique_ptr<admission::Plugin>> Create(const admission::PluginContext& context) {
  const ImagePolicyConfig config = TRY(ParseConfig(context.config));
  ImageBackend backend = TRY(ImageBackend::Create(config, context));
  return std::unique_ptr<admission::Plugin>(
      std::make_unique<ImagePolicyWebhook>(context, config, std::move(backend)));
}

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "ImagePolicyWebhook",
    .summary = "asks a webhook whether images may run",
    .phases = admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "pods pods/ephemeralcontainers",
    .by_default = admission::Default::kOff,
    .create = &Create,
    .configuration = "imagePolicy: {kubeConfigFile, allowTTL, denyTTL, retryBackoff, defaultAllow}",
};

}  // namespace portcullis::plugins::image_policy_webhook
