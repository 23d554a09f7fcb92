//! Writes the initial inputs of every target to a folder each, below the given folder.

use std::path::Path;

use trajet_fuzz::seeds;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).expect("the folder for the seeds");
    for (target, files) in seeds::all() {
        let folder = Path::new(&folder).join(target);
        std::fs::create_dir_all(&folder)?;
        for (k, bytes) in files.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{k:02}")), bytes)?;
        }
    }
    Ok(())
}
