//! Link layers: Ethernet and its tags, Linux cooked, ERF, pause frames.
