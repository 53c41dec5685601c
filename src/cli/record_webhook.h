// SPDX-License-Identifier: Apache-2.0

// `portcullis record --listen`: a webhook with a certificate of its own that allows every request and
// records it.
#pragma once

#include <string>

#include "audit/recording.h"
#include "base/status.h"

namespace portcullis::cli {

struct RecordingWebhookOptions {
  std::string listen;         // "0.0.0.0:8443"
  std::string service;        // "namespace/name:port" that leads to it; "": `url` does
  std::string url;            // "": https:// and the address that it listens at
  std::string configuration;  // file for the configuration to apply; "": standard output
  std::string cert_dir;       // keeps certificate and CA from one start to the next; "": made anew
  bool mutating = false;      // called before other webhooks change the object
};

// Serves until SIGINT or SIGTERM. Before any other thread is started: it blocks these signals.
base::Status RunRecordingWebhook(const RecordingWebhookOptions& options,
                                 audit::Recording& recording);

}  // namespace portcullis::cli
