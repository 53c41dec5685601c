// SPDX-License-Identifier: Apache-2.0

// The flags that say where an etcd is and how to reach it: the same for serve and for the commands of
// `portcullis store`. Templates over the struct that holds the values; it has the members etcd_cafile,
// etcd_certfile, etcd_keyfile, etcd_prefix and etcd_servers.
#pragma once

#include <iterator>
#include <string_view>

#include "base/status.h"
#include "base/strings.h"
#include "etcd/client.h"
#include "flags/flags.h"
#include "flags/record.h"
#include "flags/setters.h"

namespace portcullis::server {

// "/registry" of "registry/": as keys begin.
template <typename Options>
base::Status SetEtcdPrefix(Options& options, std::string_view value) {
  while (value.starts_with('/')) value.remove_prefix(1);
  while (value.ends_with('/')) value.remove_suffix(1);
  if (value.empty()) return base::BadRequest("must not be empty");
  options.etcd_prefix = base::StrCat("/", value);
  return base::OkStatus();
}

// In the order of names.
template <typename Options>
inline constexpr flags::Flag<Options> kEtcdFlags[] = {
    {.name = "etcd-cafile",
     .type = flags::Type::kString,
     .default_text = "",
     .meaning = "CA bundle that the certificates of etcd are checked with",
     .set = &flags::SetText<&Options::etcd_cafile>,
     .value_name = "FILE"},
    {.name = "etcd-certfile",
     .type = flags::Type::kString,
     .default_text = "",
     .meaning = "Certificate shown to etcd",
     .set = &flags::SetText<&Options::etcd_certfile>,
     .value_name = "FILE"},
    {.name = "etcd-keyfile",
     .type = flags::Type::kString,
     .default_text = "",
     .meaning = "Key of --etcd-certfile",
     .set = &flags::SetText<&Options::etcd_keyfile>,
     .value_name = "FILE"},
    {.name = "etcd-prefix",
     .type = flags::Type::kString,
     .default_text = "/registry",
     .meaning = "What the keys in etcd begin with",
     .set = &SetEtcdPrefix<Options>,
     .value_name = "PREFIX"},
    {.name = "etcd-servers",
     .type = flags::Type::kList,
     .default_text = "",
     .meaning = "Objects are in this etcd, not in --data-dir: scheme://host:port of its members",
     .set = &flags::AddRecord<&Options::etcd_servers>,
     .value_name = "URL"},
};

// The row of that name, for a table. A name that is none does not compile.
template <typename Options>
consteval const flags::Flag<Options>& EtcdFlag(std::string_view name) {
  const auto* row = std::begin(kEtcdFlags<Options>);
  while (row->name != name) ++row;
  return *row;
}

// How the client reaches what the flags name.
template <typename Options>
etcd::ClientOptions EtcdClientOptions(const Options& options) {
  etcd::ClientOptions client;
  client.endpoints = options.etcd_servers;
  client.ca_file = options.etcd_cafile;
  client.certificate_file = options.etcd_certfile;
  client.key_file = options.etcd_keyfile;
  return client;
}

}  // namespace portcullis::server
