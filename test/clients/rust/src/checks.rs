use std::fmt::Debug;

/// Prints the results of checks as TAP.
#[derive(Default)]
pub struct Checks {
    count: usize,
}

impl Checks {
    pub fn ok(&mut self, is_right: bool, what: &str) {
        self.count += 1;
        let outcome = if is_right { "ok" } else { "not ok" };
        println!("{outcome} {} - {what}", self.count);
    }

    pub fn equal<T: PartialEq + Debug>(&mut self, found: T, wanted: T, what: &str) {
        self.ok(found == wanted, what);
        if found != wanted {
            println!("# found {found:?}, wanted {wanted:?}");
        }
    }

    pub fn end(&self) {
        println!("1..{}", self.count);
    }
}
