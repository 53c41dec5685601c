// SPDX-License-Identifier: Apache-2.0

#include "cli/offline_flags.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "cli/terminal_progress.h"
#include "cli/webhook_handshakes.h"
#include "flags/setters.h"
#include "golang/strconv.h"
#include "offline/correct_files.h"

namespace portcullis::cli {
namespace {

void SplitInto(std::string_view value, std::vector<std::string>& out) {
  for (const std::string_view piece : base::Split(value, ',')) {
    if (!piece.empty()) out.emplace_back(piece);
  }
}

base::Status AddFilename(OfflineOptions& options, std::string_view value) {
  SplitInto(value, options.inputs.filenames);
  return base::OkStatus();
}

base::Status SetNamespace(OfflineOptions& options, std::string_view value) {
  options.judge.ns = std::string(value);
  return base::OkStatus();
}

base::Status AddGroup(OfflineOptions& options, std::string_view value) {
  options.judge.cluster.as_groups.emplace_back(value);
  return base::OkStatus();
}

base::Status AddFeatureGates(OfflineOptions& options, std::string_view value) {
  for (const std::string_view piece : base::Split(value, ',')) {
    if (base::Trim(piece).empty()) continue;
    const auto cut = base::Cut(piece, "=");
    if (!cut) return base::BadRequest(base::StrCat("missing bool value for ", piece));
    options.judge.cluster.feature_gates[std::string(base::Trim(cut->first))] =
        TRY(golang::ParseBool(base::Trim(cut->second)));
  }
  return base::OkStatus();
}

base::Status AddRuntimeConfig(OfflineOptions& options, std::string_view value) {
  for (const auto& [name, served] : TRY(api::catalog::ParseRuntimeConfig(value))) {
    options.judge.cluster.runtime_config[name] = served;
  }
  return base::OkStatus();
}

base::Status EnablePlugins(OfflineOptions& options, std::string_view value) {
  SplitInto(value, options.judge.cluster.admission_plugins.enable);
  return base::OkStatus();
}

base::Status DisablePlugins(OfflineOptions& options, std::string_view value) {
  SplitInto(value, options.judge.cluster.admission_plugins.disable);
  return base::OkStatus();
}

base::Status SetValidation(OfflineOptions& options, std::string_view value) {
  using engine::FieldValidation;
  constexpr std::pair<std::string_view, FieldValidation> kWords[] = {
      {"strict", FieldValidation::kStrict},
      {"warn", FieldValidation::kWarn},
      {"ignore", FieldValidation::kIgnore},
  };
  for (const auto& [word, validation] : kWords) {
    if (value != word) continue;
    options.judge.cluster.validation = validation;
    return base::OkStatus();
  }
  return base::BadRequest("must be one of strict, warn, ignore");
}

base::Status SetWebhooks(OfflineOptions& options, std::string_view value) {
  options.webhooks = std::string(value);
  return base::OkStatus();
}

// Setters of members of the options for judging, and of those for the cluster.
template <auto Member>
base::Status SetInput(OfflineOptions& options, std::string_view value) {
  options.inputs.*Member = TRY(golang::ParseBool(value));
  return base::OkStatus();
}

template <auto Member>
base::Status SetJudge(OfflineOptions& options, std::string_view value) {
  options.judge.*Member = TRY(golang::ParseBool(value));
  return base::OkStatus();
}

template <auto Member>
base::Status SetText(OfflineOptions& options, std::string_view value) {
  options.judge.cluster.*Member = std::string(value);
  return base::OkStatus();
}

template <auto Member>
base::Status SetSeconds(OfflineOptions& options, std::string_view value) {
  options.judge.cluster.*Member = TRY(golang::ParseInt(value, 0, 64));
  return base::OkStatus();
}

template <auto Member>
base::Status SetLive(OfflineOptions& options, std::string_view value) {
  options.cluster = true;
  options.live.*Member = std::string(value);
  return base::OkStatus();
}

base::Status AddOld(OfflineOptions& options, std::string_view value) {
  SplitInto(value, options.inputs.old);
  return base::OkStatus();
}

base::Status SetOperation(OfflineOptions& options, std::string_view value) {
  constexpr std::pair<std::string_view, offline::Asks> kWords[] = {
      {"create", offline::Asks::kCreateOrUpdate},
      {"apply", offline::Asks::kApply},
      {"delete", offline::Asks::kDelete},
  };
  for (const auto& [word, asks] : kWords) {
    if (value != word) continue;
    options.judge.asks = asks;
    return base::OkStatus();
  }
  return base::BadRequest("must be one of create, apply, delete");
}

base::Status SetServerSide(OfflineOptions& options, std::string_view value) {
  if (TRY(golang::ParseBool(value))) options.judge.asks = offline::Asks::kApply;
  return base::OkStatus();
}

base::Status AddPodTemplate(OfflineOptions& options, std::string_view value) {
  options.judge.pod_templates.push_back(TRY(offline::ReadPodTemplate(value)));
  return base::OkStatus();
}

base::Status SetDryRun(OfflineOptions& options, std::string_view value) {
  options.judge.cluster.dry_run = TRY(golang::ParseBool(value));
  return base::OkStatus();
}

using offline::ClusterOptions;
using offline::InputOptions;
using offline::JudgeOptions;
constexpr flags::Type kText = flags::Type::kString;
constexpr flags::Type kSwitch = flags::Type::kBool;
constexpr flags::Type kMany = flags::Type::kList;
constexpr flags::Type kPairs = flags::Type::kMap;
constexpr flags::Type kNumber = flags::Type::kInt;

// In the order of --help: name, type, default, meaning, setter, note, shorthand, value.
constexpr OfflineFlag kShared[] = {
    {"filename", kMany, "", "More files and directories, these without the directories in them",
     &AddFilename, "", 'f', "PATH"},
    {"resource", kMany, "", "The same", &AddFilename, "", 'r', "PATH"},
    {"recursive", kSwitch, "false", "Directories of --filename with the directories in them",
     &SetInput<&InputOptions::recursive>, "", 'R'},
    {"old", kMany, "",
     "Files and directories with what is stored already: a manifest of the same object is judged\n"
     "as an update of it",
     &AddOld, "", '\0', "PATH"},
    {"cluster", kSwitch, "false",
     "Read from a running cluster what the files lack, and what is stored of the manifests;\n"
     "nothing is written, Secrets are not read",
     &flags::SetBool<&OfflineOptions::cluster>, ""},
    {"kubeconfig", kText, "", "Kubeconfig of that cluster (default $KUBECONFIG, ~/.kube/config)",
     &SetLive<&LiveCluster::kubeconfig>, "", '\0', "FILE"},
    {"context", kText, "", "Context in it (default its current one)",
     &SetLive<&LiveCluster::context>, "", '\0', "NAME"},
    {"operation", kText, "create",
     "What is asked for with the manifests: create (or update, see --old), apply (server-side),\n"
     "delete",
     &SetOperation, "", '\0', "create|apply|delete"},
    {"server-side", kSwitch, "false", "The same as --operation=apply", &SetServerSide, ""},
    {"force-conflicts", kSwitch, "false", "Applying takes fields from other managers",
     &SetJudge<&JudgeOptions::force_conflicts>, ""},
    {"field-manager", kText, "",
     "Name of the manager of fields (default kubectl's: kubectl-create, kubectl, …)",
     &SetText<&ClusterOptions::field_manager>, "", '\0', "NAME"},
    {"namespace", kText, "", "Namespace of manifests that name none (default \"default\")",
     &SetNamespace, "", 'n', "NAME"},
    {"as", kText, "",
     "User who asks (default an administrator). Policies and the RBAC escalation check see\n"
     "the rights that the roles of the files give them.",
     &SetText<&ClusterOptions::as>, "", '\0', "USER"},
    {"as-group", kText, "", "Group of that user. May be repeated.", &AddGroup, "", '\0', "GROUP"},
    {"dry-run", kSwitch, "false", "Judge each as a dry run: it is not there for those behind it",
     &SetDryRun, ""},
    {"validate", kText, "strict",
     "Fields that the kind does not have: strict refuses them, warn warns, ignore drops",
     &SetValidation, "", '\0', "strict|warn|ignore"},
    {"expand", kSwitch, "true", "Judge what workloads would make, too",
     &SetJudge<&JudgeOptions::expand>, ""},
    {"pod-template", kText, "",
     "Where another kind keeps the template of its pods, as argoproj.io/Rollout=spec.template.\n"
     "May be repeated.",
     &AddPodTemplate, "", '\0', "KIND=PATH"},
    {"strict", kSwitch, "false",
     "Do not make namespaces and service accounts that no file has: refuse as a server\n"
     "without them would",
     &SetJudge<&JudgeOptions::strict>, ""},
    {"webhooks", kText, "skip",
     "skip names the webhooks that would be called; call calls them; a FILE has answers to\n"
     "take for theirs, and where others are reached",
     &SetWebhooks, "", '\0', "skip|call|FILE"},
    {"kubernetes-version", kText, "1.36", "Release of Kubernetes: 1.7 to 1.36",
     &SetText<&ClusterOptions::kubernetes_version>, "", '\0', "VERSION"},
    {"k8s-version", kText, "", "The same", &SetText<&ClusterOptions::kubernetes_version>, "", '\0',
     "VERSION"},
    {"feature-gates", kPairs, "", "Feature gates to set: Name=true,Other=false", &AddFeatureGates,
     ""},
    {"runtime-config", kPairs, "", "Versions to serve: api/all, group/version=true|false",
     &AddRuntimeConfig, ""},
    {"enable-admission-plugins", kMany, "", "Admission plugins besides the default ones",
     &EnablePlugins, ""},
    {"disable-admission-plugins", kMany, "", "Default admission plugins to leave out",
     &DisablePlugins, ""},
    {"admission-control-config-file", kText, "",
     "File with an AdmissionConfiguration (default the one among the files)",
     &SetText<&ClusterOptions::admission_control_config_file>, "", '\0', "FILE"},
    {"default-not-ready-toleration-seconds", kNumber, "300",
     "Seconds that DefaultTolerationSeconds gives to notReady:NoExecute",
     &SetSeconds<&ClusterOptions::default_not_ready_toleration_seconds>, ""},
    {"default-unreachable-toleration-seconds", kNumber, "300",
     "Seconds that DefaultTolerationSeconds gives to unreachable:NoExecute",
     &SetSeconds<&ClusterOptions::default_unreachable_toleration_seconds>, ""},
};

}  // namespace

std::vector<OfflineFlag> WithSharedFlags(std::span<const OfflineFlag> own) {
  std::vector<OfflineFlag> all(own.begin(), own.end());
  all.insert(all.end(), std::begin(kShared), std::end(kShared));
  return all;
}

std::vector<OfflineFlag> WithSharedFlags(std::span<const OfflineFlag> own,
                                         std::span<const std::string_view> names) {
  std::vector<OfflineFlag> some(own.begin(), own.end());
  for (const OfflineFlag& flag : kShared) {
    if (std::find(names.begin(), names.end(), flag.name) != names.end()) some.push_back(flag);
  }
  return some;
}

base::Result<std::unique_ptr<WebhookClient>> WebhookClient::Create(OfflineOptions& options) {
  auto client = std::make_unique<WebhookClient>();
  client->plan_ = TRY(offline::PlanWebhooks(options.webhooks));
  if (client->plan_.calls) {
    client->threads_ = std::make_unique<net::IoThreads>();
    TRY(client->threads_->status());
    client->https_ = net::HttpsClient::Create(*client->threads_);
    client->handshakes_ = MakeHandshakes(*client->https_, client->plan_.services);
  }
  options.judge.stand_in = client->plan_.stand_in.get();
  options.judge.cluster.https = client->https_.get();
  options.judge.handshakes = client->handshakes_.get();
  options.judge.cluster.webhook_service_map = client->plan_.services;
  return client;
}

base::Result<offline::Inputs> ReadOfflineInputs(OfflineOptions& options) {
  if (options.inputs.paths.empty() && options.inputs.filenames.empty()) {
    options.inputs.paths = {"."};
  }
  offline::Inputs inputs = offline::ReadInputs(options.inputs);
  std::string& config = options.judge.cluster.admission_control_config_file;
  if (config.empty() && inputs.admission_configurations.size() == 1) {
    config = inputs.admission_configurations.front();
  } else if (config.empty() && inputs.admission_configurations.size() > 1) {
    return base::ConfigError(base::StrCat(
        inputs.admission_configurations[0], " and ", inputs.admission_configurations[1],
        " both hold an AdmissionConfiguration: --admission-control-config-file chooses one"));
  }
  if (options.progress == nullptr && ::isatty(STDERR_FILENO) != 0) {
    options.progress = std::make_shared<TerminalProgress>(
        base::SystemClock(),
        [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); });
    options.judge.progress = options.progress.get();
  }
  if (options.cluster) {
    options.live.ns = options.judge.ns.empty() ? "default" : options.judge.ns;
    TRY(ReadLiveCluster(options.live, inputs));
  }
  return inputs;
}

base::Status AddOutput(OfflineOptions& options, std::string_view value) {
  const auto cut = base::Cut(value, "=");
  OfflineOutput output;
  const std::string_view name = cut ? cut->first : value;
  output.format = offline::FindFormat(name == "text" ? "table" : name);
  if (cut) output.path = std::string(cut->second);
  if (output.format != nullptr) {
    options.outputs.push_back(std::move(output));
    return base::OkStatus();
  }
  std::vector<std::string_view> names;
  for (const offline::Format& format : offline::Formats()) names.push_back(format.name);
  return base::BadRequest(
      base::StrCat("must be one of ", base::Join(names, ", "), "; with =FILE it goes to a file"));
}

base::Status PrintReport(const offline::Report& report, const OfflineOptions& options,
                         std::span<const OwnForm> own) {
  for (const OfflineOutput& output : options.outputs) {
    const bool to_terminal = output.path.empty();
    const auto form = std::find_if(own.begin(), own.end(), [&](const OwnForm& one) {
      return one.name == output.format->name;
    });
    const bool color = to_terminal && UsesColor();
    std::string text;
    if (form == own.end()) {
      text = output.format->write(report, {color, options.verbose});
    } else {
      text = color && !form->colored.empty() ? form->colored : form->text;
    }
    if (to_terminal) {
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
      TRY(base::WriteSharedFile(output.path, text));
    }
  }
  return base::OkStatus();
}

base::Status RewriteFile(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return base::ConfigError(base::StrCat(path, ": ", base::ErrnoText(error.value())));
  const fs::perms permissions = fs::status(real, error).permissions();
  TRY(base::WriteFile(real.string(), text));
  if (!error) fs::permissions(real, permissions, error);
  if (error) return base::ConfigError(base::StrCat(path, ": ", base::ErrnoText(error.value())));
  return base::OkStatus();
}

base::Result<std::size_t> WriteCorrections(std::span<const offline::Correction> corrections) {
  std::vector<offline::Problem> problems;
  const auto files = offline::CorrectFiles(corrections, problems);
  for (const offline::Problem& problem : problems) {
    std::fputs(base::StrCat(problem.place.ToString(), ": ", problem.message, "\n").c_str(), stderr);
  }
  for (const offline::CorrectedFile& file : files) {
    for (const std::string& line : file.lines) std::fputs((line + "\n").c_str(), stderr);
  }
  for (const offline::CorrectedFile& file : files) {
    std::fputs(base::StrCat("writes ", file.path, "\n").c_str(), stderr);
    TRY(RewriteFile(file.path, file.text));
  }
  return files.size();
}

bool UsesColor() {
  if (std::getenv("NO_COLOR") != nullptr) return false;
  return std::getenv("FORCE_COLOR") != nullptr || ::isatty(STDOUT_FILENO) != 0;
}

}  // namespace portcullis::cli
