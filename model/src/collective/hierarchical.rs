//! All-reduce in stages (SYSTEMS J1): reduce-scatter inside each server, a ring across servers for each GPU's part,
//! all-gather inside. What crosses the network is an nth of the data for each of a server's n GPUs, on n rails at once.

use super::Job;
use crate::units::{Bytes, Rate, Time};

/// The three stages. The last server may have fewer ranks; those beyond what all servers have join the stages inside.
pub fn play(job: &mut Job<'_>, bytes: Bytes) {
    let all = job.all();
    let per = job.shape.per_server.max(1);
    let servers: Vec<&[usize]> = all.chunks(per).collect();
    inside(job, &servers, bytes, 0);
    let widest = servers.iter().map(|server| server.len()).max().unwrap_or(0);
    for rail in 0..widest {
        let members: Vec<usize> = servers.iter().filter_map(|server| server.get(rail).copied()).collect();
        let part = Job::part(bytes, rail as u64, widest as u64);
        job.round(&members, part, 0);
        job.round(&members, part, 1);
    }
    inside(job, &servers, bytes, 1);
}

/// A stage inside the servers: over NVLink it is a time, over the network a ring.
fn inside(job: &mut Job<'_>, servers: &[&[usize]], bytes: Bytes, offset: usize) {
    for server in servers {
        match job.shape.inside {
            Some(rate) => {
                let time = stage(rate, server.len(), bytes);
                for rank in *server {
                    job.compute_at(*rank, time);
                }
                job.meet(server);
            }
            None => job.round(server, bytes, offset),
        }
    }
}

/// (n-1)/n of the data at the rate inside.
fn stage(rate: Rate, ranks: usize, bytes: Bytes) -> Time {
    let n = ranks.max(1) as u64;
    rate.time_for(Bytes(bytes.0 - bytes.0 / n))
}
