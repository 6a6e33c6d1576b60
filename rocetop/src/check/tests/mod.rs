mod evaluate;
mod file;
