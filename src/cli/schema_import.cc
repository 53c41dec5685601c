// SPDX-License-Identifier: Apache-2.0

#include "cli/schema_import.h"

#include <zlib.h>

#include <cstdio>
#include <fstream>

#include "api/catalog/import.h"
#include "base/file.h"
#include "base/strings.h"
#include "cli/live_schema.h"
#include "flags/setters.h"
#include "json/reader.h"
#include "kubeconfig/client_config.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"(Makes a catalog of kinds from what an API server answers: files, or a running server.

Usage:
  portcullis schema import --discovery=FILE --openapi-v2=FILE [--openapi-v3=FILE]
      [--table-columns=FILE] [--additions=FILE]... [--go-facts=FILE] --output=FILE
  portcullis schema import --kubeconfig=FILE [--context=NAME] [--go-facts=FILE] --output=FILE
  portcullis schema import --server=URL [--go-facts=FILE] --output=FILE

Files may be compressed with gzip. docs/internals/catalog.md describes them and the result.
)";

struct Options {
  std::string discovery, openapi_v2, openapi_v3, table_columns, go_facts, output;
  std::vector<std::string> additions;
  std::string kubeconfig, context, server, certificate_authority, client_certificate, client_key;
  std::string token;
  bool insecure = false;
};

template <auto Member>
constexpr flags::Flag<Options> Text(std::string_view name, std::string_view meaning,
                                    std::string_view value = "FILE") {
  return {.name = name,
          .type = flags::Type::kString,
          .default_text = "",
          .meaning = meaning,
          .set = &flags::SetText<Member>,
          .note = "",
          .value_name = value};
}

constexpr flags::Flag<Options> kFlags[] = {
    {.name = "additions",
     .type = flags::Type::kList,
     .default_text = "",
     .meaning = "Kinds and fields that the server does not tell of",
     .set = &flags::AddToList<&Options::additions>,
     .note = "",
     .value_name = "FILE"},
    Text<&Options::certificate_authority>("certificate-authority",
                                          "CA bundle used to verify --server"),
    Text<&Options::client_certificate>("client-certificate", "Client certificate for --server"),
    Text<&Options::client_key>("client-key", "Key of --client-certificate"),
    Text<&Options::context>("context", "Context of --kubeconfig; default: its current one", "NAME"),
    Text<&Options::discovery>("discovery", "Discovery documents"),
    Text<&Options::go_facts>("go-facts", "What no server tells: Go's types and texts"),
    {.name = "insecure-skip-tls-verify",
     .type = flags::Type::kBool,
     .default_text = "false",
     .meaning = "Do not verify the certificate of --server",
     .set = &flags::SetBool<&Options::insecure>},
    Text<&Options::kubeconfig>("kubeconfig", "Kubeconfig of a running server"),
    Text<&Options::openapi_v2>("openapi-v2", "OpenAPI v2 document"),
    Text<&Options::openapi_v3>("openapi-v3", "OpenAPI v3 documents"),
    Text<&Options::output>("output", "The catalog that is made"),
    Text<&Options::server>("server", "Running server, https://host:port", "URL"),
    Text<&Options::table_columns>("table-columns", "Columns of tables"),
    Text<&Options::token>("token", "Bearer token for --server", "TEXT"),
};

std::vector<flags::Info> Flags() { return flags::InfosOf<Options>(kFlags); }

base::Result<std::string> ReadMaybeCompressed(const std::string& path) {
  std::string text = TRY(base::ReadFile(path));
  if (text.size() < 2 || text[0] != '\x1f' || text[1] != '\x8b') return text;
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return base::ConfigError("cannot inflate " + path);
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  std::string out;
  char buffer[65536];
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof(buffer);
    result = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer, sizeof(buffer) - stream.avail_out);
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END) return base::ConfigError(path + ": not a whole gzip file");
  return out;
}

// The context of --kubeconfig, or what the flags say one by one.
base::Result<kubeconfig::ClientConfig> ServerOf(const Options& options) {
  if (!options.kubeconfig.empty()) {
    return kubeconfig::Resolve(TRY(kubeconfig::Load(options.kubeconfig)), options.context);
  }
  kubeconfig::Config config;
  config.contexts["flags"] = {"server", "user", ""};
  config.current_context = "flags";
  kubeconfig::Cluster& cluster = config.clusters["server"];
  cluster.server = options.server;
  cluster.certificate_authority = options.certificate_authority;
  cluster.insecure_skip_tls_verify = options.insecure;
  kubeconfig::User& user = config.users["user"];
  user.client_certificate = options.client_certificate;
  user.client_key = options.client_key;
  user.token = options.token;
  return kubeconfig::Resolve(config);
}

base::Status Import(const Options& options) {
  json::Arena arena;
  const auto document = [&](const std::string& path) -> base::Result<json::Value> {
    if (path.empty()) return json::Value();
    const std::string text = TRY(ReadMaybeCompressed(path));
    auto value = json::Parse(arena, text);
    if (!value.ok()) return value.status().Annotate(path);
    return *value;
  };
  api::catalog::ImportInput input;
  if (options.discovery.empty()) {
    TRY(FetchSchema(TRY(ServerOf(options)), arena, input));
  } else {
    input.discovery = TRY(document(options.discovery));
    input.openapi_v2 = TRY(document(options.openapi_v2));
    input.openapi_v3 = TRY(document(options.openapi_v3));
    input.table_columns = TRY(document(options.table_columns));
  }
  for (const std::string& path : options.additions) {
    input.additions.push_back(TRY(document(path)));
  }
  std::string facts;
  if (!options.go_facts.empty()) facts = TRY(ReadMaybeCompressed(options.go_facts));
  input.go_facts = facts;
  const std::string catalog = TRY(api::catalog::Import(input));
  const std::string& path = options.output;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(catalog.data(), static_cast<std::streamsize>(catalog.size()));
  out.close();
  if (!out) return base::ConfigError(base::StrCat("cannot write ", path));
  return base::OkStatus();
}

int Run(const std::vector<std::string>& arguments) {
  Options options;
  const auto line = flags::Parse<Options>(kFlags, arguments, {"portcullis schema import"}, options);
  if (!line.ok()) return UsageError(kSchemaImport.name, line.status().message());
  if (line->help) return PrintHelp(kSchemaImport);
  const int sources = static_cast<int>(!options.discovery.empty()) +
                      static_cast<int>(!options.server.empty()) +
                      static_cast<int>(!options.kubeconfig.empty());
  if (sources != 1 || options.output.empty()) {
    return UsageError(kSchemaImport.name,
                      "--output and one of --discovery, --kubeconfig and --server are required");
  }
  const base::Status status = Import(options);
  if (status.ok()) return kExitOk;
  std::fprintf(stderr, "Error: %s\n", status.message().c_str());
  return kExitUsage;
}

}  // namespace

const Command kSchemaImport = {"schema import", "make a catalog of what an API server publishes",
                               &Run, &Flags, kUsage};

}  // namespace portcullis::cli
