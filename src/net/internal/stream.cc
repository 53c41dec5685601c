// SPDX-License-Identifier: Apache-2.0

#include "net/internal/stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/allocation_failure.h"
#include "base/file.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "net/internal/tls_texts.h"

namespace portcullis::net::internal {
namespace {

// OpenSSL wants its queue of errors empty before it is called. To see that it is takes a tenth of what
// clearing it takes.
void ForgetErrors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

Stream* StreamOf(BIO* bio) { return static_cast<Stream*>(BIO_get_data(bio)); }

// One of the calls below; OpenSSL, which is no C++, must not be unwound.
template <typename Call>
IoResult Contained(Call&& call) {
  IoResult result{IoStatus::kError, 0};
  base::UnlessMemoryRunsOut([&] { result = call(); });
  return result;
}

int BioRead(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const IoResult result =
      Contained([&] { return StreamOf(bio)->Receive(data, static_cast<std::size_t>(size)); });
  if (result.status == IoStatus::kOk) return static_cast<int>(result.bytes);
  if (result.status == IoStatus::kWouldBlock) BIO_set_retry_read(bio);
  return result.status == IoStatus::kEof ? 0 : -1;
}

int BioWrite(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const IoResult result =
      Contained([&] { return StreamOf(bio)->Send(data, static_cast<std::size_t>(size)); });
  if (result.status == IoStatus::kOk) return static_cast<int>(result.bytes);
  if (result.status == IoStatus::kWouldBlock) BIO_set_retry_write(bio);
  return -1;
}

int InnerBioRead(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const IoResult result =
      Contained([&] { return StreamOf(bio)->ReceiveWithin(data, static_cast<std::size_t>(size)); });
  if (result.status == IoStatus::kOk) return static_cast<int>(result.bytes);
  if (result.status == IoStatus::kWouldBlock) BIO_set_retry_read(bio);
  return result.status == IoStatus::kEof ? 0 : -1;
}

int InnerBioWrite(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const IoResult result =
      Contained([&] { return StreamOf(bio)->SendWithin(data, static_cast<std::size_t>(size)); });
  if (result.status == IoStatus::kOk) return static_cast<int>(result.bytes);
  if (result.status == IoStatus::kWouldBlock) BIO_set_retry_write(bio);
  return -1;
}

long BioControl(BIO* bio, int command, long number, void* pointer) {
  (void)bio;
  (void)number;
  (void)pointer;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* MakeBioMethod(int (*read)(BIO*, char*, int),
                                int (*write)(BIO*, const char*, int)) {
  BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
  BIO_meth_set_read(method, read);
  BIO_meth_set_write(method, write);
  BIO_meth_set_ctrl(method, BioControl);
  return method;
}

const BIO_METHOD* StreamBioMethod(bool inner) {
  static const BIO_METHOD* const kOnSocket = MakeBioMethod(BioRead, BioWrite);
  static const BIO_METHOD* const kWithin = MakeBioMethod(InnerBioRead, InnerBioWrite);
  return inner ? kWithin : kOnSocket;
}

std::string AddressText(const sockaddr_storage& storage) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof(address));
    inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    return golang::JoinHostPort(text.data(), std::to_string(ntohs(address.sin_port)));
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, &storage, sizeof(address));
    if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
      inet_ntop(AF_INET, &address.sin6_addr.s6_addr[12], text.data(), text.size());
    } else {
      inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
    }
    return golang::JoinHostPort(text.data(), std::to_string(ntohs(address.sin6_port)));
  }
  return "";
}

}  // namespace

Stream::Stream(int fd) : fd_(fd) {}

Stream::~Stream() { Close(); }

void Stream::Close() {
  if (ssl_ != nullptr) {
    SSL_free(ssl_);
    SSL_free(outer_);
    ssl_ = nullptr;
    outer_ = nullptr;
  }
  if (fd_ >= 0) {
    close(fd_);
    fd_ = -1;
  }
}

void Stream::StartTls(SSL* ssl, PeerCheck check) {
  outer_ = ssl_;
  ssl_ = ssl;
  established_ = false;
  awaits_first_ = true;
  check_ = std::move(check);
  SSL_set_app_data(ssl_, &check_);
  BIO* bio = BIO_new(StreamBioMethod(outer_ != nullptr));
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
}

bool Stream::has_unread() const {
  const auto pending = [](const SSL* ssl) { return ssl != nullptr && SSL_has_pending(ssl) != 0; };
  return pending(ssl_) || pending(outer_);
}

// Not so at the end, nor if something has to be written before more can be read.
bool Stream::has_nothing() const {
  return drained() && !has_unread() && SSL_want_write(ssl_) == 0 &&
         (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) == 0;
}

void Stream::SetReadable(bool hangup) {
  drained_ = false;
  hangup_ = hangup_ || hangup;
}

IoResult Stream::Receive(char* data, std::size_t size) {
  if (eof_) return {IoStatus::kEof, 0};
  if (drained_) return {IoStatus::kWouldBlock, 0};
  ssize_t got = -1;
  do {
    got = recv(fd_, data, size, 0);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    const auto count = static_cast<std::size_t>(got);
    if (outer_ == nullptr) LookAtFirst(data, count);
    bytes_received_ += count;
    // With a hang-up announced, the end of the stream follows without another edge.
    if (count < size && !hangup_) drained_ = true;
    return {IoStatus::kOk, count};
  }
  if (got == 0) {
    eof_ = true;
    return {IoStatus::kEof, 0};
  }
  errno_ = errno;
  if (errno_ == EAGAIN) {
    drained_ = true;
    return {IoStatus::kWouldBlock, 0};
  }
  return {IoStatus::kError, 0};
}

IoResult Stream::Send(const char* data, std::size_t size) {
  if (write_blocked_) return {IoStatus::kWouldBlock, 0};
  // An interrupted call is made again: no edge would follow it.
  ssize_t put = -1;
  do {
    put = send(fd_, data, size, MSG_NOSIGNAL);
  } while (put < 0 && errno == EINTR);
  if (put >= 0) {
    bytes_sent_ += static_cast<std::size_t>(put);
    return {IoStatus::kOk, static_cast<std::size_t>(put)};
  }
  errno_ = errno;
  if (errno_ == EAGAIN) {
    write_blocked_ = true;
    return {IoStatus::kWouldBlock, 0};
  }
  return {IoStatus::kError, 0};
}

void Stream::LookAtFirst(const char* data, std::size_t size) {
  if (!std::exchange(awaits_first_, false) || data[0] == 0x16 || data[0] == 0x15) return;
  first_bytes_.assign(data, std::min<std::size_t>(size, 16));
}

IoResult Stream::ReceiveWithin(char* data, std::size_t size) {
  std::size_t got = 0;
  const int result = SSL_read_ex(outer_, data, size, &got);
  if (result == 1) {
    LookAtFirst(data, got);
    return {IoStatus::kOk, got};
  }
  const IoStatus status = FromTls(outer_, result, "read");
  if (status == IoStatus::kError) outer_error_ = error_;
  return {status, 0};
}

IoResult Stream::SendWithin(const char* data, std::size_t size) {
  std::size_t put = 0;
  const int result = SSL_write_ex(outer_, data, size, &put);
  if (result == 1) return {IoStatus::kOk, put};
  const IoStatus status = FromTls(outer_, result, "write");
  if (status == IoStatus::kError) outer_error_ = error_;
  return {status, 0};
}

IoStatus Stream::FromTls(SSL* ssl, int result, std::string_view operation) {
  switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_NONE:
      return IoStatus::kOk;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return IoStatus::kWouldBlock;
    case SSL_ERROR_ZERO_RETURN:
      return IoStatus::kEof;
    case SSL_ERROR_SYSCALL:
      if (ssl != outer_ && !outer_error_.empty()) {
        error_ = outer_error_;
        return IoStatus::kError;
      }
      if (errno_ == 0 || eof_) {
        error_ = "EOF";
        return IoStatus::kEof;
      }
      error_ = SystemError(operation);
      return IoStatus::kError;
    default:
      break;
  }
  const unsigned long code = ERR_peek_last_error();
  if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    ERR_clear_error();
    // Closing the connection without close_notify is what most programs do. Messages of HTTP have
    // lengths, so nothing can be cut off unnoticed.
    error_ = "EOF";
    return IoStatus::kEof;
  }
  if (ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    error_ = check_.error;
  } else {
    error_ = TlsErrorText(code);
  }
  ERR_clear_error();
  return IoStatus::kError;
}

IoStatus Stream::Handshake() {
  if (established_) return IoStatus::kOk;
  ForgetErrors();
  errno_ = 0;
  const int result = SSL_do_handshake(ssl_);
  if (result == 1) {
    established_ = true;
    first_bytes_.clear();
    return IoStatus::kOk;
  }
  return FromTls(ssl_, result, "read");
}

IoResult Stream::Read(char* data, std::size_t size) {
  if (ssl_ == nullptr) {
    const IoResult result = Receive(data, size);
    if (result.status == IoStatus::kError) error_ = SystemError("read");
    return result;
  }
  if (has_nothing()) return {IoStatus::kWouldBlock, 0};
  ForgetErrors();
  errno_ = 0;
  std::size_t got = 0;
  const int result = SSL_read_ex(ssl_, data, size, &got);
  if (result == 1) return {IoStatus::kOk, got};
  return {FromTls(ssl_, result, "read"), 0};
}

IoResult Stream::Write(const char* data, std::size_t size) {
  if (size == 0) return {IoStatus::kOk, 0};
  if (ssl_ == nullptr) {
    const IoResult result = Send(data, size);
    if (result.status == IoStatus::kError) error_ = SystemError("write");
    return result;
  }
  ForgetErrors();
  errno_ = 0;
  std::size_t put = 0;
  const int result = SSL_write_ex(ssl_, data, size, &put);
  if (result == 1) return {IoStatus::kOk, put};
  const IoStatus status = FromTls(ssl_, result, "write");
  return {status == IoStatus::kEof ? IoStatus::kError : status, 0};
}

void Stream::ShutdownWrite() {
  if (fd_ < 0) return;
  if (ssl_ != nullptr && established_) {
    ERR_clear_error();
    SSL_shutdown(ssl_);
    if (outer_ != nullptr) SSL_shutdown(outer_);
    ERR_clear_error();
  }
  shutdown(fd_, SHUT_WR);
}

std::string Stream::SystemError(std::string_view operation) const {
  const std::string peer = peer_.empty() ? RemoteAddress(fd_) : peer_;
  return base::StrCat(operation, " tcp ", LocalAddress(fd_), "->", peer, ": ", operation, ": ",
                      base::ErrnoText(errno_));
}

std::string LocalAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "";
  return AddressText(storage);
}

std::string RemoteAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "";
  return AddressText(storage);
}

}  // namespace portcullis::net::internal
