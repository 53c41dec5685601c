#include "server/rest/list_protobuf.h"

namespace portcullis::server::rest {
namespace {

constexpr std::size_t kPiece = 1000 * 1024;

}  // namespace

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
  out += list_.Start(size);
  out += items;
  return base::OkStatus();
}

base::Status ListProtobuf::AppendItems(std::size_t& next, std::string& out) const {
  const std::size_t start = out.size();
  std::string scratch;
  while (next < objects_.size() && out.size() - start < kPiece) {
    scratch.clear();
    list_.AppendItem(TRY(item_(objects_[next], scratch)), out);
    ++next;
  }
  return base::OkStatus();
}

}  // namespace portcullis::server::rest
