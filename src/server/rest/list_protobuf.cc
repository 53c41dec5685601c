#include "server/rest/list_protobuf.h"

#include <algorithm>

namespace portcullis::server::rest {
namespace {

constexpr std::size_t kSlack = 16 * 1024;  // for the object that exceeds it
constexpr std::size_t kPiece = 1000 * 1024 - kSlack;
constexpr std::size_t kSample = 8;

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
  const std::string start = list_.Start(size);
  out.reserve(out.size() + start.size() + items.size() + list_.End().size());
  out += start;
  out += items;
  return base::OkStatus();
}

base::Status ListProtobuf::AppendItems(std::size_t& next, std::string& out) const {
  const std::size_t start = out.size();
  const std::size_t first = next;
  std::string scratch;
  while (next < objects_.size() && out.size() - start < kPiece) {
    // Objects of a kind are much alike: a few tell how much room the others need.
    if (next == first + kSample) {
      const std::size_t rest = (out.size() - start) / kSample * (objects_.size() - next + 1);
      out.reserve(std::min(start + kPiece, out.size() + rest) + kSlack);
    }
    scratch.clear();
    list_.AppendItem(TRY(item_(objects_[next], scratch)), out);
    ++next;
  }
  return base::OkStatus();
}

}  // namespace portcullis::server::rest
