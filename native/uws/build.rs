//! Compiles uWebSockets, uSockets and the binding in `cpp/`. Their sources are in a crate that
//! Cargo downloads and checks; a copy of them is patched. Where something is missing the build
//! fails with one line that says what to install.

mod headers;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The C files of uSockets that a server on libuv needs. Its own TLS is left out for `cpp/tls.cpp`.
const C_FILES: [&str; 6] = [
    "bsd.c",
    "context.c",
    "loop.c",
    "socket.c",
    "udp.c",
    "eventing/libuv.c",
];

fn main() {
    for path in [
        "build.rs",
        "headers.rs",
        "cpp",
        "patches",
        "sources/Cargo.lock",
    ] {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rerun-if-env-changed=SLOTLINE_NODE_HEADERS");
    if let Err(error) = compile() {
        let why = error.to_string().replace('\n', " ");
        println!("cargo::error=the server cannot be compiled: {why}");
    }
}

fn compile() -> Result<()> {
    let installations = headers::installations()?;
    for path in headers::paths(&installations) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let headers = headers::choose(&installations)?;
    let sources = PathBuf::from(std::env::var("OUT_DIR")?).join("sources");
    if sources.exists() {
        fs::remove_dir_all(&sources)?;
    }
    copy(&crate_folder()?.join("uWebSockets"), &sources)?;
    patch(&sources)?;
    let own = ["src", "uSockets/src"].map(|folder| sources.join(folder));
    let includes: Vec<PathBuf> = own
        .into_iter()
        .chain([PathBuf::from("cpp")])
        .chain(headers)
        .collect();
    let compiler = |is_cpp: bool| {
        let mut build = cc::Build::new();
        build
            .includes(&includes)
            .define("LIBUS_USE_LIBUV", None)
            .define("LIBUS_NO_SSL", None)
            .flag("-fvisibility=hidden")
            .opt_level(2)
            .warnings(false);
        if std::env::var_os("CARGO_FEATURE_SANITIZED").is_some() {
            build
                .flag("-fsanitize=address,undefined")
                .flag("-fno-sanitize-recover=all")
                .flag("-fno-omit-frame-pointer")
                .debug(true);
        }
        if is_cpp {
            // uWebSockets.js may be loaded beside it, as in a benchmark: they share no symbol.
            build
                .cpp(true)
                .std("c++20")
                .flag_if_supported("-fno-gnu-unique");
        }
        build
    };
    demand(&compiler(true))?;
    let c_files = C_FILES.map(|file| sources.join("uSockets/src").join(file));
    // Linked after the C++ that uses it.
    compiler(true)
        .files(["cpp/server.cpp", "cpp/tls.cpp", "cpp/certificates.cpp"])
        .try_compile("slotline_server")?;
    compiler(false).files(c_files).try_compile("usockets")?;
    Ok(())
}

/// Fails where the C++ compiler cannot be run. A crate that is C finds that of C before.
fn demand(build: &cc::Build) -> Result<()> {
    let path = build.try_get_compiler()?.path().to_path_buf();
    match Command::new(&path).arg("--version").output() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "no C++ compiler {}: {error}; on Debian: apt-get install g++; elsewhere name one in CXX",
            path.display()
        )
        .into()),
    }
}

/// Where Cargo has unpacked the crate with the sources.
fn crate_folder() -> Result<PathBuf> {
    let output = Command::new(std::env::var("CARGO")?)
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--manifest-path", "sources/Cargo.toml"])
        .args(["--filter-platform", &std::env::var("TARGET")?])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr)
            .replace('\n', " ")
            .into());
    }
    let metadata = String::from_utf8(output.stdout)?;
    metadata
        .split('"')
        .find(|text| text.contains("libuwebsockets-sys-") && text.ends_with("/Cargo.toml"))
        .and_then(|manifest| Some(Path::new(manifest).parent()?.to_path_buf()))
        .ok_or_else(|| "Cargo does not know the crate with the sources".into())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Applies the patches in the order of their names. A patch begins with its reasons. A diff follows
/// for each file that it changes, which names that file after `+++ b/`.
fn patch(sources: &Path) -> Result<()> {
    let mut patches: Vec<PathBuf> = fs::read_dir("patches")?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    patches.retain(|path| path.extension().is_some_and(|ending| ending == "patch"));
    patches.sort();
    for path in patches {
        let text = fs::read_to_string(&path)?;
        let explain = |error: &dyn Error| format!("{}: {error}", path.display());
        let (_, diffs) = text
            .split_once("\n--- a/")
            .ok_or("a patch without a file")?;
        for diff in diffs.trim_end_matches('\n').split("\n--- a/") {
            let diff = format!("--- a/{diff}\n");
            let patch = diffy::Patch::from_str(&diff).map_err(|error| explain(&error))?;
            let name = patch.modified().and_then(|name| name.strip_prefix("b/"));
            let target = sources.join(name.ok_or("a patch without a file")?);
            let patched = diffy::apply(&fs::read_to_string(&target)?, &patch);
            fs::write(&target, patched.map_err(|error| explain(&error))?)?;
        }
    }
    Ok(())
}
