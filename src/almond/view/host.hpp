#pragma once
// Names and addresses that a server listens at.

#include <string>

namespace almond {

/// Whether only this machine can reach it: localhost, 127.x.x.x, ::1 in any spelling.
[[nodiscard]] bool is_loopback(const std::string& host);
/// Whether it stands for all addresses of this machine: 0.0.0.0, :: in any spelling.
[[nodiscard]] bool is_everywhere(const std::string& host);
/// Throws Error unless it is, or names, an address of this machine.
void check_host(const std::string& host);
/// As it stands in an address of the web: [::1].
[[nodiscard]] std::string in_brackets(const std::string& host);
/// An address of this machine that others can reach; localhost where it has none.
[[nodiscard]] std::string reachable_address();

}  // namespace almond
