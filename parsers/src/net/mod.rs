//! Network layers: IPv4, IPv6, UDP, and the tunnels that mirrors use.
