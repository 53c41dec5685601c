// SPDX-License-Identifier: Apache-2.0

// The content of a store as text: one JSON object a line, for `portcullis store export` and
// `import`. The format is in docs/internals/store.md:
//
//   {"kind":"StoredObjects","version":1,"revision":812,"objects":2}
//   {"key":"/registry/configmaps/default/a","revision":5,"object":{…}}
//   …
//
// Objects stand in it byte for byte, so nothing is lost on the way through: uids, managedFields and
// the order of members; each keeps its revision. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "store/cache/cache.h"

namespace portcullis::store {

// The first line; each line ends with a newline.
std::string HeadLine(std::int64_t revision, std::size_t objects);
std::string ObjectLine(const Object& object);

// Reads lines, one after the other. Confined to one thread.
class ObjectLinesReader {
 public:
  // Errors say what is wrong and what is expected; the caller knows the line.
  base::Status Add(std::string_view line);
  // What has been read, once no more lines come. Error: there are fewer objects than the first line
  // says.
  base::Result<Content> Finish();

 private:
  base::Status ReadHead(std::string_view line);
  base::Status ReadObject(std::string_view line);

  bool has_head_ = false;
  std::int64_t expected_ = 0;
  Content content_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const CollectionName>> names_;
  std::set<std::string, std::less<>> keys_;
  std::set<std::int64_t> revisions_;
};

}  // namespace portcullis::store
