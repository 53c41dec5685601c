// SPDX-License-Identifier: Apache-2.0

#include "audit/recording.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::audit {
namespace {

constexpr std::string_view kVerbs[] = {"create", "update", "patch", "delete", "deletecollection"};

// Members whose names are data of the user.
bool HasFreeNames(std::string_view name) {
  return name == "data" || name == "binaryData" || name == "stringData";
}

void AddFields(json::Value value, const std::string& path, std::set<std::string>& fields) {
  if (value.is_object()) {
    const bool free = HasFreeNames(path);
    for (const json::Member& member : value.members()) {
      AddFields(member.value, base::StrCat(path, ".", free ? "*" : member.name()), fields);
    }
  } else if (value.is_array()) {
    for (const json::Value& element : value.elements()) {
      AddFields(element, path + "[]", fields);
    }
  }
  if (value.empty()) {
    fields.insert(base::StrCat(path, " ", std::to_string(static_cast<int>(value.type()))));
  }
}

// A write that has been answered, with what it takes to carry it out.
bool CanBeReplayed(json::Value event) {
  const std::string_view verb = event["verb"].AsString();
  if (std::find(std::begin(kVerbs), std::end(kVerbs), verb) == std::end(kVerbs)) return false;
  if (event["stage"].AsString("ResponseComplete") != "ResponseComplete") return false;
  return !event["requestObject"].is_null() || verb.starts_with("delete");
}

}  // namespace

std::uint64_t ShapeOf(json::Value event) {
  const json::Value reference = event["objectRef"];
  std::set<std::string> fields;
  const json::Value object = event["requestObject"];
  for (const json::Member& member : object.members()) {
    AddFields(member.value, std::string(member.name()), fields);
  }
  if (object.is_array()) {
    for (const json::Value& operation : object.elements()) {
      fields.insert(base::StrCat(operation["op"].AsString(), " ", operation["path"].AsString()));
    }
  }
  for (const json::Value& group : event["user"]["groups"].elements()) {
    fields.insert(base::StrCat("group ", group.AsString()));
  }
  std::string text =
      base::StrCat(event["verb"].AsString(), " ", reference["apiGroup"].AsString(), "/",
                   reference["apiVersion"].AsString(), "/", reference["resource"].AsString(), "/",
                   reference["subresource"].AsString(), " ",
                   std::to_string(event["responseStatus"]["code"].AsInt()));
  for (const std::string& field : fields) text += base::StrCat("\n", field);
  return std::hash<std::string>()(text);
}

Recording::Recording(const RecordingOptions& options, Redaction redaction,
                     std::unique_ptr<Sink> file)
    : options_(options), redaction_(std::move(redaction)), file_(std::move(file)) {}

base::Result<std::unique_ptr<Recording>> Recording::Open(const RecordingOptions& options,
                                                         const base::Clock& clock) {
  Redaction redaction = TRY(Redaction::Create(options.redact));
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error)
    return base::ConfigError(base::StrCat("mkdir ", options.folder, ": ", error.message()));
  LogFileOptions file;
  file.path = (std::filesystem::path(options.folder) / "requests.json").string();
  file.max_size_mb = options.max_file_mb;
  file.max_backups = options.max_files > 0 ? std::max(options.max_files - 1, 1) : 0;
  auto sink = TRY(OpenLogFile(file, clock));
  return std::unique_ptr<Recording>(new Recording(options, std::move(redaction), std::move(sink)));
}

bool Recording::IsWanted(std::uint64_t shape) {
  const base::MutexLock lock(mutex_);
  std::size_t& known = shapes_[shape];
  if (options_.per_shape > 0 && known >= options_.per_shape) {
    ++counts_.alike;
    return false;
  }
  if (options_.sample > 1 && seen_++ % options_.sample != 0) {
    ++counts_.sampled;
    return false;
  }
  ++known;
  ++counts_.recorded;
  return true;
}

base::Status Recording::Write(std::string event) {
  json::Arena arena;
  const json::Value parsed = TRY(json::Parse(arena, event));
  if (!CanBeReplayed(parsed)) {
    const base::MutexLock lock(mutex_);
    ++counts_.others;
    return base::OkStatus();
  }
  if (!IsWanted(ShapeOf(parsed))) return base::OkStatus();
  return file_->Write(json::ToString(redaction_.Apply(arena, parsed), {.escape_html = false}));
}

void Recording::Flush() { file_->Flush(); }

Recording::Counts Recording::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

}  // namespace portcullis::audit
