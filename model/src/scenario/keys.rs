//! What a scenario may say, in its own words.

/// Every key with its default, or an example where it is needed, as TOML to take parts of. Blocks of one table are
/// alternatives.
pub const KEYS: &str = include_str!("keys.toml");

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::KEYS;
    use crate::cc;
    use crate::engine::Settings;
    use crate::nic::Receives;
    use crate::routing;
    use crate::scenario::Scenario;
    use crate::switch::{Lanes, Marking, Watchdog};
    use crate::workload::Admission;

    const FABRIC: &str = "[fabric]\nshape = \"star\"\nhosts = 4\n";
    const TRAFFIC: &str = "[[traffic]]\nkind = \"incast\"\nto = 0\nbytes = 1\n";

    /// Each block: what stands above its first key, and its lines.
    fn blocks() -> Vec<(&'static str, Vec<&'static str>)> {
        let mut blocks = vec![("", Vec::new())];
        for line in KEYS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix('[') {
                Some(_) => blocks.push((line, Vec::new())),
                None => blocks.last_mut().unwrap().1.push(line),
            }
        }
        blocks
    }

    /// All that a scenario with the block says, but for its lines.
    fn played(head: &str, lines: &[&str]) -> String {
        let block = format!("{head}\n{}\n", lines.join("\n"));
        let text = match head {
            "" => block + FABRIC + TRAFFIC,
            "[fabric]" => block + TRAFFIC,
            "[[traffic]]" => block + FABRIC,
            // Both lanes are lossless, or none is.
            "[switch.lanes]" => FABRIC.to_owned() + TRAFFIC + "[switch]\nlossless = [3, 4]\n" + &block,
            _ => FABRIC.to_owned() + TRAFFIC + &block,
        };
        let file = "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 1\n";
        let scenario = Scenario::parse_with(&text, &mut |_| Ok(file.to_owned()));
        let s = scenario.unwrap_or_else(|faults| panic!("{faults}\n{text}"));
        let what = (&s.name, &s.about, &s.fabric, &s.settings, &s.traffic, &s.admission);
        format!("{what:?} {:?} {} {:?} {:?} {:?}", s.until, s.hops, s.bin, s.watched, s.taps)
    }

    fn is_needed(line: &str) -> bool {
        let names = ["name = ", "kind = ", "shape = "].iter().any(|name| line.starts_with(name));
        names || ["needed", "without it"].iter().any(|word| line.contains(word))
    }

    #[test]
    fn every_default_is_the_default_and_every_example_is_right() {
        for (head, lines) in blocks() {
            let needed: Vec<_> = lines.iter().copied().filter(|line| is_needed(line)).collect();
            assert_eq!(played(head, &lines), played(head, &needed), "{head} {lines:?}");
        }
    }

    /// The keys of a table, its tables and theirs among them; of alternatives those of the one with the name.
    fn keys(table: &str, name: &str) -> Vec<&'static str> {
        let is_of = |lines: &[&str]| name.is_empty() || lines.iter().any(|line| line.contains(&format!("= {name:?}")));
        let mut keys = Vec::new();
        for (head, lines) in blocks().into_iter().filter(|(head, lines)| head.starts_with(table) && is_of(lines)) {
            keys.extend(head.trim_matches(['[', ']']).split('.').next_back());
            keys.extend(lines.iter().filter_map(|line| Some(line.split_once(" = ")?.0)));
        }
        keys
    }

    /// Every field is a key (see [`crate::scenario::knobs`]).
    fn covers(table: &str, name: &str, settings: &dyn Debug) {
        let told = format!("{settings:#?}");
        let depth = |line: &str| line.len() - line.trim_start().len();
        let fields: Vec<_> = told.lines().filter_map(|line| Some((depth(line), line.split_once(": ")?.0))).collect();
        let least = fields.iter().map(|(depth, _)| *depth).min();
        let own = fields.into_iter().filter(|(depth, _)| Some(*depth) == least).map(|(_, field)| field.trim_start());
        let missing: Vec<_> = own.filter(|field| !keys(table, name).contains(field)).collect();
        assert_eq!(missing, [""; 0], "{table} {name}");
    }

    /// The other tables' keys are read one by one, and no list of them is to be had here.
    #[test]
    fn no_setting_is_forgotten() {
        let settings = Settings::default();
        covers("[switch", "", &settings.switch);
        covers("[switch.buffer", "", &settings.switch.buffer);
        covers("[switch.scheduler", "", &settings.switch.scheduler);
        covers("[switch.marking", "", &Marking::default());
        covers("[switch.lanes", "", &Lanes::default());
        covers("[switch.watchdog", "", &Watchdog::default());
        covers("[nic", "", &settings.nic);
        covers("[nic.receives", "", &Receives::default());
        covers("[detection", "", &settings.detection);
        covers("[admission", "", &Admission::default());
        for cc in cc::Settings::all() {
            covers("[cc", cc.name(), &cc);
        }
        for routing in routing::Settings::all() {
            covers("[routing", routing.name(), &routing);
        }
    }
}
