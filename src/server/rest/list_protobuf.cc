// SPDX-License-Identifier: Apache-2.0

#include "server/rest/list_protobuf.h"

#include "server/rest/list_piece.h"

namespace portcullis::server::rest {

base::Result<bool> ListProtobuf::Append(std::string& out) {
  if (begun_) {
    TRY(AppendItems(next_, out));
  } else {
    TRY(Begin(out));
    begun_ = true;
  }
  if (next_ < objects_.size()) return true;
  out += list_.End();
  return false;
}

base::Status ListProtobuf::Begin(std::string& out) {
  std::string items;
  TRY(AppendItems(next_, items));
  std::size_t size = items.size();
  std::string scratch;
  for (std::size_t next = next_; next < objects_.size(); scratch.clear()) {
    TRY(AppendItems(next, scratch));
    size += scratch.size();
  }
  const std::string start = list_.Start(size);
  out.reserve(out.size() + start.size() + items.size() + list_.End().size());
  out += start;
  out += items;
  return base::OkStatus();
}

base::Status ListProtobuf::AppendItems(std::size_t& next, std::string& out) const {
  ListPiece piece(out);
  std::string scratch;
  while (next < objects_.size() && !piece.is_full()) {
    piece.MakeRoom(objects_.size() - next);
    scratch.clear();
    list_.AppendItem(TRY(item_(objects_[next], scratch)), out);
    ++next;
  }
  return base::OkStatus();
}

}  // namespace portcullis::server::rest
