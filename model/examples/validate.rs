//! Prints the validation table, or the subjects that are named; fails when a row does. `cargo xtask validate` runs it.

use std::process::ExitCode;

use rocetop_model::validate::SUBJECTS;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = names.iter().find(|name| SUBJECTS.iter().all(|subject| subject.name != name.as_str())) {
        let known: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
        eprintln!("there is no subject `{unknown}`; these are: {}", known.join(", "));
        return ExitCode::from(2);
    }
    let (mut rows, mut failed) = (0, 0);
    for subject in SUBJECTS.iter().filter(|subject| names.is_empty() || names.iter().any(|name| name == subject.name)) {
        for row in (subject.run)() {
            rows += 1;
            failed += usize::from(!row.pass);
            println!("{} {}", if row.pass { "ok   " } else { "WRONG" }, row.name);
            println!("        target {}", row.target);
            println!("      measured {}", row.measured);
        }
    }
    println!("{rows} checks, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
