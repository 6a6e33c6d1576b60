//! Three senders that meet before a trunk of 50 us, under DCQCN, each with a message of `bytes` for the fourth host.

/// The scenario's text; `switch` and `nic` are more lines of their tables.
pub(crate) fn dumbbell(bytes: &str, switch: &str, nic: &str) -> String {
    format!(
        "
[fabric]
shape = \"dumbbell\"
left = 3
right = 1
trunk = {{ rate = \"100 Gb/s\", delay = \"50 us\" }}
[switch]
buffer = {{ per_port = \"4 MB\" }}
marking = {{ kmin = \"5 kB\", kmax = \"40 kB\", pmax_ppm = 1000000 }}
{switch}
[nic]
{nic}
[cc]
name = \"dcqcn\"
[[traffic]]
kind = \"incast\"
from = \"0-2\"
to = 3
bytes = \"{bytes}\"
"
    )
}
