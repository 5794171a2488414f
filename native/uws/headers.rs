//! Where the headers are that the server is compiled with: those of the libraries in the process of
//! the `node` in use.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The headers that are included, and the packages of Debian with them.
const HEADERS: [(&str, &str); 4] = [
    ("node_api.h", "libnode-dev"),
    ("uv.h", "libuv1-dev"),
    ("zlib.h", "zlib1g-dev"),
    ("openssl/ssl.h", "libssl-dev"),
];

/// Searched by every compiler. Named to it, the folder would come before those of C++.
const SYSTEM: &str = "/usr/include";

/// The folders of one installation. A release of Node has all headers in one; Debian has those of
/// the libraries that its Node shares with other programs in another one.
pub type Installation = Vec<PathBuf>;

/// Folders that may have the headers, in the order of preference.
pub fn installations() -> Result<Vec<Installation>, Box<dyn Error>> {
    let named = env::var_os("SLOTLINE_NODE_HEADERS").map(|folders| {
        env::split_paths(&folders)
            .filter(|folder| !folder.as_os_str().is_empty())
            .collect()
    });
    let output = Command::new("node")
        .args(["-p", "require('fs').realpathSync(process.execPath)"])
        .output()?;
    let binary = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    let beside = binary.ancestors().nth(2);
    Ok(named
        .into_iter()
        .chain(beside.map(|prefix| with_shared(&prefix.join("include/node"))))
        .chain([with_shared(&Path::new(SYSTEM).join("node"))])
        .collect())
}

/// A folder of Node's headers. That of the system has those of shared libraries above it.
fn with_shared(folder: &Path) -> Installation {
    let above = folder.parent().filter(|above| *above == Path::new(SYSTEM));
    [folder]
        .into_iter()
        .chain(above)
        .map(PathBuf::from)
        .collect()
}

/// Every path that decides which folders are chosen.
pub fn paths(installations: &[Installation]) -> impl Iterator<Item = PathBuf> {
    installations
        .iter()
        .flatten()
        .flat_map(|folder| HEADERS.map(|(file, _)| folder.join(file)))
}

/// The folders to compile with: those of the first complete installation. Two are never mixed,
/// because their libraries may be of other versions than those in the process. The error names
/// what the most complete one lacks, with Debian's packages.
pub fn choose(installations: &[Installation]) -> Result<Vec<PathBuf>, String> {
    let lacking = installations
        .iter()
        .map(|folders| (folders, missing(folders)))
        .min_by_key(|(_, missing)| missing.len());
    match lacking {
        Some((folders, missing)) if missing.is_empty() => Ok(folders
            .iter()
            .filter(|folder| *folder != Path::new(SYSTEM))
            .cloned()
            .collect()),
        Some((_, missing)) => Err(explain(&missing)),
        None => Err(explain(&HEADERS)),
    }
}

fn missing(folders: &[PathBuf]) -> Vec<(&'static str, &'static str)> {
    HEADERS
        .into_iter()
        .filter(|(file, _)| !folders.iter().any(|folder| folder.join(file).exists()))
        .collect()
}

fn explain(missing: &[(&str, &str)]) -> String {
    let (files, packages): (Vec<&str>, Vec<&str>) = missing.iter().copied().unzip();
    format!(
        "no header {} for the Node.js in use; on Debian: apt-get install {}; elsewhere name the \
         folders with the headers in SLOTLINE_NODE_HEADERS, separated by a colon",
        files.join(", "),
        packages.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Makes empty headers below a folder.
    fn make(root: &Path, files: &[&str]) {
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder is made");
            fs::write(path, "").expect("a file is written");
        }
    }

    #[test]
    fn a_release_of_node_has_all_in_one_folder() {
        let root = tempfile::tempdir().expect("a folder is made");
        make(
            root.path(),
            &["node_api.h", "uv.h", "zlib.h", "openssl/ssl.h"],
        );
        let installation = vec![root.path().to_path_buf()];
        assert_eq!(
            choose(&[vec![], installation.clone()]),
            Ok(installation.clone())
        );
        assert_eq!(paths(&[installation]).count(), HEADERS.len());
    }

    #[test]
    fn debian_has_them_in_two_and_the_compiler_searches_one() {
        let root = tempfile::tempdir().expect("a folder is made");
        make(
            root.path(),
            &["node/node_api.h", "uv.h", "zlib.h", "openssl/ssl.h"],
        );
        let folders = vec![root.path().join("node"), root.path().to_path_buf()];
        assert_eq!(choose(std::slice::from_ref(&folders)), Ok(folders));
        assert_eq!(
            with_shared(Path::new("/usr/include/node")),
            ["/usr/include/node", "/usr/include"].map(PathBuf::from)
        );
        assert_eq!(
            with_shared(Path::new("/opt/node/include/node")),
            [PathBuf::from("/opt/node/include/node")],
            "headers of the system are not those of this Node"
        );
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let root = tempfile::tempdir().expect("a folder is made");
        make(root.path(), &["node_api.h", "uv.h", "openssl/ssl.h"]);
        let installation = vec![root.path().to_path_buf()];
        let why = choose(&[vec![], installation, vec![]]).expect_err("zlib.h is missing");
        assert!(why.starts_with("no header zlib.h for"), "{why}");
        assert!(why.contains("apt-get install zlib1g-dev;"), "{why}");
        let all = "apt-get install libnode-dev libuv1-dev zlib1g-dev libssl-dev;";
        assert!(choose(&[]).expect_err("nothing is there").contains(all));
    }

    #[test]
    fn two_installations_are_not_mixed() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().expect("a folder is made"));
        make(one.path(), &["node_api.h"]);
        make(other.path(), &["uv.h", "zlib.h", "openssl/ssl.h"]);
        let alone = [one, other].map(|root| vec![root.path().to_path_buf()]);
        assert!(choose(&alone).is_err());
    }

    #[test]
    fn the_node_in_use_has_candidates() {
        assert!(!installations().expect("node runs").is_empty());
    }
}
