//! Figures in sentences: the same in findings and in every report.

/// With thousands separators: `1,234,567`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i != 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 request`, `2 requests`, `3 losses`.
#[must_use]
pub fn counted(n: u64, what: &str) -> String {
    let many = match n {
        1 => "",
        _ if ["s", "x", "ch", "sh"].iter().any(|end| what.ends_with(end)) => "es",
        _ => "s",
    };
    format!("{} {what}{many}", count(n))
}
