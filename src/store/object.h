// SPDX-License-Identifier: Apache-2.0

// Object is one version of one stored API object. Immutable after construction; shared by the
// store's current state, its history, watchers and readers. Free to use from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "json/value.h"

namespace portcullis::store {

class Object;
using ObjectPtr = std::shared_ptr<const Object>;

// The collection an object belongs to; one instance per collection, shared by its objects.
struct CollectionName {
  std::string group;
  std::string resource;
};

class Object {
 public:
  // The object whose bytes are `before`, the decimal text of `revision`, and `after`.
  static std::shared_ptr<Object> Make(std::shared_ptr<const CollectionName> collection,
                                      std::string_view ns, std::string_view name,
                                      std::int64_t revision, std::string_view before,
                                      std::string_view after);
  ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  const std::string& group() const { return collection_->group; }
  const std::string& resource() const { return collection_->resource; }
  std::string_view ns() const { return position().substr(0, ns_size_); }
  std::string_view name() const { return position().substr(ns_size_ == 0 ? 0 : ns_size_ + 1); }
  // "namespace/name", or "name": where the object stands in a list.
  std::string_view position() const { return {text(), position_size_}; }

  std::int64_t revision() const { return revision_; }
  // JSON in the storage version, metadata.resourceVersion included.
  std::string_view bytes() const { return {text() + position_size_, bytes_size_}; }

  // The bytes parsed; done at the first call and kept until memory is short. For what is read often
  // (namespaces, configurations); for passing scans parse bytes() into an arena of your own. The
  // document and its values are valid as long as the caller holds the object: see DocumentOf().
  const json::Document& document() const;
  bool has_document() const { return document_.load(std::memory_order_acquire) != nullptr; }
  // The object in another encoding, which those who read it have made of the bytes and keep for
  // others who do, until memory is short; "" if there is none. Valid as long as the caller holds the
  // object.
  std::string_view encoding() const;
  // Keeps `encoding`, unless there is one: returns the one that stays.
  std::string_view KeepEncoding(std::string encoding) const;
  bool has_derived() const { return has_document() || !encoding().empty(); }
  // Drops the document and the encoding. REQUIRES: only the caller holds the object, and holds
  // neither a value of its document nor its encoding.
  void ForgetDerived() const;
  // metadata.uid; mostly without parsing.
  std::string_view uid() const;

  // A note of the code that interprets the bytes, so that it need not look again: the number of the
  // rules under which they were found to be in order. 0: not looked at.
  std::uint32_t checked_by() const { return checked_by_.load(std::memory_order_relaxed); }
  void MarkChecked(std::uint32_t rules) const {
    checked_by_.store(rules, std::memory_order_relaxed);
  }

  // Another note: that a server which keeps its objects as they came to it would not have these bytes, but
  // such without some defaults (engine/write/steps.h). Stored as a blank behind the bytes, which Make() takes off.
  bool lacks_defaults() const { return lacks_defaults_.load(std::memory_order_relaxed); }
  void MarkLacksDefaults() const { lacks_defaults_.store(true, std::memory_order_relaxed); }

  // A copy with another revision in it.
  ObjectPtr WithRevision(std::int64_t revision) const;
  std::size_t revision_at() const { return revision_at_; }
  const std::shared_ptr<const CollectionName>& collection() const { return collection_; }

 private:
  template <typename T>
  struct Allocator;
  // What is handed to the constructor, which only Make() may call.
  struct Parts;

 public:
  explicit Object(const Parts& parts);

 private:
  // The text of the position, then the bytes: they stand right behind the object, in one piece of
  // memory with it. There may be a million objects of a few hundred bytes.
  const char* text() const { return reinterpret_cast<const char*>(this + 1); }

  std::shared_ptr<const CollectionName> collection_;
  std::int64_t revision_;
  mutable std::atomic<const json::Document*> document_{nullptr};  // owned; null: not parsed yet
  mutable std::atomic<const std::string*> encoding_{nullptr};     // owned; null: not made yet
  std::uint32_t position_size_;
  std::uint32_t ns_size_;
  std::uint32_t bytes_size_;
  std::uint32_t revision_at_;
  mutable std::atomic<std::uint32_t> checked_by_{0};
  mutable std::atomic<bool> lacks_defaults_{false};
};

// The object's document, together with the object that its texts are in.
json::Document DocumentOf(ObjectPtr object);

}  // namespace portcullis::store
