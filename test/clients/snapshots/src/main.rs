//! `snapshot-reader <archive.tar.zst>` prints every account that Agave finds in it, one line each,
//! in the archive's order: `slot pubkey lamports rentEpoch owner executable sha256(data)`.

use std::fs::File;
use std::io::{BufWriter, Write};

use sha2::{Digest, Sha256};
use solana_accounts_db::accounts_file::{AccountsFile, StorageAccess};

fn main() {
    let archive = std::env::args().nth(1).expect("an archive");
    let plain = zstd::Decoder::new(File::open(archive).expect("a file")).expect("zstd");
    let folder = tempfile::tempdir().expect("a folder");
    let mut out = BufWriter::new(std::io::stdout().lock());
    for member in tar::Archive::new(plain).entries().expect("a tar") {
        let mut member = member.expect("a member");
        let name = member.path().expect("a name").display().to_string();
        let Some((slot, _)) = name
            .strip_prefix("accounts/")
            .and_then(|name| name.split_once('.'))
        else {
            continue;
        };
        let path = folder.path().join("storage");
        std::io::copy(&mut member, &mut File::create(&path).expect("a file")).expect("room");
        let bytes = member.size() as usize;
        if bytes > 0 {
            print(&path, bytes, slot, &mut out);
        }
    }
    out.flush().expect("a listener");
}

fn print(path: &std::path::Path, bytes: usize, slot: &str, out: &mut impl Write) {
    let file = AccountsFile::new_for_startup(path, bytes, StorageAccess::File).expect("a storage");
    let mut offsets = Vec::new();
    file.scan_accounts_without_data(|offset, _| offsets.push(offset))
        .expect("accounts");
    for offset in offsets {
        let line = file.get_stored_account_callback(offset, |account| {
            let digest = Sha256::digest(account.data);
            format!(
                "{slot} {} {} {} {} {} {digest:x}",
                account.pubkey,
                account.lamports,
                account.rent_epoch,
                account.owner,
                account.executable
            )
        });
        writeln!(out, "{}", line.expect("an account")).expect("a listener");
    }
}
