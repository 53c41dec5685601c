// SPDX-License-Identifier: Apache-2.0

// The functions of include/portcullis/portcullis.h: texts in and out, errors, and no exception across.
#include <portcullis/portcullis.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "build_info/build_info.h"
#include "library/handle.h"

struct portcullis_cluster {
  std::unique_ptr<portcullis::library::Handle> handle;
};

namespace {

using portcullis::base::Status;

char* Copy(std::string_view text) {
  char* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

void SetError(char** error, std::string_view text) {
  if (error != nullptr) *error = Copy(text);
}

std::string_view View(const char* text, std::size_t size) {
  return text == nullptr ? std::string_view() : std::string_view(text, size);
}

// The value that `work` has made, or `failed` with its error.
template <typename T, typename Work>
T Guarded(char** error, T failed, const Work& work) {
  if (error != nullptr) *error = nullptr;
  try {
    auto result = work();
    if (result.ok()) return *std::move(result);
    SetError(error, result.status().message());
  } catch (const std::bad_alloc&) {
    SetError(error, "out of memory");
  } catch (...) {
    SetError(error, "an error that was not expected");
  }
  return failed;
}

using Text = portcullis::base::Result<char*>;

Text TextOf(portcullis::base::Result<std::string> made) {
  if (!made.ok()) return std::move(made).status();
  char* const copy = Copy(*made);
  if (copy == nullptr) return Status(portcullis::base::Reason::kUnknown, "out of memory");
  return copy;
}

}  // namespace

extern "C" {

const char* portcullis_version(void) { return portcullis::ThisBuild().version.data(); }

int portcullis_api_version(void) { return PORTCULLIS_API_VERSION; }

portcullis_cluster* portcullis_open(const char* options, char** error) {
  using Opened = portcullis::base::Result<portcullis_cluster*>;
  return Guarded<portcullis_cluster*>(error, nullptr, [&]() -> Opened {
    auto handle = TRY(portcullis::library::Handle::Open(options == nullptr ? "" : options));
    return new portcullis_cluster{std::move(handle)};
  });
}

void portcullis_close(portcullis_cluster* cluster) { delete cluster; }

int portcullis_add(portcullis_cluster* cluster, const char* objects, size_t size, char** error) {
  return Guarded<int>(error, -1, [&] { return cluster->handle->Add(View(objects, size)); });
}

char* portcullis_admit(portcullis_cluster* cluster, const char* request, size_t size,
                       char** error) {
  return Guarded<char*>(error, nullptr,
                        [&] { return TextOf(cluster->handle->Admit(View(request, size))); });
}

char* portcullis_review(portcullis_cluster* cluster, const char* review, size_t size,
                        enum portcullis_phase phase, const char* plugin, char** error) {
  return Guarded<char*>(error, nullptr, [&] {
    portcullis::review::Scope scope;
    scope.phase = phase == PORTCULLIS_MUTATE ? portcullis::admission::kMutate
                                             : portcullis::admission::kValidate;
    scope.plugin = plugin == nullptr ? std::string_view() : std::string_view(plugin);
    return TextOf(cluster->handle->Review(View(review, size), scope));
  });
}

void portcullis_free(char* text) { std::free(text); }

}  // extern "C"
