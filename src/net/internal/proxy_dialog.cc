// SPDX-License-Identifier: Apache-2.0

#include "net/internal/proxy_dialog.h"

#include <array>
#include <cstddef>
#include <optional>

#include "base/strings.h"
#include "golang/netip.h"
#include "golang/url.h"
#include "net/internal/malformed.h"

namespace portcullis::net::internal {
namespace {

struct User {
  std::string name;
  std::string password;
};

std::optional<User> UserOf(const Url& proxy) {
  if (proxy.userinfo.empty()) return std::nullopt;
  const auto decoded = [](std::string_view text) {
    auto plain = golang::PathUnescape(text);
    return plain.ok() ? std::move(*plain) : std::string(text);
  };
  const auto colon = proxy.userinfo.find(':');
  if (colon == std::string::npos) return User{decoded(proxy.userinfo), ""};
  return User{decoded(std::string_view(proxy.userinfo).substr(0, colon)),
              decoded(std::string_view(proxy.userinfo).substr(colon + 1))};
}

class HttpDialog final : public ProxyDialog {
 public:
  HttpDialog(const Url& proxy, const Url& target) {
    const std::string to = target.HostPort();
    output_ = base::StrCat("CONNECT ", to, " HTTP/1.1\r\nHost: ", to,
                           "\r\nUser-Agent: Go-http-client/1.1\r\n");
    if (const auto user = UserOf(proxy)) {
      output_ +=
          base::StrCat("Proxy-Authorization: Basic ",
                       base::Base64Encode(base::StrCat(user->name, ":", user->password)), "\r\n");
    }
    output_ += "\r\n";
  }

  State OnBytes(std::string_view bytes) override {
    head_.append(bytes);
    if (head_.find("\r\n\r\n") != std::string::npos) return Judge(head_);
    if (head_.size() <= kMaxHead) return State::kUnderWay;
    error_ = "net/http: proxy response headers exceeded limit";
    return State::kFailed;
  }

  void OnBroken(bool ended, std::string_view error) override {
    error_ = ended ? "unexpected EOF" : error;
  }

 private:
  static constexpr std::size_t kMaxHead = 64 << 10;

  State Judge(std::string_view head) {
    const std::string_view line = head.substr(0, head.find('\r'));
    const auto status = base::Cut(line, " ");
    const auto text = status ? base::Cut(status->second, " ") : std::nullopt;
    if (!status || !status->first.starts_with("HTTP/")) {
      error_ = MalformedHeadText(line, head.substr(head.find('\n') + 1));
      return State::kFailed;
    }
    if ((text ? text->first : status->second) == "200") return State::kOpen;
    error_ = text ? text->second : std::string_view("unknown status code");
    return State::kFailed;
  }

  std::string head_;
};

class SocksDialog final : public ProxyDialog {
 public:
  SocksDialog(const Url& proxy, const Url& target, std::string address)
      : user_(UserOf(proxy)),
        target_(target),
        prefix_(base::StrCat("socks connect tcp ", address, "->", target.HostPort(), ": ")) {
    output_ = user_ ? std::string("\x05\x02\x00\x02", 4) : std::string("\x05\x01\x00", 3);
  }

  State OnBytes(std::string_view bytes) override {
    input_.append(bytes);
    State state = State::kUnderWay;
    std::size_t before = 0;
    do {
      before = input_.size();
      state = Step();
    } while (state == State::kUnderWay && input_.size() < before);
    return state;
  }

  void OnBroken(bool ended, std::string_view error) override {
    const std::string_view end = input_.empty() ? "EOF" : "unexpected EOF";
    error_ = base::StrCat(prefix_, ended ? end : error);
  }

 private:
  enum class Stage { kMethod, kAuthentication, kReply, kNameLength, kAddress };
  static constexpr unsigned char kVersion = 5;

  State Fail(std::string_view why) {
    error_ = base::StrCat(prefix_, why);
    return State::kFailed;
  }

  // One message or part of one, if it is there.
  State Step() {
    if (input_.size() < needed_) return State::kUnderWay;
    const std::string message = input_.substr(0, needed_);
    input_.erase(0, needed_);
    switch (stage_) {
      case Stage::kMethod:
        return OnMethod(message);
      case Stage::kAuthentication:
        if (message[0] != 1) return Fail("invalid username/password version");
        if (message[1] != 0) return Fail("username/password authentication failed");
        return Ask();
      case Stage::kReply:
        return OnReply(message);
      case Stage::kNameLength:
        stage_ = Stage::kAddress;
        needed_ = static_cast<unsigned char>(message[0]) + kPort;
        return State::kUnderWay;
      case Stage::kAddress:
        break;
    }
    return State::kOpen;
  }

  State OnMethod(std::string_view message) {
    if (message[0] != kVersion) return Fail(WrongVersion(message));
    const auto method = static_cast<unsigned char>(message[1]);
    if (method == 0xff) return Fail("no acceptable authentication methods");
    if (!user_ || method == 0) return Ask();
    if (method != 2) {
      return Fail(base::StrCat("unsupported authentication method ", std::to_string(method)));
    }
    if (user_->name.empty() || user_->name.size() > 255 || user_->password.size() > 255) {
      return Fail("invalid username/password");
    }
    output_ = "\x01";
    for (const std::string& text : {user_->name, user_->password}) {
      output_.push_back(static_cast<char>(text.size()));
      output_ += text;
    }
    stage_ = Stage::kAuthentication;
    return State::kUnderWay;
  }

  State Ask() {
    output_.append({5, 1, 0});
    if (const auto parsed = golang::ParseIp(target_.host)) {
      const golang::IpAddress address = parsed->Unmap();
      output_.push_back(address.is_v6 ? 4 : 1);
      output_.append(address.bytes.begin(), address.bytes.begin() + address.bits() / 8);
    } else if (target_.host.size() > 255) {
      return Fail("FQDN too long");
    } else {
      output_.push_back(3);
      output_.push_back(static_cast<char>(target_.host.size()));
      output_ += target_.host;
    }
    const int port = target_.EffectivePort();
    output_.push_back(static_cast<char>(port >> 8));
    output_.push_back(static_cast<char>(port & 0xff));
    stage_ = Stage::kReply;
    needed_ = 4;
    return State::kUnderWay;
  }

  State OnReply(std::string_view message) {
    if (message[0] != kVersion) return Fail(WrongVersion(message));
    const auto code = static_cast<unsigned char>(message[1]);
    if (code != 0) return Fail(base::StrCat("unknown error ", ReplyText(code)));
    if (message[2] != 0) return Fail("non-zero reserved field");
    stage_ = Stage::kAddress;
    switch (message[3]) {
      case 1:
        needed_ = 4 + kPort;
        break;
      case 4:
        needed_ = 16 + kPort;
        break;
      case 3:
        stage_ = Stage::kNameLength;
        needed_ = 1;
        break;
      default:
        return Fail(base::StrCat("unknown address type ",
                                 std::to_string(static_cast<unsigned char>(message[3]))));
    }
    return State::kUnderWay;
  }

  static std::string WrongVersion(std::string_view message) {
    return base::StrCat("unexpected protocol version ",
                        std::to_string(static_cast<unsigned char>(message[0])));
  }

  static std::string ReplyText(unsigned char code) {
    constexpr std::array<std::string_view, 8> kTexts = {
        "general SOCKS server failure", "connection not allowed by ruleset",
        "network unreachable",          "host unreachable",
        "connection refused",           "TTL expired",
        "command not supported",        "address type not supported"};
    if (code <= kTexts.size()) return std::string(kTexts[code - 1U]);
    return base::StrCat("unknown code: ", std::to_string(code));
  }

  static constexpr std::size_t kPort = 2;  // bytes of a port

  const std::optional<User> user_;
  const Url target_;
  const std::string prefix_;
  Stage stage_ = Stage::kMethod;
  std::size_t needed_ = 2;  // bytes of what comes next
  std::string input_;
};

}  // namespace

std::unique_ptr<ProxyDialog> ProxyDialog::Begin(const Url& proxy, const Url& target,
                                                std::string address) {
  if (proxy.scheme == "socks5" || proxy.scheme == "socks5h") {
    return std::make_unique<SocksDialog>(proxy, target, std::move(address));
  }
  return std::make_unique<HttpDialog>(proxy, target);
}

}  // namespace portcullis::net::internal
