//! Any bytes as a compressed file of runs, as `spare check` reads it: checked or refused, with and without going on over bad records.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use spare::cli;

/// A folder of this process's own.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("spare-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    folder
});

pub fn compressed(data: &[u8]) {
    for name in ["a.jsonl.gz", "a.json.zst"] {
        let path = FOLDER.join(name);
        fs::write(&path, data).expect("the folder for temporary files can be written");
        for tolerant in [false, true] {
            let mut args = vec![
                "spare".into(),
                "check".into(),
                path.clone().into_os_string(),
            ];
            args.extend(tolerant.then(|| "--tolerant".into()));
            let _ = cli::run(args);
        }
    }
}
