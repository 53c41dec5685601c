// SPDX-License-Identifier: Apache-2.0

// Makes one system call of a program fail, for tests of the whole server:
//
//   LD_PRELOAD=libfailing_calls.so FAIL_CALLS=counters FAIL_CALL=pwrite:17:EIO portcullis serve …
//
// The 17th pwrite of the process fails with EIO; "short" instead of an error lets it handle one
// byte only. FAIL_CALLS names a file with one 64-bit counter for each function of kNames, in that
// order, which a test can read at any time; FAIL_CALL may be absent, then calls are only counted.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace {

enum Call {
  kOpen,
  kRead,
  kWrite,
  kWakeUp,  // a write of eight bytes
  kPread,
  kPwrite,
  kFsync,
  kFdatasync,
  kFtruncate,
  kFcntl,
  kStat,
  kFstat,
  kUnlink,
  kRename,
  kSocket,
  kConnect,
  kAccept4,
  kRecv,
  kSend,
  kEpollCreate1,
  kEpollCtl,
  kEpollWait,
  kEventfd,
  kPoll,
  kPpoll,
  kMmap,
  kGetaddrinfo,
  kCount,
};
constexpr const char* kNames[kCount] = {
    "open",       "read",      "write",   "wake-up", "pread", "pwrite",        "fsync",
    "fdatasync",  "ftruncate", "fcntl",   "stat",    "fstat", "unlink",        "rename",
    "socket",     "connect",   "accept4", "recv",    "send",  "epoll_create1", "epoll_ctl",
    "epoll_wait", "eventfd",   "poll",    "ppoll",   "mmap",  "getaddrinfo",
};

struct Error {
  const char* name;
  int number;
};
constexpr Error kErrors[] = {
    {"EMFILE", EMFILE},   {"ENFILE", ENFILE},
    {"ENOMEM", ENOMEM},   {"EIO", EIO},
    {"ENOSPC", ENOSPC},   {"EINTR", EINTR},
    {"EAGAIN", EAGAIN},   {"ECONNRESET", ECONNRESET},
    {"ENOBUFS", ENOBUFS}, {"ECONNABORTED", ECONNABORTED},
    {"EACCES", EACCES},
};

struct Plan {
  int call = -1;
  uint64_t number = 0;
  int error = 0;  // 0: short
};

std::atomic<uint64_t>* counters = nullptr;
Plan plan;

void ReadPlan() {
  const char* text = getenv("FAIL_CALL");
  char name[32];
  char what[32];
  unsigned long long number = 0;
  if (text == nullptr || sscanf(text, "%31[^:]:%llu:%31s", name, &number, what) != 3) return;
  plan.number = number;
  for (const Error& error : kErrors) {
    if (strcmp(error.name, what) == 0) plan.error = error.number;
  }
  for (int i = 0; i < kCount; ++i) {
    if (strcmp(kNames[i], name) == 0) plan.call = i;
  }
}

__attribute__((constructor)) void Start() {
  const char* path = getenv("FAIL_CALLS");
  if (path == nullptr) return;
  // By their numbers: the functions below are not ready yet.
  const long fd = syscall(SYS_open, path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  constexpr size_t kSize = kCount * sizeof(uint64_t);
  if (fd < 0 || syscall(SYS_ftruncate, fd, kSize) != 0) return;
  const long pages = syscall(SYS_mmap, nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  syscall(SYS_close, fd);
  ReadPlan();
  if (pages > 0) counters = reinterpret_cast<std::atomic<uint64_t>*>(pages);
}

// Whether this call is the one; errno is set then, or `is_short`.
bool Fails(Call call, bool* is_short = nullptr) {
  if (counters == nullptr) return false;
  const uint64_t number = counters[call].fetch_add(1) + 1;
  if (plan.call != call || plan.number != number) return false;
  if (plan.error != 0) {
    errno = plan.error;
    return true;
  }
  if (is_short != nullptr) *is_short = true;
  return false;
}

// Of a call that moves bytes: how many to ask for, 0 if it fails.
size_t Limit(Call call, size_t size) {
  bool is_short = false;
  if (Fails(call, &is_short)) return 0;
  return is_short && size > 1 ? 1 : size;
}

template <typename F>
F Next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}
#define NEXT(name) static const auto next = Next<decltype(&::name)>(#name)

int Open(int (*next)(const char*, int, ...), const char* path, int flags, mode_t mode) {
  return Fails(kOpen) ? -1 : next(path, flags, mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  NEXT(open);
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return Open(next, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  NEXT(open64);
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return Open(next, path, flags, mode);
}
ssize_t read(int fd, void* to, size_t size) {
  NEXT(read);
  const size_t limit = Limit(kRead, size);
  return limit == 0 && size > 0 ? -1 : next(fd, to, limit);
}
ssize_t write(int fd, const void* from, size_t size) {
  NEXT(write);
  // Of an eventfd: takes eight bytes or none, and never lacks space.
  const size_t limit = Limit(size == sizeof(uint64_t) ? kWakeUp : kWrite, size);
  return limit == 0 && size > 0 ? -1 : next(fd, from, limit);
}
ssize_t pread64(int fd, void* to, size_t size, off64_t at) {
  NEXT(pread64);
  const size_t limit = Limit(kPread, size);
  return limit == 0 && size > 0 ? -1 : next(fd, to, limit, at);
}
ssize_t pwrite64(int fd, const void* from, size_t size, off64_t at) {
  NEXT(pwrite64);
  const size_t limit = Limit(kPwrite, size);
  return limit == 0 && size > 0 ? -1 : next(fd, from, limit, at);
}
int fsync(int fd) {
  NEXT(fsync);
  return Fails(kFsync) ? -1 : next(fd);
}
int fdatasync(int fd) {
  NEXT(fdatasync);
  return Fails(kFdatasync) ? -1 : next(fd);
}
int ftruncate64(int fd, off64_t size) {
  NEXT(ftruncate64);
  return Fails(kFtruncate) ? -1 : next(fd, size);
}
int fcntl64(int fd, int command, ...) {
  NEXT(fcntl64);
  va_list more;
  va_start(more, command);
  void* argument = va_arg(more, void*);
  va_end(more);
  return Fails(kFcntl) ? -1 : next(fd, command, argument);
}
int stat(const char* path, struct stat* found) {
  NEXT(stat);
  return Fails(kStat) ? -1 : next(path, found);
}
int stat64(const char* path, struct stat64* found) {
  NEXT(stat64);
  return Fails(kStat) ? -1 : next(path, found);
}
int fstat(int fd, struct stat* found) {
  NEXT(fstat);
  return Fails(kFstat) ? -1 : next(fd, found);
}
int fstat64(int fd, struct stat64* found) {
  NEXT(fstat64);
  return Fails(kFstat) ? -1 : next(fd, found);
}
int unlink(const char* path) {
  NEXT(unlink);
  return Fails(kUnlink) ? -1 : next(path);
}
int rename(const char* from, const char* to) {
  NEXT(rename);
  return Fails(kRename) ? -1 : next(from, to);
}
int socket(int domain, int type, int protocol) {
  NEXT(socket);
  return Fails(kSocket) ? -1 : next(domain, type, protocol);
}
int connect(int fd, const struct sockaddr* to, socklen_t size) {
  NEXT(connect);
  return Fails(kConnect) ? -1 : next(fd, to, size);
}
int accept4(int fd, struct sockaddr* from, socklen_t* size, int flags) {
  NEXT(accept4);
  return Fails(kAccept4) ? -1 : next(fd, from, size, flags);
}
ssize_t recv(int fd, void* to, size_t size, int flags) {
  NEXT(recv);
  const size_t limit = Limit(kRecv, size);
  return limit == 0 && size > 0 ? -1 : next(fd, to, limit, flags);
}
ssize_t send(int fd, const void* from, size_t size, int flags) {
  NEXT(send);
  const size_t limit = Limit(kSend, size);
  return limit == 0 && size > 0 ? -1 : next(fd, from, limit, flags);
}
int epoll_create1(int flags) {
  NEXT(epoll_create1);
  return Fails(kEpollCreate1) ? -1 : next(flags);
}
int epoll_ctl(int epoll, int operation, int fd, struct epoll_event* event) {
  NEXT(epoll_ctl);
  return Fails(kEpollCtl) ? -1 : next(epoll, operation, fd, event);
}
int epoll_wait(int epoll, struct epoll_event* events, int most, int timeout) {
  NEXT(epoll_wait);
  return Fails(kEpollWait) ? -1 : next(epoll, events, most, timeout);
}
int eventfd(unsigned int start, int flags) {
  NEXT(eventfd);
  return Fails(kEventfd) ? -1 : next(start, flags);
}
int poll(struct pollfd* files, nfds_t count, int timeout) {
  NEXT(poll);
  return Fails(kPoll) ? -1 : next(files, count, timeout);
}
int ppoll(struct pollfd* files, nfds_t count, const struct timespec* timeout,
          const sigset_t* mask) {
  NEXT(ppoll);
  return Fails(kPpoll) ? -1 : next(files, count, timeout, mask);
}
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  NEXT(mmap);
  return Fails(kMmap) ? MAP_FAILED : next(at, size, protection, flags, fd, offset);
}
int getaddrinfo(const char* host, const char* service, const struct addrinfo* hints,
                struct addrinfo** found) {
  NEXT(getaddrinfo);
  return Fails(kGetaddrinfo) ? EAI_SYSTEM : next(host, service, hints, found);
}

}  // extern "C"
