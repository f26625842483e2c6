//! Where the state of a tenant is, on a server that the operator's state is on as well.

/// The schema of a tenant.
pub(crate) fn schema(route: &str) -> String {
    format!("tenant_{route}")
}

/// The store of a tenant: the same server, with a schema of its own as the only place where tables are looked for.
pub(crate) fn store_address(operators: &str, route: &str) -> String {
    let option = format!("-csearch_path%3D{}", schema(route));
    let (base, query) = operators.split_once('?').unwrap_or((operators, ""));
    let mut pairs: Vec<String> = query.split('&').filter(|pair| !pair.is_empty()).map(str::to_owned).collect();
    // Of two settings of one name the server takes the last.
    match pairs.iter_mut().find(|pair| pair.starts_with("options=")) {
        Some(options) => *options = format!("{options}%20{option}"),
        None => pairs.push(format!("options={option}")),
    }
    format!("{base}?{}", pairs.join("&"))
}

/// The bucket of a tenant: the same one, with a prefix of its own.
pub(crate) fn blob_address(operators: &str, route: &str) -> String {
    let (base, query) = operators.split_once('?').map_or((operators, String::new()), |(base, query)| (base, format!("?{query}")));
    format!("{}/{}{query}", base.trim_end_matches('/'), schema(route))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of_a_tenant_has_a_schema_and_a_prefix_of_its_own() {
        for (operators, of_tenant) in [
            ("postgres://db/haft", "postgres://db/haft?options=-csearch_path%3Dtenant_ab"),
            ("postgres://db/haft?sslmode=require", "postgres://db/haft?sslmode=require&options=-csearch_path%3Dtenant_ab"),
            (
                "postgres://db/haft?options=-csearch_path%3Down&sslmode=require",
                "postgres://db/haft?options=-csearch_path%3Down%20-csearch_path%3Dtenant_ab&sslmode=require",
            ),
        ] {
            assert_eq!(store_address(operators, "ab"), of_tenant);
        }
        for (operators, of_tenant) in [
            ("s3://box", "s3://box/tenant_ab"),
            ("s3://box/a/?endpoint=http://h&region=x", "s3://box/a/tenant_ab?endpoint=http://h&region=x"),
        ] {
            assert_eq!(blob_address(operators, "ab"), of_tenant);
        }
    }
}
