// SPDX-License-Identifier: Apache-2.0

// ListText makes the text of a list object by object, so that what one object takes is at hand
// again for the next, and a large list is never whole in memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"
#include "server/call.h"
#include "store/object.h"

namespace portcullis::server::rest {

class ListText final : public TextSource {
 public:
  // Appends the JSON of one object, without line breaks; `arena` lasts as long as the call of it.
  using Item = std::function<base::Status(json::Arena& arena, const store::ObjectPtr& object,
                                          std::string& out)>;

  // `frame` is the list with an empty array for its `rows` or `items`, which these go into. The text
  // is what `accepted` asks for: JSON, indented or not, YAML, or CBOR, which may need the objects'
  // `schema` (engine/codec/cbor.h).
  ListText(json::Value frame, const Accepted& accepted, std::vector<store::ObjectPtr> objects,
           Item item, const api::schema::Schema* schema = nullptr);

  // Pieces of about 1 MB.
  base::Result<bool> Append(std::string& out) override;

 private:
  enum class Style { kPlain, kIndented, kYaml, kCbor };

  static Style StyleOf(const Accepted& accepted);
  void SplitFrame(json::Value frame);
  void SplitCborFrame(json::Value frame, std::string_view items);
  base::Status AppendItem(const store::ObjectPtr& object, std::string& out);

  const Style style_;
  std::string frame_;  // up to the array's items
  std::string end_;    // what follows them
  std::vector<store::ObjectPtr> objects_;
  const Item item_;
  const api::schema::Schema* const schema_;
  std::size_t next_ = 0;
};

}  // namespace portcullis::server::rest
