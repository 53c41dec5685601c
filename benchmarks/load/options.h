// SPDX-License-Identifier: Apache-2.0

// The command line of portcullis-load.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace portcullis::load {

// How to reach a server and which processes are its own.
struct TargetOptions {
  std::string name;  // "server" or "baseline"
  std::string url;
  std::string ca_pem;  // "": not verified
  std::string certificate_pem;
  std::string key_pem;
  std::string token;
  std::vector<int> pids;
};

struct Options {
  TargetOptions server;
  TargetOptions baseline;  // url "": the recorded figures
  std::string start;       // command for start-to-ready, "" skips it
  int starts = 5;
  int connections = 16;
  int threads = 1;
  double seconds = 5;
  double warmup = 1;
  std::vector<std::string> scenarios;  // empty: all
  std::string webhook_listen = "127.0.0.1:0";
  std::string serve;               // the binary whose goals are measured, "": scenarios are run
  std::vector<std::string> goals;  // empty: all
  bool json = false;
  bool list = false;
  bool help = false;
};

// What --help prints.
std::string HelpText();

// Address and credentials of the current context.
base::Status ReadKubeconfig(const std::string& path, TargetOptions& target);

base::Result<Options> ParseOptions(int argc, char** argv);

}  // namespace portcullis::load
