// SPDX-License-Identifier: Apache-2.0

// Channel keeps a connection to one of the endpoints. What is to be sent while there is none waits
// here. Endpoints are tried in turn, the first one first; after a round without success it waits, each
// time twice as long.
//
// Confined to the loop's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/client.h"
#include "etcd/internal/endpoint.h"
#include "net/http2_client.h"

namespace portcullis::etcd::internal {

// Something that has been waiting for a connection.
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void OnConnection() = 0;

 private:
  friend class Channel;
  std::uint64_t place_ = 0;  // in the queue; 0: it does not wait
};

// An open connection, and what the requests on it have in common.
class Link;

class Channel {
 public:
  // All must outlive it.
  Channel(const ClientOptions& options, std::vector<Endpoint> endpoints, const net::IoLoop& loop,
          net::Http2Client& http2);
  ~Channel();
  void Open();
  // Streams end with "context canceled".
  void Close();

  // The link that takes new requests, or null.
  const std::shared_ptr<Link>& link() const { return link_; }
  // Calls it, once, when there is a link.
  void Wait(Waiter& waiter);
  void Forget(Waiter& waiter);

  // The member behind it cannot serve: other members are tried for what is new. What is under way
  // there has ten seconds to end; an idle connection is closed at once.
  void Leave(const std::shared_ptr<Link>& link, const std::string& why);
  // A call has been answered: there is no reason to wait before the next connection.
  void OnAnswer() { failures_ = 0; }
  // Why there was no connection the last time; "" if there always has been one.
  const std::string& last_failure() const { return last_failure_; }
  // Made so far. Thread-safe.
  std::uint64_t connections() const { return connections_; }

 private:
  friend class Link;
  void Connect();
  void ConnectLater();
  void OnConnected(Link& link);
  void OnDraining(Link& link, const std::string& why, bool too_many_pings);
  void OnClosed(Link& link, const std::string& cause);
  void Retire(const std::shared_ptr<Link>& link);
  void Complain(std::string_view what, const std::string& why);

  const ClientOptions& options_;
  const std::vector<Endpoint> endpoints_;
  const net::IoLoop& loop_;
  net::Http2Client& http2_;
  base::Duration ping_after_;
  std::size_t endpoint_ = 0;  // that is connected, or next
  std::size_t failures_ = 0;  // since the last answer
  std::string last_failure_;
  struct Complaint {
    std::string text;
    base::SteadyTime time;
  };
  std::vector<Complaint> complaints_;  // the last one about each endpoint
  std::atomic<std::uint64_t> connections_{0};
  bool closed_ = false;
  net::IoLoop::Timer timer_;                    // until the next attempt
  std::shared_ptr<Link> link_;                  // open
  std::shared_ptr<Link> connecting_;            // to be the next
  std::vector<std::shared_ptr<Link>> retired_;  // taking no new requests
  std::map<std::uint64_t, Waiter*> waiting_;
  std::uint64_t next_place_ = 1;
};

class Link final : public net::Http2Listener {
 public:
  Link(Channel& channel, const Endpoint& endpoint) : channel_(channel), endpoint_(endpoint) {}
  // Begins a gRPC request; 0 if that is not possible. See net::Http2Connection::Start.
  // `deadline`: none if max().
  std::int32_t Start(std::string_view path, bool require_leader, base::SteadyTime deadline,
                     std::string message, bool ends, net::Http2Receiver& receiver);
  net::Http2Connection& connection() { return *connection_; }

  void OnConnected() override { channel_.OnConnected(*this); }
  void OnDraining(const net::Http2Goaway& goaway) override;
  void OnClosed(const std::string& cause) override { channel_.OnClosed(*this, cause); }

 private:
  friend class Channel;
  Channel& channel_;
  const Endpoint& endpoint_;
  std::shared_ptr<net::Http2Connection> connection_;
  net::IoLoop::Timer timer_;  // when retired: until it is closed
};

}  // namespace portcullis::etcd::internal
