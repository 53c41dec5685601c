// SPDX-License-Identifier: Apache-2.0

// Stream is a non-blocking TCP connection with or without TLS on top, driven by a Loop's edges.
//
// Confined to its loop's thread. Owns the socket and the TLS state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

using SSL = struct ssl_st;
using X509_STORE = struct x509_store_st;

namespace portcullis::net::internal {

enum class IoStatus { kOk, kWouldBlock, kEof, kError };

struct IoResult {
  IoStatus status = IoStatus::kOk;
  std::size_t bytes = 0;
};

// What the verification of the peer's certificate is to check, and what it found. Attached to the
// SSL by StartTls, so that callbacks of the TLS library reach it.
struct PeerCheck {
  const X509_STORE* roots = nullptr;  // null: no verification
  std::string host;                   // name or address the certificate must be for; "" for clients
  std::string error;  // Go's text, "tls: failed to verify certificate: …"; "" if all is well
  bool without_san = false;
  bool with_sha1 = false;
};

class Stream {
 public:
  explicit Stream(int fd);  // takes the socket, which must be non-blocking
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int fd() const { return fd_; }
  // For texts of errors: a socket that the peer has reset does not know it any more.
  void set_peer(std::string address) { peer_ = std::move(address); }
  SSL* ssl() const { return ssl_; }
  // Takes the TLS state, already set to accept or connect. On a stream that has TLS already, whose
  // handshake is complete, what follows is TLS within that one: beyond a proxy that is reached by
  // TLS.
  void StartTls(SSL* ssl, PeerCheck check);
  const PeerCheck& peer_check() const { return check_; }

  // The loop's news: after `readable` the socket is asked again.
  void SetReadable(bool hangup);
  void SetWritable() { write_blocked_ = false; }

  // Whether bytes have been received that have not been read.
  bool has_unread() const;
  // True if nothing can be waiting to be read.
  bool drained() const { return drained_ && !eof_; }

  // kOk when the handshake is complete. After kError, error() has Go's text.
  IoStatus Handshake();
  IoResult Read(char* data, std::size_t size);
  IoResult Write(const char* data, std::size_t size);
  // Sends close_notify (best effort) and closes the sending half.
  void ShutdownWrite();
  void Close();

  // Bytes that have crossed the socket, TLS included.
  std::size_t bytes_received() const { return bytes_received_; }
  std::size_t bytes_sent() const { return bytes_sent_; }

  // Why the last call failed, in the words of Go's net and crypto/tls: "read tcp a->b: read:
  // connection reset by peer", "remote error: tls: bad certificate".
  const std::string& error() const { return error_; }
  // True if the first bytes of the peer were no TLS record; then the bytes that were seen.
  bool peer_speaks_no_tls() const { return !first_bytes_.empty(); }
  const std::string& first_bytes() const { return first_bytes_; }

  // For the BIOs: plain socket I/O with the bookkeeping above, and the same through the outer TLS.
  IoResult Receive(char* data, std::size_t size);
  IoResult Send(const char* data, std::size_t size);
  IoResult ReceiveWithin(char* data, std::size_t size);
  IoResult SendWithin(const char* data, std::size_t size);

 private:
  // Whether a read of TLS could only find that nothing has come, at a greater cost.
  bool has_nothing() const;
  IoStatus FromTls(SSL* ssl, int result, std::string_view operation);
  void LookAtFirst(const char* data, std::size_t size);
  std::string SystemError(std::string_view operation) const;

  int fd_;
  std::string peer_;
  SSL* ssl_ = nullptr;
  SSL* outer_ = nullptr;  // what ssl_ lies in, if not in the socket
  std::string outer_error_;
  // After a short read the socket is known to be empty until the next edge: no second system call.
  bool drained_ = false;
  bool hangup_ = false;
  bool write_blocked_ = false;
  bool eof_ = false;
  bool established_ = false;
  bool awaits_first_ = false;  // nothing has come since StartTls
  int errno_ = 0;
  std::size_t bytes_received_ = 0;
  std::size_t bytes_sent_ = 0;
  std::string error_;
  std::string first_bytes_;
  PeerCheck check_;
};

// "127.0.0.1:8080", "[::1]:8080"; "" on failure.
std::string LocalAddress(int fd);
std::string RemoteAddress(int fd);

}  // namespace portcullis::net::internal
