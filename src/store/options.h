// SPDX-License-Identifier: Apache-2.0

// What can be chosen about a store. Value type.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "base/clock.h"

namespace portcullis::store {

class Transformer;  // encryption/transformer.h

struct Options {
  // How far each collection's history reaches back, for watches that resume and lists that
  // continue: at most so many events …
  std::size_t history_events = 32768;
  // … and so many bytes of object versions that only the history holds.
  std::size_t history_bytes = std::size_t{32} << 20;
  // Versions of at least so many bytes that have been replaced …
  std::size_t large_bytes = std::size_t{16} << 10;
  // … are kept compressed once so many events of the collection came after.
  std::size_t fresh_events = 64;
  // Lists do not go back to states that were replaced so long ago, or up to twice as long, as
  // after a compaction of etcd. 0: as far as the history reaches.
  base::Duration compaction_interval = std::chrono::minutes(5);
  // The embedded store: go on without objects whose checksum is wrong (embedded/embedded_store.h).
  bool skip_damaged = false;
  // When watches have rested (cache/listeners.h), and when the interval is over. The machine's time; outlives the store.
  const base::Clock* clock = &base::SystemClock();
  // Stores with a disk: how values are encrypted. Null: not at all.
  std::shared_ptr<const Transformer> transformer;
};

}  // namespace portcullis::store
