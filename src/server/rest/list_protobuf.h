// SPDX-License-Identifier: Apache-2.0

// ListProtobuf makes the protobuf of a list object by object, as ListText does its text. The size of
// all items stands before the first one: those of a list that exceeds a piece are encoded twice,
// first for their sizes, so that a large list is never whole in memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/codec/protobuf.h"
#include "json/value.h"
#include "server/call.h"
#include "store/object.h"

namespace portcullis::server::rest {

class ListProtobuf final : public TextSource {
 public:
  // The message of an object as the list shows it, of the object or in `scratch`. Called twice for an
  // object, it returns the same.
  using Item = std::function<base::Result<std::string_view>(const store::ObjectPtr& object,
                                                            std::string& scratch)>;

  ListProtobuf(engine::ProtobufList list, std::vector<store::ObjectPtr> objects, Item item)
      : list_(std::move(list)), objects_(std::move(objects)), item_(std::move(item)) {}

  // Pieces of about 1 MB.
  base::Result<bool> Append(std::string& out) override;

 private:
  // Appends items from `next` on until there is a piece of them.
  base::Status AppendItems(std::size_t& next, std::string& out) const;
  base::Status Begin(std::string& out);

  const engine::ProtobufList list_;
  const std::vector<store::ObjectPtr> objects_;
  const Item item_;
  bool begun_ = false;
  std::size_t next_ = 0;
};

}  // namespace portcullis::server::rest
