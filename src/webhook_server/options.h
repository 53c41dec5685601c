// SPDX-License-Identifier: Apache-2.0

// The flags of `portcullis webhook`, in the words of kube-apiserver and controller-runtime. Value types.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "flags/flags.h"
#include "kubeconfig/in_cluster.h"
#include "release/release.h"

namespace portcullis::webhook_server {

struct Options {
  std::vector<std::string> enable_admission_plugins;
  std::vector<std::string> disable_admission_plugins;
  std::string admission_control_config_file;
  std::vector<std::string> policies;  // files and folders
  std::string kubernetes_version = "1.36";
  release::GateSettings feature_gates;
  std::int64_t default_not_ready_toleration_seconds = 300;
  std::int64_t default_unreachable_toleration_seconds = 300;

  std::string kubeconfig;
  std::string context;
  kubeconfig::ClusterPlace place;  // of the environment, not of a flag

  std::string bind_address = "127.0.0.1";
  int secure_port = 9443;
  std::string tls_cert_file;
  std::string tls_private_key_file;
  std::string cert_dir;
  std::string tls_min_version;
  std::vector<std::string> tls_cipher_suites;
  std::string client_ca_file;
  std::string memory_limit;  // "": see server::ReadMemoryLimit
  std::chrono::nanoseconds shutdown_delay{0};
  std::string log_format = "text";
  int verbosity = 0;

  // What --print-config prints.
  bool print_config = false;
  std::string name = "portcullis";
  std::string service;  // "namespace/name[:port]"
  std::string url;
  std::string ca_bundle_file;
  std::string image;
  std::string failure_policy = "Fail";
  int timeout_seconds = 10;
};

std::vector<flags::Info> Flags();

// Reads the words into `options`, whose values are the defaults. Errors are pflag's, or say which flags do
// not go together.
base::Result<flags::Line> ReadFlags(const std::vector<std::string>& words, Options& options);

}  // namespace portcullis::webhook_server
