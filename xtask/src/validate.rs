//! `validate`: the model against closed forms and published figures.

use anyhow::Result;

use crate::sh;

pub(crate) const ARGS: &str = "[SUBJECT..]";

pub(crate) fn run(args: &[String]) -> Result<bool> {
    let mut cargo = sh::cargo();
    cargo.args(["run", "--quiet", "--release", "--package", "rocetop-model", "--example", "validate", "--"]).args(args);
    sh::run(&mut cargo)
}
