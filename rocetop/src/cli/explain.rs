//! `rocetop explain`: what a finding means, and which findings there are.

use std::io::{self, BufWriter, Write};

use anyhow::Context;
use rocetop_analysis::detect::{RULES, Rule, rule};

use super::{Exit, quiet_pipe};
use crate::check::nearest;
use crate::report::text::page::{DIM, HEAD, PLAIN, Page};

/// Explain a finding by its code, or list all of them
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Code of a finding, such as RT001 or 1, or its name
    code: Option<String>,
}

/// What packets cannot show, and where to look for it instead. From what people report and from what a fabric must
/// pass.
const UNSEEN: &[(&str, &str)] = &[
    ("queue drops, buffer headroom", "the switch: drops and buffer use per queue"),
    ("ECN below pause thresholds", "the switch's configuration"),
    ("priority mapping at other hops", "the switches: DSCP and PCP tables"),
    ("which queue marked CE", "the switches: ECN marks per queue, hop by hop"),
    ("pause frames at a host", "ethtool -S: rx_prioN_pause; NICs keep them back"),
    ("load of each uplink", "the switches: counters of all ports of the group"),
    ("cables, optics, FEC", "ethtool -m and -S; the switch's error counters"),
    ("firmware, PCIe, NUMA, heat", "the host: lspci -vv, numactl -H, vendor tools"),
    ("placement of a job's ranks", "the scheduler; the collective library's topology"),
    ("damage behind the NIC", "memory and PCIe error logs; the ICRC ends there"),
    ("verbs traffic on a netdev", "the RDMA device, a switch mirror or a DPU"),
];

/// Runs the command.
///
/// # Errors
/// A code that nobody knows, output that fails.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let known = args.code.as_deref().map(find).transpose()?;
    let mut out = BufWriter::new(anstream::stdout().lock());
    let mut page = Page::new(&mut out);
    let written = match known {
        Some(rule) => explain(&mut page, rule),
        None => list(&mut page),
    };
    written.and_then(|()| out.flush()).or_else(quiet_pipe).context("cannot write the page")?;
    Ok(Exit::Clean)
}

/// By code, its number or name; the error names the nearest.
fn find(text: &str) -> anyhow::Result<&'static Rule> {
    let number = || rule(&format!("RT{:03}", text.parse::<u16>().ok()?));
    if let Some(rule) = rule(text).or_else(number) {
        return Ok(rule);
    }
    let word = nearest(text, RULES.iter().flat_map(|r| [r.code, r.name]));
    let nearest = RULES.iter().find(|r| [r.code, r.name].contains(&word));
    let nearest = nearest.map_or(String::new(), |r| format!("; did you mean {} ({})?", r.code, r.name));
    anyhow::bail!("no finding has the code '{text}'{nearest} `rocetop explain` lists all of them");
}

fn list(page: &mut Page<'_, impl Write>) -> io::Result<()> {
    page.words(HEAD, "", "Findings")?;
    for rule in RULES {
        page.words(PLAIN, &format!("{}  {:<8}  ", rule.code, rule.severity.name()), rule.title)?;
    }
    page.gap()?;
    page.words(DIM, "", "The severity is the worst that a finding can have. `rocetop explain RT001` says more.")?;
    page.gap()?;
    page.words(HEAD, "", "Cannot be seen from packets")?;
    let width = UNSEEN.iter().map(|(what, _)| what.len()).max().unwrap_or_default();
    for (what, place) in UNSEEN {
        page.words(PLAIN, &format!("{what:<width$}  "), place)?;
    }
    Ok(())
}

/// The page of a rule: paragraphs filled to the width, headings in bold, what is fenced as it stands.
fn explain(page: &mut Page<'_, impl Write>, rule: &Rule) -> io::Result<()> {
    page.words(HEAD, "", &format!("{}  {} ({})", rule.code, rule.name, rule.severity.name()))?;
    page.gap()?;
    let mut paragraph = String::new();
    let mut fenced = false;
    for line in rule.page() {
        let heading = line.strip_prefix("# ").filter(|_| !fenced);
        let fence = line.starts_with("```");
        if (fence || fenced || line.is_empty() || heading.is_some()) && !paragraph.is_empty() {
            page.words(PLAIN, "", &std::mem::take(&mut paragraph))?;
        }
        if fence {
            fenced = !fenced;
        } else if fenced {
            page.verbatim(&format!("    {line}"))?;
        } else if let Some(heading) = heading {
            page.words(HEAD, "", heading)?;
        } else if line.is_empty() {
            page.gap()?;
        } else {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(line);
        }
    }
    if !paragraph.is_empty() {
        page.words(PLAIN, "", &paragraph)?;
    }
    page.gap()?;
    page.words(PLAIN, "Needs: ", rule.needs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(write: impl FnOnce(&mut Page<'_, Vec<u8>>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut Page::new(&mut out)).unwrap();
        anstream::adapter::strip_bytes(&out).into_vec().try_into().unwrap()
    }

    #[test]
    fn every_page_fits_a_terminal() {
        for rule in RULES {
            let text = shown(|page| explain(page, rule));
            // What is to be copied stays in one piece.
            let long = text.lines().find(|l| l.chars().count() > 80 && !l.starts_with("    "));
            assert_eq!(long, None, "{}", rule.code);
            for heading in ["What it detects", "Why it hurts", "How it decides", "What could fool it", "References"] {
                assert!(text.lines().any(|l| l == heading), "{}: {heading}", rule.code);
            }
            assert!(!text.contains("```"), "{}", rule.code);
        }
    }

    #[test]
    fn the_list_fits_too() {
        let text = shown(list);
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        assert!(text.contains("RT008  critical  a responder refused a request for good\n"), "{text}");
    }

    #[test]
    fn codes_and_names_in_any_case() {
        for text in ["RT008", "rt008", "fatal_nak", "Fatal_NAK", "8", "008"] {
            assert_eq!(find(text).unwrap().code, "RT008");
        }
    }

    #[test]
    fn the_nearest_is_named() {
        let error = |text| find(text).map(|r| r.code).unwrap_err().to_string();
        assert!(error("RT08").contains("'RT08'; did you mean RT008 (fatal_nak)?"), "{}", error("RT08"));
        assert!(error("timeout").contains("did you mean RT003 (timeouts)?"), "{}", error("timeout"));
    }
}
