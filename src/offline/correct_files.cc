// SPDX-License-Identifier: Apache-2.0

#include "offline/correct_files.h"

#include <map>
#include <utility>

#include "base/strings.h"
#include "json/writer.h"
#include "json/yaml_edit.h"

namespace portcullis::offline {
namespace {

// One line for each member that differs: "  - code: 403", "  + code: 201".
void AddLines(const std::string& path, json::Value was, json::Value now, bool was_there,
              bool is_there, std::vector<std::string>& lines) {
  if (was_there && is_there && was == now) return;
  if (was.is_object() && now.is_object()) {
    for (const json::Member& member : was.members()) {
      AddLines(base::StrCat(path, ".", member.name()), member.value, now[member.name()], true,
               now.Has(member.name()), lines);
    }
    for (const json::Member& member : now.members()) {
      if (was.Has(member.name())) continue;
      AddLines(base::StrCat(path, ".", member.name()), {}, member.value, false, true, lines);
    }
    return;
  }
  const auto text = [&](json::Value value) {
    return base::StrCat(path, ": ", json::ToString(value, {.escape_html = false}));
  };
  if (was_there) lines.push_back(base::StrCat("  - ", text(was)));
  if (is_there) lines.push_back(base::StrCat("  + ", text(now)));
}

// The corrections that can be made in the document, and the others as problems.
std::vector<const Correction*> Possible(std::string_view text,
                                        const std::vector<const Correction*>& corrections,
                                        std::vector<Problem>& problems) {
  std::vector<const Correction*> possible;
  for (const Correction* one : corrections) {
    const std::vector<json::YamlChange> alone = {{one->steps, one->now}};
    const auto edited = json::EditYaml(text, alone);
    if (edited.ok()) {
      possible.push_back(one);
    } else {
      problems.push_back({one->place, edited.status().message()});
    }
  }
  return possible;
}

base::Result<std::string> EditAll(std::string_view text,
                                  const std::vector<const Correction*>& corrections) {
  std::vector<json::YamlChange> changes;
  changes.reserve(corrections.size());
  for (const Correction* one : corrections) changes.push_back({one->steps, one->now});
  return json::EditYaml(text, changes);
}

std::string CorrectDocument(std::string_view text, std::vector<const Correction*> corrections,
                            std::vector<std::string>& lines, std::vector<Problem>& problems) {
  auto edited = EditAll(text, corrections);
  if (!edited.ok()) {
    corrections = Possible(text, corrections, problems);
    edited = EditAll(text, corrections);
    if (!edited.ok()) return std::string(text);
  }
  for (const Correction* one : corrections) {
    lines.push_back(base::StrCat(one->place.ToString(), ": ", one->name));
    AddLines(one->what, one->was, one->now, true, true, lines);
  }
  return *std::move(edited);
}

}  // namespace

std::vector<CorrectedFile> CorrectFiles(std::span<const Correction> corrections,
                                        std::vector<Problem>& problems) {
  // By file, then by document in its order: `text()` points into the file.
  std::vector<CorrectedFile> files;
  std::map<std::string, std::map<const char*, std::vector<const Correction*>>> documents;
  for (const Correction& one : corrections) {
    const std::string& path = one.source->path();
    if (!documents.contains(path)) files.push_back({path, "", {}});
    documents[path][one.source->text().data()].push_back(&one);
  }
  for (CorrectedFile& file : files) {
    const std::string* whole = nullptr;
    std::size_t at = 0;
    for (const auto& [begin, of_document] : documents[file.path]) {
      const SourceText& source = *of_document.front()->source;
      whole = &source.file();
      const auto offset = static_cast<std::size_t>(begin - whole->data());
      file.text += whole->substr(at, offset - at);
      file.text += CorrectDocument(source.text(), of_document, file.lines, problems);
      at = offset + source.text().size();
    }
    file.text += whole->substr(at);
  }
  std::erase_if(files, [](const CorrectedFile& file) { return file.lines.empty(); });
  return files;
}

}  // namespace portcullis::offline
