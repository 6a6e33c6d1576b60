//! The rocetop library: sources, command line, reports.
