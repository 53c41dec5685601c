// SPDX-License-Identifier: Apache-2.0

#include "cli/store_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "cli/store_backup.h"
#include "cli/store_etcd.h"
#include "cli/store_options.h"
#include "json/reader.h"
#include "json/writer.h"
#include "server/data_folder.h"
#include "store/embedded/maintenance.h"
#include "store/exchange/object_lines.h"
#include "store/storage_key.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kExitCodes = R"help(
Exit status: 0 done, 1 something is damaged or not there, 2 flags or files are wrong, 3 a mistake of ours.
)help";

void Print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void PrintJson(json::Value value) { Print(json::ToString(value) + "\n"); }

// ---------------------------------------------------------------------------------------- check

constexpr std::string_view kCheckUsage =
    R"help(Looks at everything in a database, and changes nothing: its pages, the checksum of every row, and that every object
is JSON of its own name and revision. Names what is damaged.

Usage:
  portcullis store check [flags]
  portcullis store check FILE [flags]     a backup instead of the data directory

Examples:
  portcullis store check
  portcullis store check --encryption-provider-config encryption.yaml -o json
  portcullis store check backup.db
)help";

constexpr std::string_view kCheckFlags[] = {"data-dir", "encryption-provider-config", "output"};

constexpr std::string_view kGiveKey = "; give keys by --encryption-provider-config";

std::string ReportText(const std::string& path, const store::DatabaseReport& report) {
  std::string text;
  for (const std::string& what : report.damaged) text += base::StrCat("damaged: ", what, "\n");
  for (const std::string& what : report.unreadable) {
    text += base::StrCat("cannot be decrypted: ", what, "\n");
  }
  text += base::StrCat(path, ": ", std::to_string(report.objects), " objects in order, ",
                       std::to_string(report.encrypted), " encrypted, revision ",
                       std::to_string(report.revision), ", format ", std::to_string(report.format));
  if (report.set_aside > 0) {
    text += base::StrCat(", ", std::to_string(report.set_aside), " set aside earlier as damaged");
  }
  text += base::StrCat("; ", std::to_string(report.damaged.size()), " damaged, ",
                       std::to_string(report.unreadable.size()), " without a key",
                       report.unreadable.empty() ? "" : kGiveKey, "\n");
  return text;
}

json::Value ListOf(json::Arena& arena, const std::vector<std::string>& texts) {
  json::ArrayBuilder list(arena);
  for (const std::string& text : texts) list.Add(text);
  return list.Build();
}

void PrintReportJson(const std::string& path, const store::DatabaseReport& report) {
  json::Arena arena;
  json::ObjectBuilder out(arena);
  out.Set("database", path)
      .Set("format", report.format)
      .Set("revision", report.revision)
      .Set("objects", static_cast<std::int64_t>(report.objects))
      .Set("encrypted", static_cast<std::int64_t>(report.encrypted))
      .Set("setAside", static_cast<std::int64_t>(report.set_aside))
      .Set("damaged", ListOf(arena, report.damaged))
      .Set("unreadable", ListOf(arena, report.unreadable));
  PrintJson(out.Build());
}

base::Result<int> Check(const StoreOptions& options) {
  const auto transformer = TRY(TransformerOf(options));
  const std::string path =
      options.arguments.empty() ? options.database() : options.arguments.front();
  const store::DatabaseReport report = TRY(store::CheckDatabase(path, transformer.get()));
  if (options.form == "json") {
    PrintReportJson(path, report);
  } else {
    Print(ReportText(path, report));
  }
  return report.damaged.empty() && report.unreadable.empty() ? kExitOk : kExitRefused;
}

// ---------------------------------------------------------------------------------------- backup

constexpr std::string_view kBackupUsage =
    R"help(Makes a copy of the database, as it is at one moment, in FILE. A server may go on working meanwhile: if one uses the
data directory, or if --kubeconfig names one, the copy comes from it. Values that are encrypted stay encrypted in the
copy; it can be checked with `portcullis store check FILE` and put in place with `portcullis store restore FILE`.

Usage:
  portcullis store backup FILE [flags]

Examples:
  portcullis store backup backup.db
  portcullis store backup backup.db --kubeconfig admin.kubeconfig
  portcullis store backup latest.db --replace
)help";

constexpr std::string_view kBackupFlags[] = {"data-dir", "kubeconfig", "output", "replace"};

base::Result<int> Backup(const StoreOptions& options) {
  const std::string& file = options.arguments.front();
  const BackupResult result = TRY(MakeBackup(options, file));
  if (options.form == "json") {
    json::Arena arena;
    PrintJson(json::ObjectBuilder(arena)
                  .Set("file", file)
                  .Set("revision", result.report.revision)
                  .Set("objects", static_cast<std::int64_t>(result.report.objects +
                                                            result.report.unreadable.size()))
                  .Set("bytes", static_cast<std::int64_t>(FileSize(file)))
                  .Set("fromServer", result.from_server)
                  .Build());
    return kExitOk;
  }
  Print(base::StrCat(
      file, ": ", std::to_string(result.report.objects + result.report.unreadable.size()),
      " objects of revision ", std::to_string(result.report.revision), ", ",
      SizeText(FileSize(file)), result.from_server ? ", from the running server\n" : "\n"));
  return kExitOk;
}

// --------------------------------------------------------------------------------------- restore

constexpr std::string_view kRestoreUsage =
    R"help(Puts a backup in place of the database of a data directory, whole or not at all. Objects have the revisions that they
had. Refuses a damaged backup, a directory that a server uses, and, without --replace, one that has a database.

Usage:
  portcullis store restore FILE [flags]

Examples:
  portcullis store restore backup.db --data-dir new-data
  portcullis store restore backup.db --replace
)help";

constexpr std::string_view kRestoreFlags[] = {"data-dir", "replace"};

base::Result<int> Restore(const StoreOptions& options) {
  const std::string& file = options.arguments.front();
  const store::DatabaseReport report = TRY(store::CheckDatabase(file, nullptr));
  if (!report.damaged.empty()) {
    Print(ReportText(file, report));
    return kExitRefused;
  }
  const auto lock = TRY(server::DataFolder::Open(options.data_dir));
  TRY(CheckNew(options.database(), options.replace));
  TRY(store::CopyDatabaseFile(file, options.database(), options.replace));
  Print(base::StrCat(options.database(), ": ",
                     std::to_string(report.objects + report.unreadable.size()),
                     " objects of revision ", std::to_string(report.revision), "\n"));
  return kExitOk;
}

// --------------------------------------------------------------------------------------- compact

constexpr std::string_view kCompactUsage =
    R"help(Writes the database anew, without the room that deleted objects have left, and empties its log. What has been deleted
or replaced, plain values from before encryption included, is no longer in the files then. No server may use the directory.

Usage:
  portcullis store compact [flags]
)help";

constexpr std::string_view kCompactFlags[] = {"data-dir", "output"};

base::Result<int> Compact(const StoreOptions& options) {
  const std::string path = options.database();
  const std::uintmax_t before = FileSize(path) + FileSize(path + "-wal");
  TRY(store::CompactDatabase(path));
  const std::uintmax_t after = FileSize(path) + FileSize(path + "-wal");
  if (options.form == "json") {
    json::Arena arena;
    PrintJson(json::ObjectBuilder(arena)
                  .Set("database", path)
                  .Set("bytesBefore", static_cast<std::int64_t>(before))
                  .Set("bytes", static_cast<std::int64_t>(after))
                  .Build());
  } else {
    Print(base::StrCat(path, ": ", SizeText(after), ", before ", SizeText(before), "\n"));
  }
  return kExitOk;
}

// ---------------------------------------------------------------------------------------- export

constexpr std::string_view kExportUsage =
    R"help(Writes every object of a database, or of an etcd, to a file, one JSON line each, or to standard output (-). Nothing is
lost: revisions, uids, managedFields. Values are decrypted: the file can be read by its owner alone, keep it so.

Usage:
  portcullis store export FILE [flags]

Examples:
  portcullis store export objects.jsonl
  portcullis store export - | jq -r .key
  portcullis store export objects.jsonl --encryption-provider-config encryption.yaml
  portcullis store export objects.jsonl --etcd-servers http://127.0.0.1:2379
)help";

constexpr std::string_view kExportFlags[] = {"data-dir", "encryption-provider-config", "etcd-",
                                             "replace", "skip-unreadable"};

// All objects of the database or of etcd.
base::Result<store::Content> ReadStore(const StoreOptions& options) {
  const auto transformer = TRY(TransformerOf(options));
  if (!options.etcd_servers.empty()) return ReadEtcd(options, transformer);
  return store::ReadDatabase(options.database(), transformer.get());
}

std::string WhyUnreadable(const store::UnreadableObject& object) {
  const bool is_read = object.failed == "decode";
  return base::StrCat(store::StorageKey(object.key()), " cannot be ",
                      is_read ? "read: " : "decrypted: ", object.error, is_read ? "" : kGiveKey);
}

base::Status CheckReadable(const store::Content& content, bool skip) {
  for (const store::UnreadableObject& object : content.unreadable) {
    const std::string text = WhyUnreadable(object);
    if (!skip) return base::ConfigError(base::StrCat(text, ", or --skip-unreadable"));
    std::fprintf(stderr, "left out: %s\n", text.c_str());
  }
  return base::OkStatus();
}

base::Status WriteLines(const store::Content& content, std::FILE* out, const std::string& name) {
  std::string line = store::HeadLine(content.revision, content.objects.size());
  bool good = std::fwrite(line.data(), 1, line.size(), out) == line.size();
  for (const store::ObjectPtr& object : content.objects) {
    line = store::ObjectLine(*object);
    good = good && std::fwrite(line.data(), 1, line.size(), out) == line.size();
  }
  good = std::fflush(out) == 0 && good;
  return good ? base::OkStatus()
              : base::ConfigError(base::StrCat("cannot write ", name,
                                               ": the disk is full, or it "
                                               "was closed"));
}

base::Result<int> Export(const StoreOptions& options) {
  const std::string& file = options.arguments.front();
  if (file != "-") TRY(CheckNew(file, options.replace));
  const store::Content content = TRY(ReadStore(options));
  TRY(CheckReadable(content, options.skip_unreadable));
  if (file == "-") {
    TRY(WriteLines(content, stdout, "standard output"));
    return kExitOk;
  }
  TRY(WriteNewFile(file, options.replace,
                   [&](std::FILE* out) { return WriteLines(content, out, file); }));
  Print(base::StrCat(file, ": ", std::to_string(content.objects.size()), " objects of revision ",
                     std::to_string(content.revision), "\n"));
  return kExitOk;
}

// ---------------------------------------------------------------------------------------- import

constexpr std::string_view kImportUsage =
    R"help(Makes the database of a data directory of a file that `portcullis store export` has written, whole or not at all; or
fills an etcd, which must be new. Objects keep their revisions and uids. With --encryption-provider-config they are encrypted as
it says.

Usage:
  portcullis store import FILE [flags]

Examples:
  portcullis store import objects.jsonl --data-dir new-data
  portcullis store import objects.jsonl --etcd-servers http://127.0.0.1:2379
)help";

constexpr std::string_view kImportFlags[] = {"data-dir", "encryption-provider-config", "etcd-",
                                             "replace"};

base::Result<store::Content> ReadLines(std::istream& in, const std::string& name) {
  store::ObjectLinesReader reader;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const base::Status added = reader.Add(line);
    if (!added.ok()) {
      return base::ConfigError(
          base::StrCat(name, ":", std::to_string(number), ": ", added.message()));
    }
  }
  if (in.bad()) return base::ConfigError(base::StrCat("cannot read ", name));
  auto content = reader.Finish();
  if (!content.ok()) return content.status().Annotate(name);
  return content;
}

base::Result<store::Content> ReadFile(const std::string& file) {
  if (file == "-") return ReadLines(std::cin, "standard input");
  std::ifstream in(file, std::ios::binary);
  if (!in) return base::ConfigError(base::StrCat("open ", file, ": ", base::ErrnoText(errno)));
  return ReadLines(in, file);
}

base::Result<int> Import(const StoreOptions& options) {
  const auto transformer = TRY(TransformerOf(options));
  store::Content content;
  if (options.etcd_servers.empty()) {
    const auto lock = TRY(server::DataFolder::Open(options.data_dir));
    TRY(CheckNew(options.database(), options.replace));
    content = TRY(ReadFile(options.arguments.front()));
    TRY(store::WriteDatabase(options.database(), content, transformer.get(), options.replace));
  } else {
    content = TRY(ReadFile(options.arguments.front()));
    TRY(WriteEtcd(options, content, transformer.get()));
  }
  Print(base::StrCat(options.place(), ": ", std::to_string(content.objects.size()),
                     " objects of revision ", std::to_string(content.revision), "\n"));
  return kExitOk;
}

// ------------------------------------------------------------------------------------------- get

constexpr std::string_view kGetUsage =
    R"help(Shows one object as it is stored. KEY is kube-apiserver's key in etcd, with or without /registry/ in front.

Usage:
  portcullis store get KEY [flags]

Examples:
  portcullis store get secrets/default/a --encryption-provider-config encryption.yaml
  portcullis store get /registry/namespaces/default -o json
  portcullis store get namespaces/default --etcd-servers http://127.0.0.1:2379
)help";

constexpr std::string_view kGetFlags[] = {"data-dir", "encryption-provider-config", "etcd-",
                                          "output"};

base::Result<int> Get(const StoreOptions& options) {
  std::string text = options.arguments.front();
  if (!text.starts_with('/')) text = base::StrCat(store::kStoragePrefix, "/", text);
  const store::Content content = TRY(ReadStore(options));
  for (const store::UnreadableObject& object : content.unreadable) {
    if (store::StorageKey(object.key()) == text) return base::ConfigError(WhyUnreadable(object));
  }
  for (const store::ObjectPtr& object : content.objects) {
    if (store::StorageKey({object->group(), object->resource(), object->ns(), object->name()}) !=
        text) {
      continue;
    }
    json::Arena arena;
    const json::Value value = TRY(json::Parse(arena, object->bytes(), {.borrow_text = true}));
    json::WriteOptions form;
    if (options.form == "text") form.indent = 2;
    Print(json::ToString(value, form) + "\n");
    return kExitOk;
  }
  std::fprintf(stderr, "Error: %s is not there\n", text.c_str());
  return kExitRefused;
}

// `FILE` may be left out.
int RunCheck(const std::vector<std::string>& words) {
  return RunStoreCommand(kStoreCheck, kCheckFlags, {"FILE", true}, words, &Check);
}
int RunBackup(const std::vector<std::string>& words) {
  return RunStoreCommand(kStoreBackup, kBackupFlags, {"FILE"}, words, &Backup);
}
int RunRestore(const std::vector<std::string>& words) {
  return RunStoreCommand(kStoreRestore, kRestoreFlags, {"FILE"}, words, &Restore);
}
int RunCompact(const std::vector<std::string>& words) {
  return RunStoreCommand(kStoreCompact, kCompactFlags, {}, words, &Compact);
}
int RunExport(const std::vector<std::string>& words) {
  return RunStoreCommand(kStoreExport, kExportFlags, {"FILE"}, words, &Export);
}
int RunImport(const std::vector<std::string>& words) {
  return RunStoreCommand(kStoreImport, kImportFlags, {"FILE"}, words, &Import);
}
int RunGet(const std::vector<std::string>& words) {
  return RunStoreCommand(kStoreGet, kGetFlags, {"KEY"}, words, &Get);
}

template <const auto& Names>
std::vector<flags::Info> InfosOfNames() {
  return flags::InfosOf<StoreOptions>(StoreFlags(Names));
}

}  // namespace

const Command kStoreBackup = {"store backup", "copy the database, of a running server, too",
                              &RunBackup,     &InfosOfNames<kBackupFlags>,
                              kBackupUsage,   kExitCodes};
const Command kStoreCheck = {"store check", "look for damage in a database",
                             &RunCheck,     &InfosOfNames<kCheckFlags>,
                             kCheckUsage,   kExitCodes};
const Command kStoreCompact = {"store compact", "shrink a database",
                               &RunCompact,     &InfosOfNames<kCompactFlags>,
                               kCompactUsage,   kExitCodes};
const Command kStoreExport = {"store export", "write a database as lines of JSON",
                              &RunExport,     &InfosOfNames<kExportFlags>,
                              kExportUsage,   kExitCodes};
const Command kStoreGet = {"store get", "show one stored object",
                           &RunGet,     &InfosOfNames<kGetFlags>,
                           kGetUsage,   kExitCodes};
const Command kStoreImport = {"store import", "make a database of lines of JSON",
                              &RunImport,     &InfosOfNames<kImportFlags>,
                              kImportUsage,   kExitCodes};
const Command kStoreRestore = {"store restore", "put a backup in place",
                               &RunRestore,     &InfosOfNames<kRestoreFlags>,
                               kRestoreUsage,   kExitCodes};

}  // namespace portcullis::cli
