#include "almond/view/host.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"

namespace almond {
namespace {

std::optional<in_addr> parse_ipv4(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ? std::optional(address) : std::nullopt;
}

std::optional<in6_addr> parse_ipv6(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET6, host.c_str(), &address) == 1 ? std::optional(address) : std::nullopt;
}

/// The text of an address that is neither this machine's alone nor this cable's alone.
std::string text_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address != nullptr && address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
  } else if (address != nullptr && address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    if (!IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  }
  return text;
}

}  // namespace

bool is_loopback(const std::string& host) {
  if (const std::optional<in_addr> v4 = parse_ipv4(host)) return ntohl(v4->s_addr) >> 24U == 127U;
  if (const std::optional<in6_addr> v6 = parse_ipv6(host)) return IN6_IS_ADDR_LOOPBACK(&*v6) != 0;
  return host == "localhost";
}

bool is_everywhere(const std::string& host) {
  if (const std::optional<in_addr> v4 = parse_ipv4(host)) return v4->s_addr == INADDR_ANY;
  if (const std::optional<in6_addr> v6 = parse_ipv6(host)) return IN6_IS_ADDR_UNSPECIFIED(&*v6) != 0;
  return false;
}

void check_host(const std::string& host) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  const int failure = getaddrinfo(host.c_str(), "0", &wanted, &found);
  require(failure == 0, "--host " + quote(host) + ": cannot be resolved (" + gai_strerror(failure) +
                            "), expected an address of this machine");
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int trial = ::socket(each->ai_family, each->ai_socktype, each->ai_protocol);
    const bool own = trial >= 0 && ::bind(trial, each->ai_addr, each->ai_addrlen) == 0;
    if (trial >= 0) ::close(trial);
    if (own) return;
  }
  throw Error("--host " + quote(host) + ": is no address of this machine");
}

std::string in_brackets(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string reachable_address() {
  std::string v4, v6;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "localhost";
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if ((each->ifa_flags & IFF_LOOPBACK) != 0 || (each->ifa_flags & IFF_UP) == 0) continue;
    const std::string text = text_of(each->ifa_addr);
    std::string& kept = text.find(':') == std::string::npos ? v4 : v6;
    if (kept.empty()) kept = text;
  }
  freeifaddrs(all);
  return !v4.empty() ? v4 : !v6.empty() ? v6 : "localhost";
}

}  // namespace almond
