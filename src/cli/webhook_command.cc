// SPDX-License-Identifier: Apache-2.0

#include "cli/webhook_command.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/confinement.h"
#include "cli/server_process.h"
#include "webhook_server/options.h"
#include "webhook_server/print_config.h"
#include "webhook_server/server.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"(Serves admission plugins and policies as a webhook, for clusters whose API server takes no flags. It answers
AdmissionReviews (admission.k8s.io v1 and v1beta1) at /mutate and /validate, those of one plugin at
/mutate/NAME and /validate/NAME. What the plugins look at is followed in the cluster of --kubeconfig or of
the pod, or read from files.

Usage:
  portcullis webhook --enable-admission-plugins=NAME,… [flags]
  portcullis webhook -f POLICIES [flags]
  portcullis webhook --print-config … | kubectl apply -f -

Examples:
  portcullis webhook -f policies/ --secure-port=9443
  portcullis webhook --enable-admission-plugins=PodSecurity,PodNodeSelector --kubeconfig=admin.kubeconfig
  portcullis webhook --enable-admission-plugins=AlwaysPullImages --cert-dir=certs --print-config
)";

constexpr std::string_view kNotes = R"(
SIGINT and SIGTERM stop the server. Exit status: 0 it was stopped, or the configuration was printed, 2 a
flag, file or port is wrong.
)";

constexpr std::chrono::seconds kGrace{10};

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int Fail(const base::Status& status) {
  std::fputs(base::StrCat("Error: ", status.message(), "\n").c_str(), stderr);
  return kExitUsage;
}

int Run(const std::vector<std::string>& arguments) {
  webhook_server::Options options;
  const auto line = webhook_server::ReadFlags(arguments, options);
  if (!line.ok()) return UsageError(kWebhook.name, line.status().message());
  if (line->help) return PrintHelp(kWebhook);
  options.place.host = Variable("KUBERNETES_SERVICE_HOST");
  options.place.port = Variable("KUBERNETES_SERVICE_PORT");
  if (options.print_config) {
    base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);
    const auto text = webhook_server::ConfigText(options, base::SystemClock());
    if (!text.ok()) return Fail(text.status());
    std::fwrite(text->data(), 1, text->size(), stdout);
    return kExitOk;
  }
  base::ConfigureLog(options.log_format == "json" ? base::LogFormat::kJson : base::LogFormat::kText,
                     options.verbosity > 3 ? base::LogLevel::kDebug : base::LogLevel::kInfo);
  ConfinementOptions confinement;
  confinement.binds_low_port = options.secure_port > 0 && options.secure_port < 1024;
  if (const base::Status confined = Confine(confinement); !confined.ok()) return Fail(confined);
  const sigset_t signals = BlockSignals({SIGINT, SIGTERM});
  const auto server = webhook_server::WebhookServer::Start(options, base::SystemClock());
  if (!server.ok()) return Fail(server.status());
  base::LogInfo("serving", {{"address", (*server)->address()}});
  int signal = 0;
  sigwait(&signals, &signal);
  base::LogInfo("stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
  (*server)->AnnounceStop();
  WaitForSignal(signals, options.shutdown_delay);
  (*server)->Stop(kGrace);
  return kExitOk;
}

}  // namespace

const Command kWebhook = {"webhook", "serve plugins and policies as an admission webhook",
                          &Run,      &webhook_server::Flags,
                          kUsage,    kNotes};

}  // namespace portcullis::cli
