//! Recall on documents that no generator made.

use spare_read_eval::{Error, documents as crates};

use crate::Options;

/// Recall on files of packages; `--sources` is where cargo unpacked them (`registry/src/INDEX` of its home).
pub(crate) fn documents(options: &Options) -> Result<(), Error> {
    let sources = options
        .value("--sources")
        .ok_or_else(|| Error::Usage("expected --sources FOLDER".into()))?;
    let budget = options.number("--budget", 1_200.0)? as usize;
    let (mut shown, mut asked) = (0, 0);
    for document in crates::documents()? {
        let Some((status, hit)) = crates::ask(&document, std::path::Path::new(sources), budget)?
        else {
            println!("{}/{}: not here", document.package, document.file);
            continue;
        };
        asked += 1;
        shown += usize::from(hit);
        println!(
            "{} {status:?}: {}/{}: {}",
            if hit { "found " } else { "missed" },
            document.package,
            document.file,
            document.question
        );
    }
    println!(
        "{shown} of {asked}: {} %",
        spare_read_eval::statistics::rate(shown, asked)
    );
    Ok(())
}
