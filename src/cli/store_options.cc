// SPDX-License-Identifier: Apache-2.0

#include "cli/store_options.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "base/strings.h"
#include "flags/setters.h"
#include "server/encryption/encryption_file.h"
#include "server/etcd_flags.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kForms[] = {"text", "json"};

constexpr StoreFlag kAll[] = {
    {.name = "data-dir",
     .type = flags::Type::kString,
     .default_text = "portcullis-data",
     .meaning = "Directory of the store, as given to serve",
     .set = &flags::SetText<&StoreOptions::data_dir>,
     .value_name = "DIR"},
    {.name = "encryption-provider-config",
     .type = flags::Type::kString,
     .default_text = "",
     .meaning = "File with the keys, as given to serve",
     .set = &flags::SetText<&StoreOptions::encryption_provider_config>,
     .value_name = "FILE"},
    server::EtcdFlag<StoreOptions>("etcd-cafile"),
    server::EtcdFlag<StoreOptions>("etcd-certfile"),
    server::EtcdFlag<StoreOptions>("etcd-keyfile"),
    server::EtcdFlag<StoreOptions>("etcd-prefix"),
    server::EtcdFlag<StoreOptions>("etcd-servers"),
    {.name = "kubeconfig",
     .type = flags::Type::kString,
     .default_text = "",
     .meaning = "Take the copy from the running server of this kubeconfig",
     .set = &flags::SetText<&StoreOptions::kubeconfig>,
     .value_name = "FILE"},
    {.name = "output",
     .type = flags::Type::kString,
     .default_text = "text",
     .meaning = "Form: text or json",
     .set = &flags::SetOneOf<&StoreOptions::form, kForms>,
     .shorthand = 'o',
     .value_name = "FORMAT"},
    {.name = "replace",
     .type = flags::Type::kBool,
     .default_text = "false",
     .meaning = "Replace what is there",
     .set = &flags::SetBool<&StoreOptions::replace>},
    {.name = "skip-unreadable",
     .type = flags::Type::kBool,
     .default_text = "false",
     .meaning = "Leave out objects that no key decrypts",
     .set = &flags::SetBool<&StoreOptions::skip_unreadable>},
};

}  // namespace

std::string StoreOptions::database() const {
  return (std::filesystem::path(data_dir) / "portcullis.db").string();
}

std::string StoreOptions::place() const {
  return etcd_servers.empty() ? database() : base::Join(etcd_servers, ", ");
}

std::vector<StoreFlag> StoreFlags(std::span<const std::string_view> names) {
  std::vector<StoreFlag> flags;
  for (const StoreFlag& flag : kAll) {
    const bool is_in = std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return name == flag.name || (name.ends_with('-') && flag.name.starts_with(name));
    });
    if (is_in) flags.push_back(flag);
  }
  return flags;
}

base::Result<std::shared_ptr<const store::Transformer>> TransformerOf(const StoreOptions& options) {
  if (options.encryption_provider_config.empty()) {
    return std::shared_ptr<const store::Transformer>();
  }
  auto loaded = server::LoadEncryption(options.encryption_provider_config, false);
  if (!loaded.ok()) return loaded.status().Annotate("--encryption-provider-config");
  return std::shared_ptr<const store::Transformer>(std::move(loaded->encryption));
}

int RunStoreCommand(const Command& command, std::span<const std::string_view> flag_names,
                    const StoreArgument& argument, const std::vector<std::string>& words,
                    StoreBody body) {
  const std::string name = base::StrCat("portcullis ", command.name);
  StoreOptions options;
  const std::vector<StoreFlag> table = StoreFlags(flag_names);
  auto line = flags::Parse<StoreOptions>(
      table, words,
      {name, argument.name.empty() ? flags::Arguments::kNone : flags::Arguments::kAny}, options);
  if (!line.ok()) return UsageError(command.name, line.status().message());
  if (line->help) return PrintHelp(command);
  const std::size_t given = line->arguments.size();
  if (given > 1 || (given == 0 && !argument.name.empty() && !argument.is_optional)) {
    return UsageError(command.name, base::StrCat("needs one ", argument.name));
  }
  options.arguments = std::move(line->arguments);
  base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);
  const auto done = body(options);
  if (done.ok()) return *done;
  std::fprintf(stderr, "Error: %s\n", done.status().message().c_str());
  return kExitUsage;
}

std::string SizeText(std::uintmax_t bytes) {
  char text[32];
  const double kib = static_cast<double>(bytes) / 1024;
  const bool is_small = kib < 1024;
  std::snprintf(text, sizeof(text), "%.1f %s", is_small ? kib : kib / 1024,
                is_small ? "KiB" : "MiB");
  return text;
}

std::uintmax_t FileSize(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace portcullis::cli
