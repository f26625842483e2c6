//! A queue that asks who comes.

use haft_fleet::FleetQueue;
use haft_testkit::NatsServer;

/// Starts a queue with these words, and tries logins that stand before the host.
async fn check_logins(words: &[&str], right: &str, wrong: [&str; 2]) {
    let nats = NatsServer::start_with(words.iter().map(ToString::to_string).collect());
    let connect = |login: &str| {
        let address = format!("nats://{login}127.0.0.1:{}", nats.port());
        async move { FleetQueue::connect(&address).await.map(drop) }
    };
    connect(right).await.unwrap();
    for login in wrong {
        let said = connect(login).await.unwrap_err().to_string();
        assert!(said.contains("authorization violation") && !said.contains("wr0ng") && !said.contains("us er"), "{said}");
    }
}

#[tokio::test]
async fn login_of_the_address_opens_a_queue() {
    check_logins(&["--user", "us er", "--pass", "hun@ter/2"], "us%20er:hun%40ter%2F2@", ["", "us%20er:wr0ng@"]).await;
    check_logins(&["--auth", "t0ken"], "t0ken@", ["", "wr0ng@"]).await;
}
