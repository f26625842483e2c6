//! Links and directories themselves: what they are, put in place and taken back.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use haft_contract::{
    ErrorKind, Location,
    ports::{FileSystem, PreImage},
};
use haft_host::LocalFiles;

use crate::support::{BOTH, Disk, Image, Kept, tree};

/// What is to be at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thing {
    Nothing,
    File,
    Link,
    Directory,
}

const THINGS: [Thing; 4] = [Thing::Nothing, Thing::File, Thing::Link, Thing::Directory];

impl Thing {
    fn make(self, disk: &Disk) {
        match self {
            Self::Nothing => {}
            Self::File => disk.put("a/x", "old"),
            Self::Link => disk.link("elsewhere", "a/x"),
            Self::Directory => {
                std::fs::create_dir(disk.ws.join("a/x")).unwrap();
                disk.set_mode("a/x", 0o750);
            }
        }
    }

    /// The same with another content, so that it differs from what [`make`](Self::make) made.
    fn image(self, after: Option<String>) -> Image {
        let (content, mode) = match self {
            Self::Nothing => (None, None),
            Self::File => (Some("new".to_owned()), Some(0o755)),
            Self::Link => (Some("../outside/secret".to_owned()), Some(PreImage::LINK)),
            Self::Directory => (None, Some(PreImage::DIRECTORY | 0o711)),
        };
        Image { content, mode, after, ..Image::default() }
    }

    fn looks_like(self, disk: &Disk) -> bool {
        let path = disk.ws.join("a/x");
        let Ok(metadata) = std::fs::symlink_metadata(&path) else { return self == Self::Nothing };
        let mode = metadata.permissions().mode() & 0o7777;
        match self {
            Self::Nothing => false,
            Self::File => metadata.is_file() && mode == 0o755 && disk.get("a/x") == "new",
            Self::Link => std::fs::read_link(&path).is_ok_and(|target| target == Path::new("../outside/secret")),
            Self::Directory => metadata.is_dir() && mode == 0o711,
        }
    }
}

async fn state(files: &LocalFiles, at: &Location) -> Option<String> {
    files.state(at).await.unwrap()
}

#[tokio::test]
async fn anything_is_put_in_the_place_of_anything_and_taken_back() {
    for way in BOTH {
        for before in THINGS {
            for wanted in THINGS {
                let disk = Disk::new();
                std::fs::create_dir(disk.ws.join("a")).unwrap();
                before.make(&disk);
                let all =
                    (tree(&disk.ws), std::fs::symlink_metadata(disk.ws.join("a/x")).map(|metadata| metadata.permissions().mode()).ok());
                let files = disk.files(way);
                let at = files.locate_entry(Path::new("a/x")).unwrap();
                let journal = Kept::default();
                let image = wanted.image(state(&files, &at).await);
                files.restore(&at, image.back(), &journal).await.unwrap();
                assert!(wanted.looks_like(&disk), "{before:?} to {wanted:?}");
                for image in journal.images().into_iter().rev() {
                    files.restore(&at, image.back(), &Kept::default()).await.unwrap();
                }
                let back =
                    (tree(&disk.ws), std::fs::symlink_metadata(disk.ws.join("a/x")).map(|metadata| metadata.permissions().mode()).ok());
                assert_eq!(back, all, "{before:?} to {wanted:?} and back");
            }
        }
    }
}

#[tokio::test]
async fn links_are_removed_and_copied_themselves_and_come_back() {
    for way in BOTH {
        let disk = Disk::new();
        disk.put("a/target", "old");
        disk.link("target", "a/link");
        disk.link("a", "folder");
        disk.link("nowhere", "dangling");
        let (files, before) = (disk.files(way), tree(&disk.ws));
        for (path, place) in [("a/link", "a/link"), ("folder/link", "a/link"), ("folder", "folder"), ("dangling", "dangling")] {
            let at = files.locate_link(Path::new(path)).unwrap().unwrap();
            assert_eq!((at.path(), at.requested()), (disk.ws.join(place).as_path(), Path::new(path)));
            let (journal, to) = (Kept::default(), files.locate(Path::new("b/copy")).unwrap());
            files.copy_link(&at, &to, &journal).await.unwrap();
            let target = std::fs::read_link(disk.ws.join(place)).unwrap();
            assert_eq!(std::fs::read_link(disk.ws.join("b/copy")).unwrap(), target);
            files.delete_link(&at, &journal).await.unwrap();
            assert!(disk.ws.join(place).symlink_metadata().is_err(), "{path}");
            assert_eq!(disk.get("a/target"), "old");
            for image in journal.images().into_iter().rev() {
                let at = files.locate_entry(&image.path).unwrap();
                files.restore(&at, image.back(), &Kept::default()).await.unwrap();
            }
            assert_eq!(tree(&disk.ws), before, "{path}");
        }
        for path in ["a/target", "a", "new", "."] {
            assert!(files.locate_link(Path::new(path)).unwrap().is_none(), "{path}");
        }
        let file = files.locate(Path::new("a/target")).unwrap();
        files.delete_link(&file, &Kept::default()).await.unwrap_err();
        assert_eq!(disk.get("a/target"), "old");
    }
}

#[tokio::test]
async fn what_something_else_put_there_stays() {
    for way in BOTH {
        for (before, now) in
            [(Thing::Nothing, Thing::Link), (Thing::Link, Thing::Directory), (Thing::Directory, Thing::File), (Thing::File, Thing::Link)]
        {
            let disk = Disk::new();
            std::fs::create_dir(disk.ws.join("a")).unwrap();
            before.make(&disk);
            let files = disk.files(way);
            let at = files.locate_entry(Path::new("a/x")).unwrap();
            let expected = state(&files, &at).await;
            match before {
                Thing::Nothing => {}
                Thing::Directory => std::fs::remove_dir(disk.ws.join("a/x")).unwrap(),
                _ => std::fs::remove_file(disk.ws.join("a/x")).unwrap(),
            }
            now.make(&disk);
            let all = tree(&disk.ws);
            let journal = Kept::default();
            for wanted in THINGS.into_iter().filter(|wanted| *wanted != Thing::Nothing || before != Thing::Nothing) {
                let refused = files.restore(&at, wanted.image(expected.clone()).back(), &journal).await;
                assert!(refused.is_err(), "{before:?}, {now:?}, {wanted:?}");
                assert_eq!((tree(&disk.ws), journal.images().len()), (all.clone(), 0), "{before:?}, {now:?}, {wanted:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_link_itself_is_checked_by_its_own_name_and_place() {
    for way in BOTH {
        let disk = Disk::new();
        disk.link(&disk.outside, "out");
        disk.link("out/secret", "deep");
        let files = disk.files(way);
        let itself = files.locate_entry(Path::new("out")).unwrap();
        assert_eq!((itself.path(), itself.display()), (disk.ws.join("out").as_path(), "out"));
        let through = files.locate_entry(Path::new("out/secret")).unwrap();
        assert_eq!((through.path(), state(&files, &through).await), (disk.ws.join("out/secret").as_path(), None), "no link is followed");
        let refused = files.restore(&through, Thing::File.image(None).back(), &Kept::default()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PathNotAllowed);
        assert_eq!(files.locate(Path::new("deep")).unwrap().path(), disk.outside.join("secret"));
        for name in [".git", ".git/hooks", ".haft"] {
            let at = files.locate_entry(Path::new(name)).unwrap();
            let refused = files.restore(&at, Thing::Link.image(None).back(), &Kept::default()).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::PathNotAllowed, "{name}");
        }
    }
}
