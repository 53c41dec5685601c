// SPDX-License-Identifier: Apache-2.0

// The file of --encryption-provider-config: EncryptionConfiguration of apiserver.config.k8s.io/v1,
// read and checked as kube-apiserver does it
// (https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/). Stateless.
//
// Two differences: `kms` is refused after the checks (no KMS plugin is called), and where
// Kubernetes' text of a wrong provider shows its keys, REDACTED stands in their place.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/encryption/config.h"
#include "store/encryption/encryption.h"

namespace portcullis::server {

// The file's text. Errors: `error reading encryption provider configuration file "x": open x: no
// such file or directory`, `encryption provider configuration file "x" is empty`.
base::Result<std::string> ReadEncryptionFile(const std::string& path);

// By which kube-apiserver tells whether a file has changed: `sha256:…`.
std::string EncryptionFileHash(std::string_view text);

// Errors name `path` and begin with `error while parsing file: ` or `error while building
// transformers: `. `reload`: with --encryption-provider-config-automatic-reload.
base::Result<store::EncryptionConfig> ParseEncryptionFile(std::string text, std::string_view path,
                                                          bool reload);

// All three: what the file describes, with its hash.
struct LoadedEncryption {
  std::shared_ptr<store::Encryption> encryption;
  std::string hash;
};
base::Result<LoadedEncryption> LoadEncryption(const std::string& path, bool reload,
                                              store::TransformationObserver observer = {});

}  // namespace portcullis::server
