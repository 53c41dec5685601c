// SPDX-License-Identifier: Apache-2.0

// What HTTP messages are made of, for server and client alike: header lists, requests, responses.
//
// Value types.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis::net {

struct Header {
  std::string name;
  std::string value;
};

// Header fields in the order of the wire. Names are compared without regard to case (RFC 9110
// §5.1) and kept as written; HTTP/2 names arrive and leave in lower case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> fields) : fields_(fields) {}

  void Add(std::string_view name, std::string_view value);
  // Replaces all fields of that name by one.
  void Set(std::string_view name, std::string_view value);
  void Remove(std::string_view name);
  // The first value, or "" if there is none. The view is valid until the list changes.
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  std::vector<std::string_view> All(std::string_view name) const;
  // True if one of the comma-separated elements of the field is `token`, whatever its case.
  bool HasToken(std::string_view name, std::string_view token) const;

  bool empty() const { return fields_.empty(); }
  std::size_t size() const { return fields_.size(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  Header& back() { return fields_.back(); }
  void Reserve(std::size_t count) { fields_.reserve(count); }

 private:
  const Header* Find(std::string_view name) const;
  std::vector<Header> fields_;
};

// A request as it came, its body complete. `target` is the path with its query, unchanged
// ("/api/v1/pods?limit=5"); `authority` is the Host (HTTP/1.1) or :authority (HTTP/2).
struct Request {
  std::string method;
  std::string target;
  std::string authority;
  Headers headers;
  std::string body;

  std::string_view path() const;   // target up to '?'
  std::string_view query() const;  // target after '?', or ""
};

// Status line and headers of an answer. Date, Content-Length, Transfer-Encoding and Connection are
// added by the server. An answer of HTTP/2 with `Connection: close` has the client open another
// connection for what comes next (GOAWAY), as with Go's server.
struct ResponseHead {
  int status = 200;
  Headers headers;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
  // Sent instead of `body` if set: for bytes that many answers share (stored objects, OpenAPI).
  std::shared_ptr<const std::string> shared_body;

  std::string_view content() const { return shared_body ? *shared_body : body; }
};

// What is sent behind the head of a request: two pieces, of which many requests may share the second.
struct RequestBody {
  std::string front;
  std::shared_ptr<const std::string> rest;  // null: none

  std::size_t size() const { return front.size() + (rest ? rest->size() : 0); }
};

// True for what a token of a field is made of (RFC 9110 §5.6.2), such as the name of a header.
bool IsTokenCharacter(char c);
// The reason phrase as Go's net/http has it: "Not Found", "Unprocessable Entity"; "" if unknown.
std::string_view StatusText(int status);
// "content-type" to "Content-Type", as Go's textproto.CanonicalMIMEHeaderKey.
std::string CanonicalHeaderName(std::string_view name);

}  // namespace portcullis::net
