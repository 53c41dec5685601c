// SPDX-License-Identifier: Apache-2.0

// What the commands of `portcullis store` share: flags, errors, the files that they work on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/command.h"
#include "flags/flags.h"
#include "store/encryption/transformer.h"

namespace portcullis::cli {

struct StoreOptions {
  std::string data_dir = "portcullis-data";
  std::string encryption_provider_config;
  // Work on etcd instead of the database, if there are any.
  std::vector<std::string> etcd_servers;
  std::string etcd_prefix = "/registry";
  std::string etcd_cafile;
  std::string etcd_certfile;
  std::string etcd_keyfile;
  std::string kubeconfig;
  std::string form = "text";
  bool replace = false;
  bool skip_unreadable = false;
  std::vector<std::string> arguments;

  // The database of the data directory.
  std::string database() const;
  // The database or the servers of etcd, for messages.
  std::string place() const;
};
using StoreFlag = flags::Flag<StoreOptions>;

// The flags of these names, from one table. A name that ends with a dash stands for all that begin so.
std::vector<StoreFlag> StoreFlags(std::span<const std::string_view> names);

// What --encryption-provider-config says; null without it.
base::Result<std::shared_ptr<const store::Transformer>> TransformerOf(const StoreOptions& options);

// The one argument that a command takes.
struct StoreArgument {
  std::string_view name;  // "FILE"; "": it takes none
  bool is_optional = false;
};

// Reads the line, shows help, runs `body`, prints its error.
using StoreBody = base::Result<int> (*)(const StoreOptions& options);
int RunStoreCommand(const Command& command, std::span<const std::string_view> flag_names,
                    const StoreArgument& argument, const std::vector<std::string>& words,
                    StoreBody body);

// "1.4 MiB".
std::string SizeText(std::uintmax_t bytes);
std::uintmax_t FileSize(const std::string& path);

}  // namespace portcullis::cli
