//! Where the tap stands: never the wrong end.
