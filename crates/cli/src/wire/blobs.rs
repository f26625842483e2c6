//! Where pre-images and spilled output are: in files, and with a server also in its database or in a bucket.

use std::path::Path;
use std::sync::Arc;

use haft_store::{BlobObjects, Blobs, FileBlobs, StateStore, StoreError};

use super::{open_store, store_address};

/// Names a bucket, as `s3://bucket/prefix?endpoint=https://host&region=name`.
const BUCKET: &str = "HAFT_BLOBS";

/// Pre-images and spilled output, beside the database. Calls that the user makes share their spills; a conversation has its own.
pub(crate) fn open_blobs(folder: &Path, session: Option<&str>) -> Result<Arc<dyn Blobs>, StoreError> {
    let session = session.unwrap_or("calls");
    if let Some(objects) = bucket_objects()? {
        return StateStore::blobs_in(objects, folder, session);
    }
    match store_address() {
        // Files need no database.
        None => Ok(Arc::new(FileBlobs::open(folder)?.of_session(session)?)),
        Some(_) => open_store(folder)?.store.blobs(folder, session),
    }
}

/// The bucket that the user names.
pub(super) fn bucket_objects() -> Result<Option<Arc<dyn BlobObjects>>, StoreError> {
    std::env::var(BUCKET).ok().filter(|address| !address.is_empty()).map(|address| in_bucket(&address)).transpose()
}

#[cfg(not(feature = "postgres"))]
fn in_bucket(_address: &str) -> Result<Arc<dyn BlobObjects>, StoreError> {
    Err(StoreError::Unsupported(
        "HAFT_BLOBS names a bucket, which this build does not speak to: build it with `cargo build --release --features postgres`, or unset \
         HAFT_BLOBS",
    ))
}

#[cfg(feature = "postgres")]
fn in_bucket(address: &str) -> Result<Arc<dyn BlobObjects>, StoreError> {
    let key = |name| std::env::var(name).unwrap_or_default();
    let settings = bucket(address, (key("AWS_ACCESS_KEY_ID"), key("AWS_SECRET_ACCESS_KEY")))?;
    Ok(Arc::new(haft_store::BucketObjects::new(settings)?))
}

#[cfg(feature = "postgres")]
fn bucket(address: &str, (access_key, secret_key): (String, String)) -> Result<haft_store::BucketSettings, StoreError> {
    const WRONG: StoreError = StoreError::Unsupported(
        "HAFT_BLOBS is no address of a bucket: write s3://bucket/prefix?endpoint=https://host&region=name, with the key in AWS_ACCESS_KEY_ID \
         and AWS_SECRET_ACCESS_KEY",
    );
    let url = reqwest::Url::parse(address).map_err(|_| WRONG)?;
    let value = |wanted: &str| url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned());
    let (Some(bucket), "s3") = (url.host_str(), url.scheme()) else { return Err(WRONG) };
    if access_key.is_empty() || secret_key.is_empty() {
        return Err(WRONG);
    }
    let region = value("region").unwrap_or_else(|| "us-east-1".to_owned());
    let prefix = url.path().trim_matches('/');
    Ok(haft_store::BucketSettings {
        endpoint: value("endpoint").unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com")),
        bucket: bucket.to_owned(),
        prefix: if prefix.is_empty() { String::new() } else { format!("{prefix}/") },
        region,
        access_key,
        secret_key,
    })
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_buckets() {
        let of = |address: &str| {
            bucket(address, ("id".into(), "key".into())).map(|found| (found.endpoint, found.bucket, found.prefix, found.region))
        };
        let parts = |endpoint: &str, prefix: &str, region: &str| Some((endpoint.into(), "box".into(), prefix.into(), region.into()));
        assert_eq!(of("s3://box").ok(), parts("https://s3.us-east-1.amazonaws.com", "", "us-east-1"));
        assert_eq!(of("s3://box/a/b/?endpoint=http://127.0.0.1:9000&region=x").ok(), parts("http://127.0.0.1:9000", "a/b/", "x"));
        for wrong in ["box", "https://box", "s3:"] {
            assert!(of(wrong).unwrap_err().to_string().contains("no address of a bucket"), "{wrong}");
        }
        assert!(bucket("s3://box", (String::new(), "key".into())).is_err());
    }
}
