//! What the demo prints before it begins: how often what goes wrong, where to look, how to sign in.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{cast, keepsake::Keepsake, rates::Rates, wire::Part};

/// The declared rates.
pub(super) fn rates(rates: &Rates, seed: u64, jobs: u64) {
    println!("demo         {jobs} jobs from seed {seed}; what goes wrong, and how often:");
    for row in rates.declared().chunks(4) {
        let cells: Vec<_> = row
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        println!(
            "             {}",
            cells
                .iter()
                .map(|cell| format!("{cell:<25}"))
                .collect::<String>()
                .trim_end()
        );
    }
}

/// Where to look, how to sign in, and how to send a webhook by hand.
pub(super) fn welcome(part: &Part, keepsake: &Keepsake) {
    let base_url = &part.base_url;
    println!();
    println!("  Console    {base_url}");
    println!("  API        {base_url}/v1/docs");
    println!(
        "  Uncertain  {base_url}/uncertain: after a minute, jobs of which nobody is told; ask there"
    );
    println!("  Sign in    password of each: {}", keepsake.password);
    for (email, _, role) in cast::OPERATORS {
        println!("             {email:<20} {role}");
    }
    if let (Some(purse), Some(mailbox)) = (part.purses.first(), part.mailboxes.get(1)) {
        println!("  API key    {} (wallet {})", purse.api_key, purse.wallet);
        webhook(base_url, &mailbox.slug, &mailbox.secret);
    }
    println!();
    println!("Ctrl-C stops everything; the books stay for the next start.");
    println!();
}

/// A signed webhook in shell, to paste.
fn webhook(base_url: &str, slug: &str, secret: &str) {
    let key = secret
        .strip_prefix("whsec_")
        .and_then(|text| STANDARD.decode(text).ok())
        .map(hex::encode);
    let Some(key) = key else { return };
    println!("  Webhook    paste this to send one by hand:");
    for line in [
        r#"body='{"type":"job.started","occurred_at":"'$(date -u +%FT%TZ)'","data":{"provider_reference":"by-hand"}}'"#.to_owned(),
        "id=msg_$RANDOM$RANDOM; t=$(date +%s)".to_owned(),
        format!(r#"sig=$(printf '%s.%s.%s' "$id" "$t" "$body" | openssl dgst -sha256 -mac HMAC -macopt hexkey:{key} -binary | base64)"#),
        format!(r#"curl -i {base_url}/webhooks/{slug} -H "content-type: application/json" -H "webhook-id: $id" \"#),
        r#"  -H "webhook-timestamp: $t" -H "webhook-signature: v1,$sig" -d "$body""#.to_owned(),
    ] {
        println!("    {line}");
    }
}
