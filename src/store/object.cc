#include "store/object.h"

#include <utility>

#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::store {

Object::Object(std::shared_ptr<const CollectionName> collection, std::string_view ns,
               std::string_view name, std::int64_t revision, std::string bytes,
               std::size_t revision_at)
    : collection_(std::move(collection)),
      position_(ns.empty() ? std::string(name) : base::StrCat(ns, "/", name)),
      bytes_(std::move(bytes)),
      revision_(revision),
      ns_size_(static_cast<std::uint32_t>(ns.size())),
      revision_at_(static_cast<std::uint32_t>(revision_at)) {}

const json::Document& Object::document() const {
  std::call_once(parsed_, [this] {
    auto arena = std::make_shared<json::Arena>();
    // The text is ours and lives as long as the document does, so strings may point into it.
    auto root = json::Parse(*arena, bytes_, {.borrow_text = true});
    if (root.ok()) document_ = json::Document(std::move(arena), root.value());
  });
  return document_;
}

std::string_view Object::uid() const {
  // Kubernetes' order of fields puts it before the resourceVersion, whose place is known.
  constexpr std::string_view kAfter = R"(","resourceVersion":")";
  constexpr std::string_view kBefore = R"("uid":")";
  constexpr std::size_t kLongest = 64;
  std::string_view head = bytes().substr(0, revision_at_);
  if (head.ends_with(kAfter)) {
    head.remove_suffix(kAfter.size());
    const std::size_t from = head.size() < kLongest ? 0 : head.size() - kLongest;
    const std::size_t at = head.find(kBefore, from);
    const std::string_view value = at == head.npos ? "\"" : head.substr(at + kBefore.size());
    if (value.find_first_of("\"\\") == value.npos) return value;
  }
  return document()["metadata"]["uid"].AsString();
}

ObjectPtr Object::WithRevision(std::int64_t revision) const {
  const std::string text = std::to_string(revision);
  std::string bytes;
  bytes.reserve(bytes_.size() + text.size());
  bytes.append(bytes_, 0, revision_at_);
  bytes.append(text);
  bytes.append(bytes_, revision_at_ + std::to_string(revision_).size());
  return std::make_shared<const Object>(collection_, ns(), name(), revision, std::move(bytes),
                                        revision_at_);
}

}  // namespace portcullis::store
