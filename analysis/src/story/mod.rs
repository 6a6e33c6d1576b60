//! What happened to the requests of one flow, and why: where the tap stood, what was lost, late, repeated and answered.
//!
//! A story belongs to the flow that carries the requests; what answers them arrives on its peer.

pub mod report;

pub use report::StoryReport;
