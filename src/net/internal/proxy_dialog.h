// SPDX-License-Identifier: Apache-2.0

// ProxyDialog is what a client says to a proxy until that leads on to the target: CONNECT of HTTP
// (RFC 9110 §9.3.6) or SOCKS 5 (RFC 1928, RFC 1929). It knows bytes only: the owner of the
// connection sends TakeOutput() and feeds what comes. Texts of errors are those of Go's net/http.
//
// Confined to its connection's thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/url.h"

namespace portcullis::net::internal {

class ProxyDialog {
 public:
  enum class State { kUnderWay, kOpen, kFailed };

  // With the proxy at `address` ("127.0.0.1:1080"), about the way to `target`.
  static std::unique_ptr<ProxyDialog> Begin(const Url& proxy, const Url& target,
                                            std::string address);
  virtual ~ProxyDialog() = default;

  // What is to be sent now; once after Begin and after each OnBytes.
  std::string TakeOutput() { return std::exchange(output_, {}); }
  virtual State OnBytes(std::string_view bytes) = 0;
  // The connection has ended, or failed with `error`.
  virtual void OnBroken(bool ended, std::string_view error) = 0;
  // After kFailed or OnBroken.
  const std::string& error() const { return error_; }

 protected:
  std::string output_;
  std::string error_;
};

}  // namespace portcullis::net::internal
