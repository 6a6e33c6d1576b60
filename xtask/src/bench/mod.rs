//! `bench`: what an analysis costs, as ratios to what was run beside it on the same machine. Never a test: figures
//! depend on the machine, and a reader judges them.

pub(crate) mod crc;
mod ebpf;
pub(crate) mod generate;
mod measure;
mod model;
mod packet;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::sh;
use generate::{FLOOD, LARGE, MANY, Plan, SMALL};
use measure::{Cost, Line, interleaved};

pub(crate) const ARGS: &str = "[analyze | ebpf | model]";

/// Runs of each command; the median counts.
const ROUNDS: usize = 7;

/// A line of the result: what was measured, the figure, what it should be at most, and how it came about.
struct Row {
    what: &'static str,
    figure: String,
    target: &'static str,
    how: String,
}

struct Bench {
    rocetop: PathBuf,
    folder: PathBuf,
    rows: Vec<Row>,
}

pub(crate) fn run(args: &[String]) -> Result<bool> {
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] | ["analyze"] => analyze(),
        ["ebpf"] => ebpf::run(),
        ["model"] => {
            print!("{}", table(&model::run()?));
            Ok(true)
        }
        other => bail!("bench knows `analyze`, `ebpf` and `model`, not `{}`", other.join(" ")),
    }
}

fn analyze() -> Result<bool> {
    let mut bench = Bench { rocetop: sh::rocetop()?, folder: sh::target()?.join("bench"), rows: Vec::new() };
    bench.against_tcpdump()?;
    bench.against_tshark()?;
    bench.against_crc()?;
    bench.memory()?;
    let same = bench.threads()?;
    print!("{}", table(&bench.rows));
    if !same {
        println!("\nWRONG: one thread and two print different bytes");
    }
    Ok(same)
}

impl Bench {
    fn file(&self, plan: &Plan) -> Result<PathBuf> {
        eprintln!("{}: {}", plan.name, plan.about);
        generate::file(plan, &self.folder)
    }

    fn analyze(&self, file: &Path, more: &[&str]) -> Line {
        let mut words: Vec<&OsStr> =
            vec![self.rocetop.as_os_str(), "analyze".as_ref(), file.as_os_str(), "--json".as_ref()];
        words.extend(more.iter().map(OsStr::new));
        Line::new(&words)
    }

    fn row(&mut self, what: &'static str, figure: String, target: &'static str, how: String) {
        eprintln!("  {what}: {figure}");
        self.rows.push(Row { what, figure, target, how });
    }

    /// Reading and writing every frame is the least that a capture tool does.
    fn against_tcpdump(&mut self) -> Result<()> {
        let file = self.file(&SMALL)?;
        if !sh::has("tcpdump") {
            self.row("CPU, counts / tcpdump", "-".into(), "<= 1.2", "tcpdump is not installed".into());
            return Ok(());
        }
        let words: [&OsStr; 5] =
            ["tcpdump".as_ref(), "-r".as_ref(), file.as_os_str(), "-w".as_ref(), "/dev/null".as_ref()];
        let counts = self.analyze(&file, &["--no-stories", "--threads", "1"]);
        let stories = self.analyze(&file, &["--threads", "1"]);
        let costs = interleaved(&[counts, Line::new(&words), stories], ROUNDS)?;
        if let [counts, theirs, whole] = costs.as_slice() {
            let how = format!("{} / {} (--no-stories; tcpdump -r FILE -w /dev/null)", cpu(counts), cpu(theirs));
            self.row("CPU, counts / tcpdump", ratio(counts, theirs), "<= 1.2", how);
            let how = format!("{} / {} (stories and findings; --no-stories)", cpu(whole), cpu(counts));
            self.row("CPU, stories / counts", ratio(whole, counts), "<= 1.6", how);
        }
        Ok(())
    }

    /// By what a person waits for, on the threads that rocetop takes where nothing is said; what is bounded is the
    /// analysis that is held against tcpdump, and the stories on top of it are shown beside it. By CPU on one thread
    /// without a bound: an 80th of tshark's is less than tcpdump takes to read and write. tshark is slow enough that
    /// one run of it must do.
    fn against_tshark(&mut self) -> Result<()> {
        let file = self.file(&SMALL)?;
        if !sh::has("tshark") {
            self.row("wall, tshark / counts", "-".into(), ">= 80", "tshark is not installed".into());
            return Ok(());
        }
        let words: [&OsStr; 4] = ["tshark".as_ref(), "-n".as_ref(), "-r".as_ref(), file.as_os_str()];
        let theirs = Line::new(&words).cost()?;
        let lines = [&["--threads", "1"][..], &["--no-stories"], &[]].map(|more| self.analyze(&file, more));
        if let [alone, counts, whole] = interleaved(&lines, ROUNDS)?.as_slice() {
            let how = format!("{} / {} (--threads 1; tshark -n -r FILE, one run)", cpu(alone), cpu(&theirs));
            self.row("CPU, small frames / tshark", ratio(alone, &theirs), "-", how);
            for (what, target, options, ours) in [
                ("wall, tshark / counts", ">= 80", "--no-stories", counts),
                ("wall, tshark / stories", "-", "no options", whole),
            ] {
                let [ours, theirs] = [ours, &theirs].map(|cost| cost.wall.as_secs_f64().max(1e-6));
                let how = format!("{theirs:.1} s / {ours:.3} s (tshark -n -r FILE, one run; {options})");
                self.row(what, format!("{:.0}", theirs / ours), target, how);
            }
        }
        Ok(())
    }

    /// Checking every ICRC means reading every byte once.
    fn against_crc(&mut self) -> Result<()> {
        let file = self.file(&LARGE)?;
        let me = std::env::current_exe()?;
        let bare = Line::new(&[me.as_os_str(), "bench-crc".as_ref(), file.as_os_str()]);
        if let [ours, theirs] = interleaved(&[self.analyze(&file, &["--threads", "1"]), bare], ROUNDS)?.as_slice() {
            let how = format!("{} / {} (one CRC-32 over the mapped file)", cpu(ours), cpu(theirs));
            self.row("CPU, 4 KiB frames / bare CRC", ratio(ours, theirs), "<= 2.0", how);
        }
        Ok(())
    }

    /// Two threads must save time and change nothing; whether they change nothing.
    fn threads(&mut self) -> Result<bool> {
        let mut same = true;
        for (plan, what) in
            [(SMALL, "wall, two threads / one, small frames"), (LARGE, "wall, two threads / one, 4 KiB")]
        {
            let file = self.file(&plan)?;
            let threads = ["1", "2"].map(|n| self.analyze(&file, &["--threads", n]));
            let outputs = threads.iter().map(Line::output).collect::<Result<Vec<_>>>()?;
            same &= outputs.windows(2).all(|pair| pair.first() == pair.last());
            drop(outputs);
            let [one, two] = threads;
            // What the machine itself gives: no program can gain more than two that share nothing.
            let both = one.twice_at_once();
            if let [one, two, both] = interleaved(&[one, two, both], ROUNDS * 3)?.as_slice() {
                let seconds = |cost: &Cost| cost.wall.as_secs_f64().max(1e-6);
                let figure = format!("{:.2}", seconds(two) / seconds(one));
                let how = format!(
                    "{:.3} s / {:.3} s; two runs at once take {:.3} s, so {:.2} is this machine's best",
                    seconds(two),
                    seconds(one),
                    seconds(both),
                    seconds(both) / seconds(one) / 2.0
                );
                self.row(what, figure, "<= 0.625", how);
            }
        }
        let word = if same { "yes" } else { "NO" };
        self.row("two threads, the same bytes", word.into(), "yes", "all of the JSON report".into());
        Ok(same)
    }

    fn memory(&mut self) -> Result<()> {
        for (plan, what, target) in [
            (SMALL, "memory, small frames", "<= 64 MiB"),
            (LARGE, "memory, 4 KiB frames", "<= 64 MiB"),
            (MANY, "memory, 10,000 flows", "<= 64 MiB"),
            (FLOOD, "memory, flood", "-"),
        ] {
            let file = self.file(&plan)?;
            let costs = interleaved(&[self.analyze(&file, &[])], 3)?;
            let Some(cost) = costs.first() else { continue };
            // Nothing is mapped: the peak is all there is.
            let own = cost.peak;
            let how = format!("peak of the process; {} of CPU", cpu(cost));
            self.row(what, format!("{} MB", mega(own)), target, how);
            if plan.flows == FLOOD.flows {
                let each = own / u64::from(plan.flows);
                self.row("memory, a flow of the flood", format!("{each} B"), "<= 400 B", "of the line above".into());
            }
            if plan.flows == MANY.flows
                && let [counts] = interleaved(&[self.analyze(&file, &["--no-stories"])], 3)?.as_slice()
            {
                let story = own.saturating_sub(counts.peak) * 2 / u64::from(plan.flows);
                let how = "both ends send and wait for 32 answers each; --no-stories taken off".into();
                self.row("memory, story of a connection", format!("{story} B"), "<= 2048 B", how);
            }
        }
        Ok(())
    }
}

fn cpu(cost: &Cost) -> String {
    format!("{:.3} s", cost.cpu.as_secs_f64())
}

fn ratio(ours: &Cost, theirs: &Cost) -> String {
    format!("{:.3}", ours.cpu.as_secs_f64() / theirs.cpu.as_secs_f64().max(1e-6))
}

fn mega(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

fn table(rows: &[Row]) -> String {
    let mut text = format!("{:<30} {:>10} {:>10}   {}\n", "measured", "figure", "target", "how");
    for Row { what, figure, target, how } in rows {
        text += &format!("{what:<30} {figure:>10} {target:>10}   {how}\n");
    }
    text + "CPU is user and system time of the child; medians of interleaved runs.\n"
}
