//! Where the state of a tenant is, on a server that the operator's state is on as well.

/// The schema of a tenant.
pub(crate) fn schema(route: &str) -> String {
    format!("tenant_{route}")
}

/// The store of a tenant: the same server, with a schema of its own as the only place where tables are looked for, and with the role and the
/// password of the tenant if it has some.
pub(crate) fn store_address(operators: &str, route: &str, login: Option<(&str, &str)>) -> String {
    let option = format!("-csearch_path%3D{}", schema(route));
    let (base, query) = operators.split_once('?').unwrap_or((operators, ""));
    let mut pairs: Vec<String> = query.split('&').filter(|pair| !pair.is_empty()).map(str::to_owned).collect();
    let base = login.map_or_else(|| base.to_owned(), |login| with_login(base, &mut pairs, login));
    // Of two settings of one name the server takes the last.
    match pairs.iter_mut().find(|pair| pair.starts_with("options=")) {
        Some(options) => *options = format!("{options}%20{option}"),
        None => pairs.push(format!("options={option}")),
    }
    format!("{base}?{}", pairs.join("&"))
}

/// The address with this role in place of its own. Role and password need no escapes.
fn with_login(base: &str, pairs: &mut Vec<String>, (role, password): (&str, &str)) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("postgres", base));
    let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (own, hosts) = place.rsplit_once('@').unwrap_or(("", place));
    let named = |name: &str| pairs.iter().find_map(|pair| pair.strip_prefix(name)).map(str::to_owned);
    let user = named("user=").unwrap_or_else(|| own.split(':').next().unwrap_or_default().to_owned());
    // An address without a database is that of the database with the name of the role.
    let database = if database.is_empty() && named("dbname=").is_none() { user } else { database.to_owned() };
    pairs.retain(|pair| !pair.starts_with("user=") && !pair.starts_with("password="));
    format!("{scheme}://{role}:{password}@{hosts}/{database}")
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
            assert_eq!(store_address(operators, "ab", None), of_tenant);
        }
        for (operators, of_tenant) in [
            ("postgres://db/haft", "postgres://r:p@db/haft"),
            ("postgresql://me:a%40b@db:5433,other/haft", "postgresql://r:p@db:5433,other/haft"),
            ("postgres://me@db", "postgres://r:p@db/me"),
            ("postgres://me@db/", "postgres://r:p@db/me"),
            ("postgres:///haft?host=%2Frun&user=me&password=x", "postgres://r:p@/haft?host=%2Frun"),
            ("postgres://%2Frun?user=me&dbname=haft", "postgres://r:p@%2Frun/?dbname=haft"),
        ] {
            let joint = if of_tenant.contains('?') { '&' } else { '?' };
            let of_tenant = format!("{of_tenant}{joint}options=-csearch_path%3Dtenant_ab");
            assert_eq!(store_address(operators, "ab", Some(("r", "p"))), of_tenant);
        }
        for (operators, of_tenant) in [
            ("s3://box", "s3://box/tenant_ab"),
            ("s3://box/a/?endpoint=http://h&region=x", "s3://box/a/tenant_ab?endpoint=http://h&region=x"),
        ] {
            assert_eq!(blob_address(operators, "ab"), of_tenant);
        }
    }
}
