//! Programs whose options are known, one row each.
//!
//! What a program knows is written as one text: `-abc` are flags, `--all` is one, `-n=` takes a value, and what follows says what
//! the value is: `=<` a file that is read, `=>` one that is written, `=@` a text, or a file that is read where `@` stands first,
//! `=!` something that is run. `-i?` may have a value attached. `-x!` runs or writes what nobody can tell beforehand, `-i>` makes
//! the operands written, `-#` is a number.
//!
//! A command with an option that is missing here is one that nobody vouches for: leave out what is not certain. Options that run
//! something, or that write, are listed so that they are recognised when they are shortened.

use self::Operands::{Anything, CopyTo, FirstThenReads, FirstThenWrites, Hosts, ReadThenWritten, Reads, Test, Text, Writes};

/// What a program does with the files and hosts that its words name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramEffect {
    /// Reads files, and prints.
    Reads,
    /// Reads files, and prints; and no option, also none that is missing here, writes a file or runs a program.
    Shows,
    /// Changes files.
    Writes,
    /// Talks to hosts.
    Connects,
}

/// What the operands of a program are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operands {
    /// There must be none.
    None,
    /// Texts that name no file.
    Text,
    /// Whatever stands there, options as well, only printed or compared.
    Anything,
    /// A test: some of its operators evaluate what they are given.
    Test,
    /// Files that are read.
    Reads,
    /// A pattern or a filter, then files that are read.
    FirstThenReads,
    /// Files that are written.
    Writes,
    /// A mode or an owner, then files that are written.
    FirstThenWrites,
    /// Files that are read, and last where they go.
    CopyTo,
    /// A file that is read, then one that is written.
    ReadThenWritten,
    /// Addresses.
    Hosts,
}

/// A program and its options.
#[derive(Debug, Clone, Copy)]
pub struct ProgramOptions {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub effect: ProgramEffect,
    /// What its operands are.
    pub operands: Operands,
    /// Its options, in the notation of this module.
    pub options: &'static str,
}

const fn row(name: &'static str, effect: ProgramEffect, operands: Operands, options: &'static str) -> ProgramOptions {
    ProgramOptions { name, effect, operands, options }
}

const fn reads(name: &'static str, operands: Operands, options: &'static str) -> ProgramOptions {
    row(name, ProgramEffect::Reads, operands, options)
}

const fn shows(name: &'static str, operands: Operands, options: &'static str) -> ProgramOptions {
    row(name, ProgramEffect::Shows, operands, options)
}

const fn writes(name: &'static str, operands: Operands, options: &'static str) -> ProgramOptions {
    row(name, ProgramEffect::Writes, operands, options)
}

/// Whether a program only prints, whatever its words are.
pub fn only_shows(program: &str) -> bool {
    PROGRAMS.iter().any(|row| row.name == program && row.effect == ProgramEffect::Shows)
}

const GREP: &str = "-EFGPivwxcLlqshHnobaIzrRUTyV -e= -f=< -m= -A= -B= -C= -D= -d= -# --regexp= --file=< --ignore-case \
    --invert-match --word-regexp --line-regexp --count --color? --colour? --files-with-matches --files-without-match --max-count= \
    --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename --label= --line-number --null \
    --after-context= --before-context= --context= --text --binary-files= --exclude= --exclude-from=< --exclude-dir= --include= \
    --recursive --dereference-recursive --line-buffered --extended-regexp --fixed-strings --basic-regexp --perl-regexp --help --version";

const SUM: &str = "-bctwz --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn --help --version";

pub(crate) const CUT: &str = "-nsz -b= -c= -d= -f= --bytes= --characters= --delimiter= --fields= --complement --only-delimited --output-delimiter= \
     --zero-terminated";

pub(crate) const HEAD: &str = "-qvz -n= -c= -# --lines= --bytes= --quiet --silent --verbose --zero-terminated";

pub(crate) const TR: &str = "-cCdst --complement --delete --squeeze-repeats --truncate-set1";

pub(crate) const UNIQ: &str = "-cdDiuz -f= -s= -w= --count --repeated --all-repeated? --group? --ignore-case --skip-fields= --skip-chars= --check-chars= \
     --unique --zero-terminated";

pub(crate) const WC: &str = "-clmwL --bytes --chars --lines --words --max-line-length --total=";

/// Programs by name.
pub const PROGRAMS: &[ProgramOptions] = &[
    // Programs that print.
    reads("arch", Operands::None, ""),
    shows("basename", Text, "-az -s= --multiple --suffix= --zero"),
    reads("base64", Reads, "-di -w= --decode --ignore-garbage --wrap="),
    reads("cal", Text, "-13jmsy"),
    shows("cat", Reads, "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting"),
    reads("cksum", Reads, "--help --version"),
    reads("cmp", Reads, "-bls -n= -i= --print-bytes --verbose --quiet --silent --bytes= --ignore-initial="),
    reads("column", Reads, "-tx -s= -o= -c= -n= -N= -R= -H= --table --separator= --output-separator="),
    reads("comm", Reads, "-123z --check-order --nocheck-order --output-delimiter= --total --zero-terminated"),
    shows("cut", Reads, CUT),
    reads("date", Text, "-uR -d= -r=< -I? --date= --utc --universal --iso-8601? --rfc-3339= --rfc-email --reference=< -s! --set=!"),
    shows("df", Reads, "-ahHikTlP -t= -x= -B= --human-readable --inodes --local --print-type --total --all"),
    reads(
        "diff",
        Reads,
        "-abBcdeEinNpqrstTuwyZ -C= -U= -W= -x= -X=< -I= -L= -F= -# --unified? --context? --brief --recursive --ignore-case \
         --ignore-all-space --ignore-space-change --ignore-blank-lines --side-by-side --suppress-common-lines --width= --new-file --text \
         --color? --exclude= --exclude-from=< --label= --minimal --report-identical-files --normal --strip-trailing-cr",
    ),
    shows("dirname", Text, "-z --zero"),
    shows(
        "du",
        Reads,
        "-abcDhHkLlmPsSxk0 -d= -B= -t= -X=< --all --bytes --max-depth= --human-readable --summarize --total --exclude= --apparent-size \
         --si",
    ),
    shows("echo", Anything, ""),
    reads("egrep", FirstThenReads, GREP),
    reads("env", Operands::None, "-0 --null"),
    reads("expand", Reads, "-i -t= --initial --tabs="),
    reads("expr", Anything, ""),
    reads("factor", Text, ""),
    reads("false", Anything, ""),
    reads("fgrep", FirstThenReads, GREP),
    reads(
        "file",
        Reads,
        "-bdhiIklLnNprsz0 -e= -F= -m=< -P= --brief --mime --mime-type --mime-encoding --dereference --no-dereference --exclude= \
         --separator= -C! --compile!",
    ),
    reads("fmt", Reads, "-cstu -w= -p= -g= --width= --split-only"),
    reads("fold", Reads, "-bs -w= --bytes --spaces --width="),
    reads("free", Operands::None, "-bkmghlt --human --mega --giga --total --wide"),
    reads("getconf", Text, "-a"),
    shows("grep", FirstThenReads, GREP),
    reads("groups", Text, ""),
    shows("head", Reads, HEAD),
    reads("hexdump", Reads, "-bcCdovx -e= -f=< -n= -s= --canonical --length= --skip= --no-squeezing"),
    reads("hostname", Operands::None, "-adfisIA --fqdn --short --ip-address --all-ip-addresses"),
    reads("id", Text, "-agGnruz --user --group --groups --name --real"),
    reads("join", Reads, "-iz -a= -e= -j= -o= -t= -v= -1= -2= --ignore-case --header --check-order --nocheck-order"),
    reads(
        "jq",
        FirstThenReads,
        "-abcCejMnrRsSV --compact-output --raw-output --raw-input --slurp --null-input --sort-keys --tab --indent= --exit-status \
         --ascii-output --color-output --monochrome-output --join-output --seq --stream -f=! --from-file=! -L=! --args --jsonargs",
    ),
    reads("locale", Text, "-am --all-locales"),
    shows(
        "ls",
        Reads,
        "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I= -T= -w= --all --almost-all --author --block-size= --color? --classify? --directory \
         --file-type --format= --full-time --group-directories-first --human-readable --si --hide= --ignore= --indicator-style= --inode \
         --no-group --numeric-uid-gid --quoting-style= --recursive --reverse --size --sort= --time= --time-style= --width= --zero",
    ),
    reads("lscpu", Operands::None, "-aJ --json"),
    reads("md5sum", Reads, SUM),
    shows("nl", Reads, "-p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w= --body-numbering= --number-width= --number-separator="),
    reads("nproc", Operands::None, "--all --ignore="),
    reads("numfmt", Text, "-z -d= --from= --to= --suffix= --format= --padding= --field= --header? --grouping --delimiter="),
    reads(
        "od",
        Reads,
        "-abcdfiloOsvxX -A= -j= -N= -S= -t= -w? --address-radix= --skip-bytes= --read-bytes= --format= --width? --output-duplicates",
    ),
    reads("paste", Reads, "-sz -d= --delimiters= --serial --zero-terminated"),
    reads("printenv", Text, "-0 --null"),
    reads("printf", Anything, ""),
    reads(
        "ps",
        Text,
        "-AadefFHjlLMNTwyZ -C= -g= -G= -o= -O= -p= -s= -t= -u= -U= --forest --no-headers --sort= --pid= --ppid= --width= --cols=",
    ),
    shows("pwd", Operands::None, "-LP --logical --physical"),
    reads(
        "readlink",
        Reads,
        "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero",
    ),
    shows(
        "realpath",
        Reads,
        "-eLmPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to= --relative-base= --strip \
         --no-symlinks --zero",
    ),
    reads("rev", Reads, ""),
    reads(
        "rg",
        FirstThenReads,
        "-aciIlnNoPqsSuUvwxFHL0. -z! -e= -f=< -g= -t= -T= -m= -A= -B= -C= -r= -j= -d= -M= -E= -# --regexp= --file=< --glob= --iglob= \
         --type= \
         --type-not= --type-list --max-count= --after-context= --before-context= --context= --replace= --threads= --max-depth= \
         --max-columns= \
         --color= --colors= --column --count --count-matches --files --files-with-matches --files-without-match --fixed-strings \
         --heading \
         --no-heading --hidden --ignore-case --invert-match --json --line-number --no-line-number --line-regexp --max-filesize= \
         --multiline \
         --multiline-dotall --no-filename --with-filename --no-ignore --no-ignore-vcs --no-messages --null --only-matching --passthru \
         --pcre2 \
         --pretty --quiet --smart-case --case-sensitive --sort= --sortr= --stats --text --trim --unrestricted --vimgrep --word-regexp \
         --no-config --follow --search-zip! --pre=! --pre-glob= --hostname-bin=! --hyperlink-format=",
    ),
    reads("seq", Text, "-w -f= -s= --format= --separator= --equal-width"),
    reads("sha1sum", Reads, SUM),
    reads("sha224sum", Reads, SUM),
    reads("sha256sum", Reads, SUM),
    reads("sha384sum", Reads, SUM),
    reads("sha512sum", Reads, SUM),
    reads("b2sum", Reads, SUM),
    reads("sleep", Text, ""),
    reads(
        "sort",
        Reads,
        "-bdfghiMnRrVcCmsuz -k= -t= -S= -o=> -T=> --key= --field-separator= --buffer-size= --output=> --temporary-directory=> \
         --compress-program=! --files0-from=! --random-source=< --batch-size= --parallel= --check? --ignore-leading-blanks \
         --dictionary-order \
         --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort \
         --reverse \
         --sort= --version-sort --merge --stable --unique --zero-terminated --debug",
    ),
    shows("stat", Reads, "-Lfts -c= --dereference --file-system --format= --printf= --terse --cached="),
    reads("strings", Reads, "-afowW -n= -t= -e= -# --all --bytes= --radix= --encoding= --print-file-name"),
    reads("tac", Reads, "-br -s= --before --regex --separator="),
    shows(
        "tail",
        Reads,
        "-fFqvrz -n= -c= -s= -# --lines= --bytes= --follow? --quiet --silent --verbose --retry --pid= --sleep-interval= \
         --zero-terminated",
    ),
    reads("test", Test, ""),
    reads("[", Test, ""),
    shows("tr", Text, TR),
    reads(
        "tree",
        Reads,
        "-adfiglnpqrstuvACDFJNQSUXhx -L= -P= -I= -H= -o=> --dirsfirst --gitignore --prune --noreport --filelimit= --charset= --du --si \
         --sort? -R!",
    ),
    reads("true", Anything, ""),
    reads(":", Anything, ""),
    reads("tty", Operands::None, "-s"),
    reads("type", Text, "-aftpP"),
    reads("command", Text, "-vV"),
    reads("uname", Operands::None, "-asnrvmpio --all --kernel-name --kernel-release --machine --operating-system --processor"),
    reads("unexpand", Reads, "-a -t= --all --first-only --tabs="),
    reads("uniq", ReadThenWritten, UNIQ),
    reads("uptime", Operands::None, "-ps --pretty --since"),
    shows("wc", Reads, WC),
    reads("whereis", Text, "-bmsu"),
    reads("which", Text, "-a --all"),
    reads("who", Operands::None, "-abdHlmpqrtTu"),
    reads("whoami", Operands::None, ""),
    reads("xxd", ReadThenWritten, "-abeEiuc -c= -g= -l= -o= -s= -r! -p -ps"),
    reads("yes", Text, ""),
    // Programs that change the files they name.
    writes(
        "chgrp",
        FirstThenWrites,
        "-cfhvRHLP --changes --no-dereference --recursive --verbose --quiet --silent --preserve-root --reference=<",
    ),
    writes("chmod", FirstThenWrites, "-cfvR --changes --quiet --silent --recursive --verbose --preserve-root --reference=<"),
    writes(
        "chown",
        FirstThenWrites,
        "-cfhvRHLP --changes --no-dereference --recursive --verbose --quiet --silent --preserve-root --from= --reference=<",
    ),
    writes(
        "cp",
        CopyTo,
        "-abdfiHlLnpPrRsuvxTZ -S= -t=> --archive --attributes-only --backup? --dereference --no-dereference --force --interactive --link \
         --no-clobber --preserve? --no-preserve= --parents --recursive --reflink? --remove-destination --sparse= \
         --strip-trailing-slashes \
         --suffix= --target-directory=> --no-target-directory --symbolic-link --update? --verbose --one-file-system",
    ),
    writes(
        "install",
        CopyTo,
        "-bcCDdpTv -m= -g= -o= -S= -t=> --mode= --group= --owner= --directory --preserve-timestamps --target-directory=> --verbose \
         --strip-program=!",
    ),
    writes(
        "ln",
        CopyTo,
        "-bfinLPrsTvF -S= -t=> --backup? --force --interactive --logical --no-dereference --physical --relative --symbolic --suffix= \
         --target-directory=> --no-target-directory --verbose",
    ),
    writes("mkdir", Writes, "-pvZ -m= --mode= --parents --verbose"),
    writes("mkfifo", Writes, "-m= --mode="),
    writes(
        "mv",
        Writes,
        "-bfinuvTZ -S= -t=> --backup? --force --interactive --no-clobber --strip-trailing-slashes --suffix= --target-directory=> \
         --no-target-directory --update? --verbose",
    ),
    writes(
        "rm",
        Writes,
        "-dfiIrRv --force --interactive? --one-file-system --no-preserve-root --preserve-root? --recursive --dir --verbose",
    ),
    writes("rmdir", Writes, "-pv --ignore-fail-on-non-empty --parents --verbose"),
    writes("shred", Writes, "-fuvxz -n= -s= --force --iterations= --remove? --size= --verbose --zero"),
    writes("tee", Writes, "-aip --append --ignore-interrupts --output-error?"),
    writes("touch", Writes, "-acfhm -d= -r=< -t= --no-create --date= --no-dereference --reference=< --time="),
    writes("truncate", Writes, "-co -r=< -s= --no-create --io-blocks --reference=< --size="),
    writes("unlink", Writes, ""),
    // Programs that talk to others.
    row(
        "curl",
        ProgramEffect::Connects,
        Hosts,
        "-sSfLiIkvgGjlNZ#0146aBqRJ -X= -H=@ -d=@ -A= -e= -b=@ -m= -w=@ -r= -C= -y= -Y= -z= -u= -U= -Q=! -P=! -t= -o=> -D=> -c=> -T=< \
         -F=@ -E=< -K=! -x=! \
         -O! --silent --show-error --fail --fail-with-body --location --include --head --insecure --verbose --globoff --get --compressed \
         --request= --header=@ --data=@ --data-raw= --data-ascii=@ --data-binary=@ --data-urlencode=@ --json=@ --user-agent= --referer= \
         --cookie=@ \
         --max-time= --connect-timeout= --retry= --retry-delay= --retry-max-time= --write-out=@ --range= --user= --output=> \
         --create-dirs \
         --dump-header=> --cookie-jar=> --upload-file=< --form=@ --form-string= --cert=< --key=< --cacert=< --http1.1 --http2 \
         --http2-prior-knowledge --ipv4 --ipv6 \
         --no-progress-meter --progress-bar --url= --max-redirs= --tlsv1.2 --tlsv1.3 --noproxy= --no-buffer --path-as-is --raw \
         --tcp-nodelay \
         --config=! --proxy=! --preproxy=! --socks5=! --resolve=! --connect-to=! --interface=! --unix-socket=! --abstract-unix-socket=! \
         --netrc-file=! --next! \
         --remote-name! --remote-name-all! --output-dir=> --trace=> --trace-ascii=> --stderr=> --libcurl=> --etag-save=> --hsts=! \
         --alt-svc=! --engine=! --doh-url=! --dns-servers=!",
    ),
    row(
        "wget",
        ProgramEffect::Connects,
        Hosts,
        "-qvScNd46 -nv -O=> -o=> -a=> -P=> -t= -T= -w= -U= -e=! -i=! -B=! -r! -m! -p! -k! -x! --quiet --no-verbose --output-document=> \
         --output-file=> --append-output=> --directory-prefix=> --tries= --timeout= --wait= --user-agent= --header= --post-data= \
         --post-file=< \
         --method= --body-data= --body-file=< --continue --timestamping --server-response --spider --no-check-certificate \
         --max-redirect= \
         --show-progress --execute=! --input-file=! --config=! --use-askpass=! --recursive! --mirror! --page-requisites! --base=! \
         --warc-file=!",
    ),
];

/// The commands of git that only read, as `git NAME`.
pub const GIT_COMMANDS: &[ProgramOptions] = &[
    reads(
        "blame",
        Anything,
        "-bcefklnpstwMC -L= -S=< --porcelain --line-porcelain --root --show-stats --date= --show-name --show-number --show-email \
         --abbrev= --reverse",
    ),
    reads(
        "branch",
        Operands::None,
        "-arvi --all --remotes --verbose --list --show-current --color? --no-color --column? --no-column --abbrev= --no-abbrev \
         --contains? --merged? --no-merged? --sort= --format=",
    ),
    reads("cat-file", Anything, "-tspe --batch-check? --batch? --buffer --follow-symlinks --textconv! --filters!"),
    reads("count-objects", Operands::None, "-vH --verbose --human-readable"),
    reads(
        "describe",
        Anything,
        "--all --tags --contains --abbrev= --long --always --dirty? --match= --exclude= --first-parent --exact-match --candidates=",
    ),
    reads("diff", Anything, DIFF),
    reads("diff-tree", Anything, DIFF),
    reads("for-each-ref", Anything, "--count= --sort= --format= --color? --contains? --merged? --no-merged? --points-at= --ignore-case"),
    reads(
        "grep",
        Anything,
        "-aEFGHILPchilnoprvwWz -e= -f=< -m= -A= -B= -C= -# -O! --open-files-in-pager! --textconv! --cached --untracked --no-index! \
         --line-number --count --ignore-case --word-regexp --name-only --files-with-matches --files-without-match --extended-regexp \
         --fixed-strings --perl-regexp --max-depth= --threads= --heading --break --show-function --and --or --not --all-match --quiet \
         --color? --no-color --column",
    ),
    reads("log", Anything, LOG),
    reads(
        "ls-files",
        Anything,
        "-cdmostukvfzi -x= -X=< --cached --deleted --modified --others --ignored --stage --unmerged --killed --exclude= \
         --exclude-from=< --exclude-standard --directory --full-name --recurse-submodules --error-unmatch --abbrev= --eol --deduplicate",
    ),
    reads("ls-tree", Anything, "-dlrtz --long --name-only --name-status --object-only --full-name --full-tree --abbrev= --format="),
    reads("merge-base", Anything, "-a --all --octopus --independent --is-ancestor --fork-point"),
    reads("name-rev", Anything, "--tags --refs= --exclude= --all --name-only --always"),
    reads("rev-list", Anything, LOG),
    reads(
        "rev-parse",
        Anything,
        "-q --verify --quiet --short? --abbrev-ref? --symbolic --symbolic-full-name --all --branches? --tags? --remotes? \
         --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir --is-inside-work-tree \
         --is-inside-git-dir --is-bare-repository --show-superproject-working-tree",
    ),
    reads("shortlog", Anything, "-nsecw --numbered --summary --email --no-merges --all --since= --until= --author="),
    reads("show", Anything, LOG),
    reads("show-ref", Anything, "-dsq --head --heads --tags --branches --dereference --hash? --verify --abbrev? --quiet --exists"),
    reads(
        "status",
        Anything,
        "-sbvz -u? -M? --short --branch --show-stash --porcelain? --long --verbose --untracked-files? --ignore-submodules? --ignored? \
         --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?",
    ),
    reads(
        "tag",
        Operands::None,
        "-l -n? --list --sort= --contains? --no-contains? --points-at? --merged? --no-merged? --format= --column? --no-column",
    ),
    reads("version", Operands::None, "--build-options"),
    reads("whatchanged", Anything, LOG),
];

const DIFF: &str = "-pusRabwWz -l= -U= -S= -G= -M? -C? -B? -D -X? -O=< -# --patch --no-patch --unified= --raw --patch-with-raw \
    --minimal --patience \
    --histogram --stat? --numstat --shortstat --dirstat? --summary --patch-with-stat --name-only --name-status --submodule? --color? \
    --no-color \
    --color-moved? --word-diff? --word-diff-regex= --color-words? --no-renames --check --full-index --binary --abbrev? --find-renames? \
    --find-copies? \
    --diff-filter= --pickaxe-all --pickaxe-regex --relative? --no-relative --text --ignore-space-at-eol --ignore-space-change \
    --ignore-all-space \
    --ignore-blank-lines --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv --no-prefix \
    --src-prefix= --dst-prefix= \
    --cached --staged --merge-base --cc --root --diff-algorithm= --compact-summary -r -t \
    --output=> --ext-diff! --textconv!";

const LOG: &str = "-pusRabwWzgvEFPicm -U= -S= -G= -L= -n= -M? -C? -B? -D -O=< -# --patch --no-patch --unified= --raw --minimal \
    --patience --histogram \
    --stat? --numstat --shortstat --dirstat? --summary --name-only --name-status --color? --no-color --word-diff? --color-words? \
    --no-renames --full-index \
    --abbrev? --abbrev-commit --no-abbrev-commit --find-renames? --find-copies? --diff-filter= --pickaxe-all --pickaxe-regex \
    --relative? --text \
    --ignore-space-change --ignore-all-space --ignore-blank-lines --function-context --no-ext-diff --no-textconv --no-prefix --oneline \
    --pretty? --format= \
    --graph --decorate? --no-decorate --decorate-refs= --follow --all --branches? --tags? --remotes? --glob= --exclude= --max-count= \
    --skip= --since= \
    --after= --until= --before= --author= --committer= --grep= --all-match --invert-grep --regexp-ignore-case --extended-regexp \
    --fixed-strings \
    --perl-regexp --merges --no-merges --min-parents= --max-parents= --first-parent --not --reverse --date= --date-order \
    --author-date-order --topo-order \
    --parents --children --left-right --cherry --cherry-pick --cherry-mark --left-only --right-only --boundary --simplify-by-decoration \
    --full-history \
    --ancestry-path? --walk-reflogs --notes? --no-notes --show-notes --log-size --source --relative-date --objects --count --encoding= \
    --cc --root \
    --show-pulls --no-walk? --do-walk --remove-empty --compact-summary --expand-tabs? --no-expand-tabs --diff-merges= \
    --output=> --ext-diff! --textconv! --show-signature!";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{GIT_COMMANDS, PROGRAMS};

    /// What follows a cluster of flags would hold for each of them.
    #[test]
    fn every_row_is_well_written() {
        for row in PROGRAMS.iter().chain(GIT_COMMANDS) {
            for token in row.options.split_ascii_whitespace() {
                let name = token.split(['=', '?', '!', '>']).next().unwrap();
                let marked = name.len() < token.len();
                let plain = if name.starts_with("--") { name.len() > 2 } else { name.len() == 2 || (!marked && name.len() > 2) };
                let mark = ["", "=", "=<", "=>", "=@", "=!", "!", "?", ">"].contains(&&token[name.len()..]);
                assert!(plain && mark && name.starts_with('-'), "{}: {token}", row.name);
            }
        }
    }

    #[test]
    fn no_program_has_two_rows() {
        for rows in [PROGRAMS, GIT_COMMANDS] {
            let names: BTreeSet<&str> = rows.iter().map(|row| row.name).collect();
            assert_eq!(names.len(), rows.len());
        }
    }
}
