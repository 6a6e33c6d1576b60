//! The validation table: `validate [WORD] [--how]`, the checks whose name has the word, or all. Exit code 1 where one fails.

use rocetop_model::validate::CHECKS;

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let word = args.iter().find(|arg| !arg.starts_with("--")).map_or("", String::as_str);
    let how = args.iter().any(|arg| arg == "--how");
    let mut failed = 0;
    for check in CHECKS.iter().flat_map(|checks| checks.iter()).filter(|check| check.name.contains(word)) {
        let row = check.run();
        failed += usize::from(!row.pass);
        println!("{} {}", if row.pass { "pass" } else { "FAIL" }, row.name);
        println!("     target   {} ({})", row.target, row.source);
        println!("     measured {}", row.measured);
        if how {
            println!("     {}", check.how);
        }
    }
    if failed == 0 { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
