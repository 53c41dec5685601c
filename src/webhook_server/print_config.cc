// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/print_config.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "api/catalog/catalog.h"
#include "base/file.h"
#include "base/strings.h"
#include "build_info/build_info.h"
#include "json/yaml.h"
#include "webhook_server/backend.h"
#include "webhook_server/rules.h"
#include "webhook_server/serving_certificate.h"

namespace portcullis::webhook_server {
namespace {

constexpr std::string_view kDomain = "portcullis.dev";
constexpr std::string_view kRegistration = "admissionregistration.k8s.io/v1";
constexpr std::size_t kMostConfigMap = std::size_t{1000} << 10;

using Builder = json::ObjectBuilder;

class Printer {
 public:
  Printer(const Options& options, Target target, const offline::Inputs& files,
          const PluginChoice& choice, std::shared_ptr<const api::catalog::Catalog> catalog)
      : options_(options),
        target_(std::move(target)),
        files_(files),
        choice_(choice),
        catalog_(std::move(catalog)) {
    for (const admission::PluginInfo* plugin : choice_.chosen) {
      const auto& enabled = options.enable_admission_plugins;
      if (plugin->name.ends_with("AdmissionPolicy") &&
          std::find(enabled.begin(), enabled.end(), plugin->name) != enabled.end()) {
        unknown_policies_.emplace_back(plugin->name);
      }
    }
  }

  base::Result<std::string> Print(const ServingCertificate& serving) {
    if (in_cluster()) {
      PrintNamespace();
      PrintAccess();
      TRY(PrintFiles());
      PrintSecret(serving);
      PrintDeployment();
      PrintService();
    }
    PrintHook(serving, admission::kMutate);
    PrintHook(serving, admission::kValidate);
    return std::move(text_);
  }

 private:
  bool in_cluster() const { return !target_.name.empty(); }

  void Document(std::string_view comment, json::Value object) {
    text_ += "---\n";
    for (const std::string_view line : base::Split(comment, '\n')) {
      if (!line.empty()) text_ += base::StrCat("# ", line, "\n");
    }
    json::WriteYaml(object, text_);
  }

  json::Value Texts(const auto& texts) {
    json::ArrayBuilder list(arena_);
    for (const auto& text : texts) list.Add(std::string_view(text));
    return list.Build();
  }

  Builder Object(std::string_view api_version, std::string_view kind, bool namespaced) {
    Builder metadata(arena_);
    metadata.Set("name", std::string_view(options_.name));
    if (namespaced) metadata.Set("namespace", std::string_view(target_.ns));
    metadata.Set("labels", Labels());
    Builder object(arena_);
    object.Set("apiVersion", api_version).Set("kind", kind).Set("metadata", metadata.Build());
    return object;
  }

  json::Value Labels() {
    return Builder(arena_)
        .Set("app.kubernetes.io/name", "portcullis")
        .Set("app.kubernetes.io/instance", std::string_view(options_.name))
        .Build();
  }

  void PrintNamespace() {
    Document(
        "", Builder(arena_)
                .Set("apiVersion", "v1")
                .Set("kind", "Namespace")
                .Set("metadata",
                     Builder(arena_)
                         .Set("name", std::string_view(target_.ns))
                         .Set("labels", Builder(arena_)
                                            .Set("pod-security.kubernetes.io/enforce", "restricted")
                                            .Build())
                         .Build())
                .Build());
  }

  // Rights: group -> resources, of those that are followed and those that are fetched.
  using Rights = std::map<std::string, std::set<std::string>>;

  void AddRight(Rights& rights, std::string_view text) const {
    const auto cut = base::Cut(text, ".");
    rights[std::string(cut ? cut->second : "")].insert(std::string(cut ? cut->first : text));
  }

  Rights Followed() const {
    Rights rights;
    for (const admission::PluginInfo* plugin : choice_.chosen) {
      const bool is_policy = plugin->name.ends_with("AdmissionPolicy");
      const bool of_files = is_policy && !IsUnknown(plugin->name);
      for (const std::string_view text : base::Split(plugin->reads, ' ')) {
        if (text.empty() || (of_files && text.ends_with(".admissionregistration.k8s.io"))) continue;
        AddRight(rights, text);
      }
      if (is_policy || plugin->name == "OwnerReferencesPermissionEnforcement") {
        AddRight(rights, "customresourcedefinitions.apiextensions.k8s.io");
      }
    }
    for (const offline::Manifest& manifest : files_.manifests) {
      const json::Value kind = manifest.object["spec"]["paramKind"];
      const auto version = api::ParseGroupVersion(kind["apiVersion"].AsString());
      if (!kind.is_object() || !version.ok()) continue;
      const auto* info = catalog_->FindKind(
          {version->group, version->version, std::string(kind["kind"].AsString())});
      if (info != nullptr) AddRight(rights, info->resource.group_resource().ToString());
    }
    return rights;
  }

  bool IsUnknown(std::string_view plugin) const {
    return std::find(unknown_policies_.begin(), unknown_policies_.end(), plugin) !=
           unknown_policies_.end();
  }

  bool AsksAboutAccess() const {
    for (const admission::PluginInfo* plugin : choice_.chosen) {
      if (AsksAuthorizer(plugin->name) || IsUnknown(plugin->name)) return true;
    }
    return std::any_of(files_.manifests.begin(), files_.manifests.end(),
                       [](const offline::Manifest& manifest) {
                         return manifest.kind.ends_with("AdmissionPolicy") &&
                                manifest.source->text().find("authorizer") != std::string::npos;
                       });
  }

  void PrintAccess() {
    json::ArrayBuilder rules(arena_);
    const auto add = [&](std::string_view group, const auto& resources, const auto& verbs) {
      rules.Add(Builder(arena_)
                    .Set("apiGroups", Texts(std::vector{group}))
                    .Set("resources", Texts(resources))
                    .Set("verbs", Texts(verbs))
                    .Build());
    };
    for (const auto& [group, resources] : Followed()) {
      add(group, resources, std::vector{"get", "list", "watch"});
    }
    std::string comment = "What the plugins look at.";
    if (AsksAboutAccess()) {
      comment += "\nPlugins or policies ask who may do what.";
      add("authorization.k8s.io", std::vector{"subjectaccessreviews"}, std::vector{"create"});
    }
    if (!unknown_policies_.empty()) {
      comment +=
          "\nThe policies of the cluster may name kinds of parameters: add the right to get, list "
          "and watch each.";
    }
    Document("", Object("v1", "ServiceAccount", true).Build());
    Document(comment, Object("rbac.authorization.k8s.io/v1", "ClusterRole", false)
                          .Set("rules", rules.Build())
                          .Build());
    const json::Value subject = Builder(arena_)
                                    .Set("kind", "ServiceAccount")
                                    .Set("name", std::string_view(options_.name))
                                    .Set("namespace", std::string_view(target_.ns))
                                    .Build();
    Document("", Object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", false)
                     .Set("roleRef", Builder(arena_)
                                         .Set("apiGroup", "rbac.authorization.k8s.io")
                                         .Set("kind", "ClusterRole")
                                         .Set("name", std::string_view(options_.name))
                                         .Build())
                     .Set("subjects", json::MakeArray(arena_, {subject}))
                     .Build());
  }

  // --policies and --admission-control-config-file as they are.
  base::Status PrintFiles() {
    std::map<std::string, std::string> texts;
    std::set<std::string> paths;
    for (const offline::Manifest& manifest : files_.manifests) {
      const std::string& path = manifest.source->path();
      if (!paths.insert(path).second) continue;
      std::string key = std::filesystem::path(path).filename().string();
      if (texts.contains(key)) key = base::StrCat(std::to_string(paths.size()), "-", key);
      texts[key] = TRY(base::ReadFile(path));
    }
    has_policies_ = !texts.empty();
    if (!options_.admission_control_config_file.empty()) {
      config_ = TRY(base::ReadFile(options_.admission_control_config_file));
    }
    std::size_t size = config_.size();
    Builder data(arena_);
    for (const auto& [key, text] : texts) {
      size += text.size();
      data.Set(arena_.Copy(key), std::string_view(text));
    }
    if (size > kMostConfigMap) {
      return base::ConfigError("--policies are too large for a ConfigMap: put them into the image");
    }
    if (has_policies_) {
      Document("The files of --policies.", Named("v1", "ConfigMap", "-policies", data.Build()));
    }
    if (!config_.empty()) {
      Document("The file of --admission-control-config-file; files that it names are not here.",
               Named("v1", "ConfigMap", "-config",
                     Builder(arena_).Set("admission.yaml", std::string_view(config_)).Build()));
    }
    return base::OkStatus();
  }

  json::Value Named(std::string_view api_version, std::string_view kind, std::string_view suffix,
                    json::Value data) {
    const json::Value object = Object(api_version, kind, true).Set("data", data).Build();
    const std::string name = base::StrCat(options_.name, suffix);
    return json::SetPath(arena_, object, {"metadata", "name"}, json::String(arena_, name));
  }

  void PrintSecret(const ServingCertificate& serving) {
    if (!serving.is_kept) return;
    const auto& pair = serving.tls.certificate;
    json::Value secret =
        Named("v1", "Secret", "-tls",
              Builder(arena_)
                  .Set("tls.crt", std::string_view(base::Base64Encode(pair.certificate_pem)))
                  .Set("tls.key", std::string_view(base::Base64Encode(pair.key_pem)))
                  .Build());
    secret = json::With(arena_, secret, "type", json::Value::StringView("kubernetes.io/tls"));
    Document("The serving certificate of --cert-dir: this document is a secret.", secret);
  }

  json::Value Arguments() {
    std::vector<std::string> words = {"webhook",
                                      "--bind-address=0.0.0.0",
                                      "--secure-port=9443",
                                      "--tls-cert-file=/tls/tls.crt",
                                      "--tls-private-key-file=/tls/tls.key",
                                      "--shutdown-delay-duration=10s",
                                      "--log-format=json"};
    const auto add = [&](std::string_view flag, const std::string& value) {
      if (!value.empty()) words.push_back(base::StrCat("--", flag, "=", value));
    };
    add("enable-admission-plugins", base::Join(options_.enable_admission_plugins, ","));
    add("disable-admission-plugins", base::Join(options_.disable_admission_plugins, ","));
    if (has_policies_) add("policies", "/policies");
    if (!config_.empty()) add("admission-control-config-file", "/config/admission.yaml");
    if (options_.kubernetes_version != Options().kubernetes_version) {
      add("kubernetes-version", options_.kubernetes_version);
    }
    add("memory-limit", options_.memory_limit);
    std::vector<std::string> gates;
    for (const auto& [gate, is_on] : options_.feature_gates) {
      gates.push_back(base::StrCat(gate, is_on ? "=true" : "=false"));
    }
    add("feature-gates", base::Join(gates, ","));
    return Texts(words);
  }

  json::Value Probe(std::string_view path) {
    return Builder(arena_)
        .Set("httpGet",
             Builder(arena_).Set("path", path).Set("port", 9443).Set("scheme", "HTTPS").Build())
        .Build();
  }

  void PrintDeployment() {
    json::ArrayBuilder mounts(arena_);
    json::ArrayBuilder volumes(arena_);
    const auto add = [&](std::string_view name, std::string_view kind, std::string_view field) {
      const std::string object = base::StrCat(options_.name, "-", name);
      mounts.Add(Builder(arena_)
                     .Set("name", name)
                     .Set("mountPath", std::string_view(base::StrCat("/", name)))
                     .Set("readOnly", true)
                     .Build());
      volumes.Add(Builder(arena_)
                      .Set("name", name)
                      .Set(kind, Builder(arena_).Set(field, std::string_view(object)).Build())
                      .Build());
    };
    add("tls", "secret", "secretName");
    if (has_policies_) add("policies", "configMap", "name");
    if (!config_.empty()) add("config", "configMap", "name");
    const std::string image =
        options_.image.empty() ? base::StrCat("portcullis:", ThisBuild().version) : options_.image;
    const json::Value drop = Builder(arena_).Set("drop", Texts(std::vector{"ALL"})).Build();
    const json::Value container =
        Builder(arena_)
            .Set("name", "webhook")
            .Set("image", std::string_view(image))
            .Set("args", Arguments())
            .Set("ports",
                 json::MakeArray(arena_, {Builder(arena_).Set("containerPort", 9443).Build()}))
            .Set("livenessProbe", Probe("/livez"))
            .Set("readinessProbe", Probe("/readyz"))
            .Set("resources",
                 Builder(arena_)
                     .Set("requests",
                          Builder(arena_).Set("cpu", "50m").Set("memory", "64Mi").Build())
                     .Build())
            .Set("securityContext",
                 Builder(arena_)
                     .Set("allowPrivilegeEscalation", false)
                     .Set("readOnlyRootFilesystem", true)
                     .Set("runAsNonRoot", true)
                     .Set("runAsUser", 65532)
                     .Set("capabilities", drop)
                     .Set("seccompProfile", Builder(arena_).Set("type", "RuntimeDefault").Build())
                     .Build())
            .Set("volumeMounts", mounts.Build())
            .Build();
    const json::Value pod =
        Builder(arena_)
            .Set("metadata", Builder(arena_).Set("labels", Labels()).Build())
            .Set("spec", Builder(arena_)
                             .Set("serviceAccountName", std::string_view(options_.name))
                             .Set("priorityClassName", "system-cluster-critical")
                             .Set("containers", json::MakeArray(arena_, {container}))
                             .Set("volumes", volumes.Build())
                             .Build())
            .Build();
    const json::Value spec =
        Builder(arena_)
            .Set("replicas", 2)
            .Set("selector", Builder(arena_).Set("matchLabels", Labels()).Build())
            .Set("template", pod)
            .Build();
    Document("", Object("apps/v1", "Deployment", true).Set("spec", spec).Build());
  }

  void PrintService() {
    const json::Value port =
        Builder(arena_).Set("port", target_.port).Set("targetPort", 9443).Build();
    json::Value service = Object("v1", "Service", true)
                              .Set("spec", Builder(arena_)
                                               .Set("selector", Labels())
                                               .Set("ports", json::MakeArray(arena_, {port}))
                                               .Build())
                              .Build();
    service =
        json::SetPath(arena_, service, {"metadata", "name"}, json::String(arena_, target_.name));
    Document("", service);
  }

  json::Value ClientConfig(const ServingCertificate& serving, std::string_view path) {
    Builder client(arena_);
    if (!serving.ca_pem.empty()) {
      client.Set("caBundle", std::string_view(base::Base64Encode(serving.ca_pem)));
    }
    if (!in_cluster()) {
      client.Set("url", std::string_view(base::StrCat(target_.url, path)));
      return client.Build();
    }
    return client
        .Set("service", Builder(arena_)
                            .Set("namespace", std::string_view(target_.ns))
                            .Set("name", std::string_view(target_.name))
                            .Set("path", path)
                            .Set("port", target_.port)
                            .Build())
        .Build();
  }

  json::Value NamespaceSelector() {
    std::vector<std::string> excluded = {"kube-system"};
    if (in_cluster() && target_.ns != "kube-system") excluded.push_back(target_.ns);
    const json::Value expression = Builder(arena_)
                                       .Set("key", "kubernetes.io/metadata.name")
                                       .Set("operator", "NotIn")
                                       .Set("values", Texts(excluded))
                                       .Build();
    return Builder(arena_).Set("matchExpressions", json::MakeArray(arena_, {expression})).Build();
  }

  // Where every resource is sent: what the webhook asks itself, and what nodes need to live.
  json::Value Conditions() {
    json::ArrayBuilder conditions(arena_);
    const auto add = [&](std::string_view name, std::string_view expression) {
      conditions.Add(Builder(arena_).Set("name", name).Set("expression", expression).Build());
    };
    add("not-nodes", "!('system:nodes' in request.userInfo.groups)");
    add("not-reviews-and-leases",
        "!(request.resource.group in ['authentication.k8s.io', 'authorization.k8s.io', "
        "'coordination.k8s.io'])");
    if (in_cluster()) {
      add("not-itself", base::StrCat("request.userInfo.username != 'system:serviceaccount:",
                                     target_.ns, ":", options_.name, "'"));
    }
    return conditions.Build();
  }

  std::string CommentFor(const HookRules& rules, const ServingCertificate& serving) const {
    std::string comment =
        "kube-system is not sent: the cluster has to heal when the webhook fails.";
    if (in_cluster()) {
      comment += base::StrCat("\n", target_.ns,
                              " is not sent: the webhook's own pods have to start "
                              "before it can answer.");
    }
    if (rules.is_wide()) {
      comment +=
          base::StrCat("\nEvery resource is sent because of ", base::Join(rules.any, ", "), ".");
    }
    if (serving.ca_pem.empty()) {
      comment += "\nThe CA is not known: ";
      if (in_cluster()) comment += "cert-manager writes it in, or ";
      comment += "--ca-bundle-file names it.";
    }
    return comment;
  }

  void PrintHook(const ServingCertificate& serving, admission::Phase phase) {
    const HookRules rules =
        RulesOf(arena_, {choice_.chosen, files_, unknown_policies_, *catalog_}, phase);
    if (rules.rules.empty()) return;
    const bool mutates = phase == admission::kMutate;
    const std::string_view word = mutates ? "mutate" : "validate";
    Builder hook(arena_);
    hook.Set("name", std::string_view(base::StrCat(word, ".", options_.name, ".", kDomain)))
        .Set("admissionReviewVersions", Texts(std::vector{"v1", "v1beta1"}))
        .Set("clientConfig", ClientConfig(serving, base::StrCat("/", word)))
        .Set("failurePolicy", std::string_view(options_.failure_policy))
        .Set("matchPolicy", "Equivalent")
        .Set("namespaceSelector", NamespaceSelector())
        .Set("rules", rules.rules)
        // EventRateLimit counts, but not what is a dry run; no other plugin leaves a trace.
        .Set("sideEffects", choice_.Has("EventRateLimit") ? "NoneOnDryRun" : "None")
        .Set("timeoutSeconds", options_.timeout_seconds);
    if (mutates) hook.Set("reinvocationPolicy", "IfNeeded");
    if (rules.is_wide()) hook.Set("matchConditions", Conditions());
    json::Value object =
        Object(kRegistration,
               mutates ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration", false)
            .Set("webhooks", json::MakeArray(arena_, {hook.Build()}))
            .Build();
    if (serving.ca_pem.empty() && in_cluster()) {
      object = json::SetPath(arena_, object,
                             {"metadata", "annotations", "cert-manager.io/inject-ca-from"},
                             json::String(arena_, base::StrCat(target_.ns, "/", options_.name)));
    }
    Document(CommentFor(rules, serving), object);
  }

  const Options& options_;
  const Target target_;
  const offline::Inputs& files_;
  const PluginChoice& choice_;
  const std::shared_ptr<const api::catalog::Catalog> catalog_;
  std::vector<std::string> unknown_policies_;
  bool has_policies_ = false;
  std::string config_;
  json::Arena arena_;
  std::string text_;
};

}  // namespace

base::Result<std::string> ConfigText(const Options& options, const base::Clock& clock) {
  const offline::Inputs files = TRY(ReadFiles(options));
  Target target = TRY(TargetOf(options));
  // In the cluster that it is for, the webhook has one.
  const PluginChoice choice =
      TRY(ChooseFor(options, files, options.url.empty() || HasCluster(options)));
  // An API server must not be sent to a webhook that cannot start.
  TRY(Backend::Check(options, clock, files, choice));
  ServingCertificate serving;
  if (!options.cert_dir.empty() || !options.tls_cert_file.empty()) {
    serving = TRY(MakeServingCertificate(options, clock.Now()));
  } else if (!options.ca_bundle_file.empty()) {
    serving.ca_pem = TRY(base::ReadFile(options.ca_bundle_file));
  }
  auto catalog = TRY(api::catalog::Catalog::BuiltIn({}));
  return Printer(options, std::move(target), files, choice, std::move(catalog)).Print(serving);
}

}  // namespace portcullis::webhook_server
