// SPDX-License-Identifier: Apache-2.0

// Inputs: the Kubernetes objects in files, folders and on standard input, found by what documents
// say and not by the names of files. YAML, JSON, several documents in a file, Lists.
//
// What cannot be read is a problem with its place, and does not keep the rest from being read.
// Values and texts are owned by the manifests; confined to one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "json/yaml_place.h"

namespace portcullis::offline {

// A place in a file; line and column from 1, 0: unknown.
struct Location {
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;

  std::string ToString() const;  // file:line:column
};

// One document of a file, and where its fields stand.
class SourceText {
 public:
  // `file` is shared by the documents of it; `text` is a part of `*file` that begins in `line`.
  SourceText(std::string path, std::shared_ptr<const std::string> file, std::string_view text,
             std::size_t line)
      : path_(std::move(path)), file_(std::move(file)), text_(text), line_(line) {}

  const std::string& path() const { return path_; }
  std::string_view text() const { return text_; }
  const std::string& file() const { return *file_; }  // `text()` is a part of it
  std::size_t line() const { return line_; }
  // The place of the longest part of the path that exists, `steps` of it.
  Location Find(std::span<const std::string> path, std::size_t* steps = nullptr) const;

 private:
  std::string path_;
  std::shared_ptr<const std::string> file_;
  std::string_view text_;
  std::size_t line_;
  mutable std::optional<json::YamlPlaces> places_;  // made when first asked for
};

// An object as a file has it.
struct Manifest {
  std::shared_ptr<const SourceText> source;
  std::vector<std::string> steps;  // to the object in its document: {} or {"items", "3"}
  std::shared_ptr<json::Arena> arena;
  json::Value object;
  std::string api_version;
  std::string kind;
  std::string ns;    // as given; may be ""
  std::string name;  // likewise

  // The place of a field, or of the nearest field above it.
  Location Find(std::span<const std::string> path, std::size_t* steps = nullptr) const;
  std::string_view group() const;  // "apps" of "apps/v1"
};

struct Problem {
  Location place;
  std::string message;
};

struct InputOptions {
  std::vector<std::string> paths;      // folders with all that is below them; "-": standard input
  std::vector<std::string> filenames;  // -f: folders without the folders in them
  bool recursive = false;              // -R: with them
  std::vector<std::string> old;        // --old: what is stored before, with all folders below
};

struct Inputs {
  std::vector<Manifest> manifests;  // in the order of paths, then of names in a folder
  std::size_t own = 0;              // how many of them are of `paths`; they come first
  // Documents of test files (suites/suite_format.h). Those of no Kubernetes kind have no name.
  std::vector<Manifest> tests;
  std::vector<Manifest> given;  // what the cluster has already, past admission
  std::vector<Problem> problems;
  std::vector<std::string> admission_configurations;  // files with an AdmissionConfiguration
  std::size_t files = 0;                              // that were read
  std::size_t ignored = 0;  // documents that are no objects of the Kubernetes API
};

Inputs ReadInputs(const InputOptions& options);

// The manifests in the order in which a cluster gets their objects: definitions before objects of their kinds,
// namespaces before what is in them.
std::vector<const Manifest*> InOrderOfCreation(const Inputs& inputs);

// A manifest of an object that a program has made; its place is that of `origin`.
Manifest MakeManifest(const Manifest& origin, std::shared_ptr<json::Arena> arena,
                      json::Value object);

// Appends the objects of a text; `named`: one without any object is a problem.
void ReadText(const std::string& path, std::string text, bool named, Inputs& inputs);

}  // namespace portcullis::offline
