// What can be chosen about a store. Value type.
#pragma once

#include <cstddef>

namespace portcullis::store {

struct Options {
  // How far each collection's history reaches back, for watches that resume and lists that
  // continue: at most so many events …
  std::size_t history_events = 32768;
  // … and so many bytes of object versions that only the history holds.
  std::size_t history_bytes = std::size_t{32} << 20;
};

}  // namespace portcullis::store
