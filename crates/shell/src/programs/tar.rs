//! `tar`: it lists, or it writes what an archive says.

use super::{doubt, option, runs};
use crate::analysis::{Command, Nature};
use crate::builder::AnalysisBuilder;
use crate::options::{self, OptionScan};
use crate::reason::{Concern, Reason};
use crate::word::Word;

const LISTING: &str = "-tvzjJa -f=< -C=< --list --verbose --gzip --bzip2 --xz --zstd --auto-compress --file=< --directory=< --exclude= \
    --wildcards \
    --strip-components= --no-same-owner \
    -cxruA -p -k -m -O -h -P -T=! -X=< -I=! -F=! -K= -N= -b= --create --extract --get --append --update --concatenate --to-stdout \
    --keep-old-files \
    --to-command=! --checkpoint=! --checkpoint-action=! --use-compress-program=! --info-script=! --new-volume-script=! --rsh-command=! \
    --rmt-command=! --files-from=! --one-top-level? --transform=! --xform=! --absolute-names --index-file=> --volno-file=>";

pub(super) fn evaluate(command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = Nature::ReadsOnly;
    let arguments = dashed(&command.arguments);
    let scan = options::scan(LISTING, &arguments);
    doubt(command, &scan);
    if !lists(&scan) {
        command.nature = Nature::Ordinary;
        command.notes.push(Reason::new(Concern::Target, "tar: what it writes is decided by the archive; only listing with -t is known"));
    }
    for given in &scan.given {
        // With a colon the archive is on another machine, and a program is run to get it.
        let remote = matches!(given.name.as_str(), "-f" | "--file") && given.value.as_ref().is_some_and(|value| value.text().contains(':'));
        if remote {
            runs(&given.name, command, found);
        }
        option(given, command, found);
    }
}

/// The old way to write options: `tar xzf`.
fn dashed(arguments: &[Word]) -> Vec<Word> {
    let mut arguments = arguments.to_vec();
    if let Some(Word::Literal(first)) = arguments.first_mut()
        && !first.starts_with('-')
    {
        first.insert(0, '-');
    }
    arguments
}

fn lists(scan: &OptionScan) -> bool {
    let writes = ["-c", "-x", "-r", "-u", "-A", "--create", "--extract", "--get", "--append", "--update", "--concatenate"];
    scan.has(&["-t", "--list"]) && !scan.has(&writes)
}
