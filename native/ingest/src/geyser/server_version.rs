//! The version that a server says it has, and what is known of it.

use serde_json::Value;

/// Bytes of a version text that are read. Yellowstone's has about 500.
const TEXT_BYTES_MAX: usize = 4_096;
const NAME_CHARS_MAX: usize = 100;
/// The first Yellowstone plugin that sends account updates which arrive while a block is frozen.
const WHOLE_BLOCKS: [u64; 3] = [14, 2, 2];

/// The program of a feed's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    pub name: String,
    /// Whether this version is known to lose account updates.
    pub loses_updates: bool,
}

impl ServerVersion {
    /// Reads the answer of `GetVersion`: JSON with `version.package` and `version.version`, or
    /// any other text.
    pub fn of(text: &str) -> ServerVersion {
        let json = Some(text).filter(|text| text.len() <= TEXT_BYTES_MAX);
        let json = json.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let field = |name| json.as_ref()?.get("version")?.get(name)?.as_str();
        let (package, version) = (field("package"), field("version"));
        let name = match (package, version) {
            (Some(package), Some(version)) => format!("{package} {version}"),
            _ => text.to_string(),
        };
        let is_old = version.and_then(parse).is_some_and(|it| it < WHOLE_BLOCKS);
        ServerVersion {
            name: printable(&name),
            loses_updates: package == Some("yellowstone-grpc-geyser") && is_old,
        }
    }
}

/// The numbers of `14.2.1` or `14.2.1+solana.3`.
fn parse(version: &str) -> Option<[u64; 3]> {
    let version = version.split(['+', '-']).next()?;
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    let parsed = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(parsed)
}

/// A text of the server for one line of a log.
fn printable(text: &str) -> String {
    let printable = text.chars().filter(|c| !c.is_control());
    printable.take(NAME_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_becomes_one_short_line(
            text in "\\PC{0,200}|\\{\"version\":\\{\"package\":\"[a-z]{0,9}\",\"version\":\"[0-9.+-]{0,30}\"\\}\\}"
        ) {
            let ServerVersion { name, .. } = ServerVersion::of(&text);
            prop_assert!(name.chars().count() <= NAME_CHARS_MAX);
            prop_assert!(!name.chars().any(char::is_control));
        }
    }

    #[test]
    fn versions_that_lose_updates_are_named() {
        let yellowstone = |version: &str| {
            let package = "yellowstone-grpc-geyser";
            let json = serde_json::json!({"version": {"package": package, "version": version}});
            ServerVersion::of(&json.to_string())
        };
        for version in ["14.2.1", "14.1.9+solana.3.1", "9.0.0", "12.9.9-rc.1"] {
            assert!(yellowstone(version).loses_updates, "{version}");
        }
        for version in ["14.2.2", "14.10.0", "15.0.0", "14", "main"] {
            assert!(!yellowstone(version).loses_updates, "{version}");
        }
        assert_eq!(yellowstone("9.0.0").name, "yellowstone-grpc-geyser 9.0.0");
    }

    #[test]
    fn any_other_text_is_shown_in_part() {
        let other = r#"{"version":{"package":"richat","version":"9.0.0"}}"#;
        let expected = |name: &str| ServerVersion {
            name: name.to_string(),
            loses_updates: false,
        };
        assert_eq!(ServerVersion::of(other), expected("richat 9.0.0"));
        assert_eq!(ServerVersion::of("a\nb"), expected("ab"));
        assert_eq!(ServerVersion::of(&"x".repeat(9_000)).name.len(), 100);
    }
}
