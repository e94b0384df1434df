/** The settings of a hosted project, in the two spellings of the management API: written one by one, read all at once. */
import { textOf } from "../tools/checks/files.ts";

/** Settings of Auth that always have a value; all others may be null. */
const authDefaults = {
  site_url: "http://localhost:3000",
  jwt_exp: 3600,
  disable_signup: false,
  external_email_enabled: true,
  mailer_autoconfirm: false,
  mailer_otp_exp: 3600,
  mfa_phone_otp_length: 6,
  sms_otp_length: 6,
  hook_custom_access_token_enabled: false,
  passkey_enabled: false,
  oauth_server_enabled: false,
  oauth_server_allow_dynamic_registration: false,
  custom_oauth_enabled: false,
  custom_oauth_max_providers: 0,
};

/** The initial settings of a new project, as far as a deployment reads them. */
export class ProjectSettings {
  readonly auth: Record<string, unknown> = {
    ...Object.fromEntries(
      textOf("tests/deploy/auth-settings.txt").split(/\s+/).filter(Boolean)
        .map((name) => [name, null]),
    ),
    ...authDefaults,
  };
  readonly api: Record<string, unknown> = {
    db_schema: "public,graphql_public",
    db_extra_search_path: "public,extensions",
    max_rows: 1000,
    db_pool: null,
    db_pool_acquisition_timeout: null,
    db_pool_max_lifetime: null,
    db_pool_max_idletime: null,
  };
  readonly storage: Record<string, unknown> = { fileSizeLimit: 52_428_800 };

  /** As they are read to be compared with config.toml. */
  all() {
    return {
      database: { major_version: 17, ssl_enforced: false },
      pooler: { default_pool_size: 15 },
      auth: this.auth,
      api: this.api,
      realtime: { private_only: false },
      storage: {
        file_size_limit: this.storage.fileSizeLimit,
        features: { image_transformation: { enabled: true } },
      },
    };
  }
}
