//! The shapes of secrets, as data: each with samples that are tested.

/// One shape. The samples are tested: each hit is redacted, as a whole or what stands between « and »; each miss is left as
/// it is.
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// The literals it can begin with, at least three bytes each. A text without any of them costs one cheap scan.
    pub(super) starts: &'static [&'static str],
    /// What stands before the secret and is kept. A shape without it must begin a word.
    pub(super) after: &'static str,
    /// The secret itself.
    pub(super) secret: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "samples are for the tests"))]
    pub(super) hits: &'static [&'static str],
    #[cfg_attr(not(test), expect(dead_code, reason = "samples are for the tests"))]
    pub(super) misses: &'static [&'static str],
}

/// Longer prefixes come first. No pattern takes a line break: streams are cut there.
pub(super) const SHAPES: &[Shape] = &[
    Shape {
        name: "anthropic_key",
        starts: &["sk-ant-"],
        after: "",
        secret: "sk-ant-[A-Za-z0-9_-]{16,}",
        hits: &["sk-ant-api03-abcdefghijklmnop", "sk-ant-oat01-A_b-C3dE5fG7hI9jK1lM3nO5pQ7rS9"],
        misses: &["sk-ant-short", "sk-ant-design-table-component", "task-ant-api03-abcdefghijklmnop"],
    },
    Shape {
        name: "openai_key",
        starts: &["sk-"],
        after: "",
        secret: "sk-(?:(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})",
        hits: &[
            "sk-proj-abcdefghijklmnopqrst",
            "sk-svcacct-a1B2_c3D4-e5F6g7H8i9J0",
            "sk-or-v1-0123456789abcdef0123456789abcdef",
            "sk-0123456789abcdefABCDEF0123456789",
        ],
        misses: &[
            "sk-learn is a library",
            "task-list-item-container-view.tsx",
            "disk-encryption-set-0123456789abcdef0123456789abcdef",
            "risk-assessment-for-the-next-quarter",
            "sk-circle-fade-dot-animation-delay-12",
            "sk-proj-directory-for-the-tests",
            "mask-proj-0123456789abcdefghij",
        ],
    },
    Shape {
        name: "google_key",
        starts: &["AIza"],
        after: "",
        secret: "AIza[A-Za-z0-9_-]{35,}",
        hits: &["AIzaSyA0123456789abcdefghijklmnopqrstuv"],
        misses: &["AIzaTooShort", "xAIzaSyA0123456789abcdefghijklmnopqrstuv"],
    },
    Shape {
        name: "google_oauth",
        starts: &["ya29."],
        after: "",
        secret: "ya29[.][A-Za-z0-9._-]{20,}",
        hits: &["ya29.a0AfH6SMBabcdefghijklmno", "ya29.c.c0ASRK0GaBcDeFgHiJkLmNo"],
        misses: &["ya29.x", "maya29.a0AfH6SMBabcdefghijklmno"],
    },
    Shape {
        name: "aws_key_id",
        starts: &["AKIA", "ASIA"],
        after: "",
        secret: r"(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        hits: &["AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"],
        misses: &["AKIAnope", "ASIA_PACIFIC_REGION_NAMES", "EURASIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLEANDMORE"],
    },
    Shape {
        name: "github_token",
        starts: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        after: "",
        secret: "gh[pousr]_[A-Za-z0-9]{36,}",
        hits: &["ghp_0123456789abcdefghijklmnopqrstuvwxyz", "ghs_0123456789abcdefghijklmnopqrstuvwxyzABCD"],
        misses: &["ghp_short", "ghs_sort_all_of_the_things_by_their_names", "high_ghp_0123456789abcdefghijklmnopqrstuvwxyz"],
    },
    Shape {
        name: "github_pat",
        starts: &["github_pat_"],
        after: "",
        secret: "github_pat_[A-Za-z0-9]{20,}[A-Za-z0-9_]*",
        hits: &["github_pat_11ABCDEFG0abcdefghijkl_mno"],
        misses: &["github_pat_x", "github_pat_token_for_the_release_of_version_2", "my_github_pat_11ABCDEFG0abcdefghijkl_mno"],
    },
    Shape {
        name: "gitlab_token",
        starts: &["glpat-"],
        after: "",
        secret: "glpat-[A-Za-z0-9_-]{20,}(?:[.][0-9a-z]{2,}){0,2}",
        hits: &["glpat-abcdefghij0123456789", "glpat-A1b2_C3d4-E5f6G7h8I9j0KlMnO.01.0a1b2c3d4"],
        misses: &["glpat-x", "glpat-token-of-the-deploy-job", "aglpat-abcdefghij0123456789"],
    },
    Shape {
        name: "slack_token",
        starts: &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"],
        after: "",
        secret: "xox[abeoprs]-[A-Za-z0-9-]{10,}",
        hits: &["xoxb-1234567890-abcdefghij", "xoxp-123456789012-1234567890123-a1b2c3d4e5f6"],
        misses: &["xoxb-1", "xoxb-your-token-here", "boxoxb-1234567890-abcdefghij"],
    },
    Shape {
        name: "stripe_key",
        starts: &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        after: "",
        secret: "[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
        hits: &["sk_live_abcdefghijklmnop", "rk_test_51A2b3C4d5E6f7G8h9"],
        misses: &["sk_live_x", "task_test_0123456789abcdef", "sk_test_configuration_of_all", "disk_live_0123456789abcdef"],
    },
    Shape {
        name: "hugging_face_token",
        starts: &["hf_"],
        after: "",
        secret: "hf_[A-Za-z0-9]{30,}",
        hits: &["hf_abcdefghijklmnopqrstuvwxyz0123456789"],
        misses: &["hf_hub_download", "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", "elf_hf_0123456789abcdefghijklmnopqrstuvwxyz"],
    },
    Shape {
        name: "npm_token",
        starts: &["npm_"],
        after: "",
        secret: "npm_[A-Za-z0-9]{36,}",
        hits: &["npm_0123456789abcdefghijklmnopqrstuvwxyz"],
        misses: &["npm_config_cache", "pnpm_0123456789abcdefghijklmnopqrstuvwxyz", "npm_lifecycle_event_of_the_outer_package"],
    },
    Shape {
        name: "groq_key",
        starts: &["gsk_"],
        after: "",
        secret: "gsk_[A-Za-z0-9]{40,}",
        hits: &["gsk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"],
        misses: &["gsk_x", "gsk_renderer_of_the_scene_graph_in_the_toolkit", "bagsk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"],
    },
    Shape {
        name: "xai_key",
        starts: &["xai-"],
        after: "",
        secret: "xai-[A-Za-z0-9]{40,}",
        hits: &["xai-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"],
        misses: &["xai-x", "xai-explainable-models-for-the-whole-of-the-team", "foxai-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"],
    },
    Shape {
        name: "json_web_token",
        starts: &["eyJ"],
        after: "",
        secret: "eyJ[A-Za-z0-9_-]{10,}[.]eyJ[A-Za-z0-9_-]{10,}[.][A-Za-z0-9_-]{10,}",
        hits: &["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmnop"],
        misses: &[
            "eyJhbGciOiJIUzI1NiJ9",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0",
            "keyJson_of_many.eyJson_of_more_keys.and_so_on_and_on",
            "greyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmnop",
        ],
    },
    Shape {
        name: "authorization",
        starts: &["Authorization", "authorization", "AUTHORIZATION"],
        after: concat!(
            r"(?:[Aa]uthorization|AUTHORIZATION)\\?['\x22]?[ \t]*[:=,]>?[ \t]*\\?['\x22]?",
            r"(?:[Bb]earer|BEARER|[Bb]asic|BASIC|[Tt]oken|TOKEN)[ \t]+"
        ),
        secret: "[A-Za-z0-9._~+/=-]{12,}",
        hits: &[
            "Authorization: Bearer «abcdefgh12345678»",
            "authorization:bearer  «0a1B2c3D4e5F»",
            "HTTP_AUTHORIZATION=BASIC «dXNlcjpwYXNz»",
            r#"{\"Authorization\": \"Basic «dXNlcjpwYXNzd29yZA==»\"}"#,
            "'Authorization' => 'token «0123456789abcdef»'",
        ],
        misses: &[
            "Authorization: Bearer <token>",
            "Authorization: Basic authentication",
            "Authorization: Basic base64-encoded-credentials",
            "authorization: Bearer ${accessTokenOfThisSession}",
            "Authorization: Token authentication/middleware.configuration",
            "authorization = token or_something_else_of_the_kind",
        ],
    },
    Shape {
        name: "bearer",
        starts: &["Bearer", "bearer", "BEARER"],
        after: r"(?:[Bb]earer|BEARER)[ \t]+",
        secret: "[A-Za-z0-9._~+/=-]{16,}",
        hits: &["Bearer «abcdefghijklmnopqrstuvwx»", "bearer «123e4567-e89b-12d3-a456-426614174000»", "BEARER\t«A1b2.c3D4~e5+f6/g7-h8=»"],
        misses: &[
            "Bearer of good news",
            "bearer authorization-code-flow",
            "Bearer oauth2-authorization-code-flow.v2",
            "bearer AuthenticationHandlerOptions",
            "BEARER YOUR_ACCESS_TOKEN_GOES_HERE",
        ],
    },
];
