#include "cli/schema_import.h"

#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <map>

#include "api/catalog/import.h"
#include "base/file.h"
#include "base/strings.h"
#include "cli/live_schema.h"
#include "json/reader.h"
#include "kubeconfig/client_config.h"
#include "net/certificates.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    "Makes a catalog of kinds from what an API server answers: files, or a running server.\n"
    "\n"
    "Usage:\n"
    "  portcullis schema import --discovery=FILE --openapi-v2=FILE [--openapi-v3=FILE]\n"
    "      [--table-columns=FILE] [--additions=FILE] [--go-facts=FILE]\n"
    "      --output=FILE\n"
    "  portcullis schema import --kubeconfig=FILE [--context=NAME] [--go-facts=FILE] "
    "--output=FILE\n"
    "  portcullis schema import --server=URL [--certificate-authority=FILE]\n"
    "      [--client-certificate=FILE --client-key=FILE] [--token=TEXT]\n"
    "      [--insecure-skip-tls-verify=true] [--go-facts=FILE] --output=FILE\n"
    "\n"
    "Files may be compressed with gzip. docs/internals/catalog.md describes them and the result.\n";

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
base::Result<kubeconfig::ClientConfig> ServerOf(const std::map<std::string, std::string>& flags) {
  const auto value = [&](const char* flag) {
    const auto found = flags.find(flag);
    return found == flags.end() ? std::string() : found->second;
  };
  if (flags.contains("kubeconfig")) {
    return kubeconfig::Resolve(TRY(kubeconfig::Load(value("kubeconfig"))), value("context"));
  }
  kubeconfig::Config config;
  config.contexts["flags"] = {"server", "user", ""};
  config.current_context = "flags";
  kubeconfig::Cluster& cluster = config.clusters["server"];
  cluster.server = value("server");
  cluster.certificate_authority = value("certificate-authority");
  cluster.insecure_skip_tls_verify = value("insecure-skip-tls-verify") == "true";
  kubeconfig::User& user = config.users["user"];
  user.client_certificate = value("client-certificate");
  user.client_key = value("client-key");
  user.token = value("token");
  return kubeconfig::Resolve(config);
}

base::Status Import(const std::map<std::string, std::string>& flags) {
  json::Arena arena;
  const auto document = [&](const char* flag) -> base::Result<json::Value> {
    const auto found = flags.find(flag);
    if (found == flags.end()) return json::Value();
    const std::string text = TRY(ReadMaybeCompressed(found->second));
    auto value = json::Parse(arena, text);
    if (!value.ok()) return value.status().Annotate(found->second);
    return *value;
  };
  api::catalog::ImportInput input;
  if (flags.contains("server") || flags.contains("kubeconfig")) {
    TRY(FetchSchema(TRY(ServerOf(flags)), arena, input));
  } else {
    input.discovery = TRY(document("discovery"));
    input.openapi_v2 = TRY(document("openapi-v2"));
    input.openapi_v3 = TRY(document("openapi-v3"));
    input.table_columns = TRY(document("table-columns"));
  }
  input.additions = TRY(document("additions"));
  std::string facts;
  if (const auto found = flags.find("go-facts"); found != flags.end()) {
    facts = TRY(ReadMaybeCompressed(found->second));
  }
  input.go_facts = facts;
  const std::string catalog = TRY(api::catalog::Import(input));
  const std::string& path = flags.find("output")->second;  // a required flag
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(catalog.data(), static_cast<std::streamsize>(catalog.size()));
  out.close();
  if (!out) return base::ConfigError(base::StrCat("cannot write ", path));
  return base::OkStatus();
}

int Run(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> flags;
  constexpr std::string_view kNames[] = {"discovery",
                                         "openapi-v2",
                                         "openapi-v3",
                                         "table-columns",
                                         "additions",
                                         "go-facts",
                                         "output",
                                         "kubeconfig",
                                         "context",
                                         "server",
                                         "certificate-authority",
                                         "client-certificate",
                                         "client-key",
                                         "token",
                                         "insecure-skip-tls-verify"};
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      std::fputs(std::string(kUsage).c_str(), stdout);
      return kExitOk;
    }
    const auto cut = base::Cut(argument, "=");
    bool known = false;
    for (std::string_view name : kNames)
      known = known || argument.starts_with(base::StrCat("--", name, "="));
    if (!cut || !known) {
      std::fprintf(stderr, "Error: unknown argument %s\n\n%s", argument.c_str(),
                   std::string(kUsage).c_str());
      return kExitUsage;
    }
    flags[std::string(cut->first.substr(2))] = std::string(cut->second);
  }
  const int sources =
      flags.contains("discovery") + flags.contains("server") + flags.contains("kubeconfig");
  if (sources != 1 || !flags.contains("output")) {
    std::fprintf(
        stderr,
        "Error: --output and one of --discovery, --kubeconfig and --server are required\n\n%s",
        std::string(kUsage).c_str());
    return kExitUsage;
  }
  const base::Status status = Import(flags);
  if (status.ok()) return kExitOk;
  std::fprintf(stderr, "Error: %s\n", status.message().c_str());
  return kExitUsage;
}

}  // namespace

const Command kSchemaImport = {"schema import", "make a catalog of what an API server publishes",
                               &Run};

}  // namespace portcullis::cli
