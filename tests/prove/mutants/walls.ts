/** Authentication, access and idempotency, each with one guard removed. */
import type { Mutant } from "./mutant.ts";

const tables = "sql/base/guards.sql";
const wallsTest = "tests/sql/walls.test.ts";
const ownerTest = "tests/tenants/users/account-owner.test.ts";
const takenOver =
  "an account that another company's administrator made joins only after its owner took it over";
const identify = "sql/base/engine/identify.sql";
const identityTest = "tests/shared/identity.test.ts";
const actor = "shared/http/actor.ts";
const idempotency = "sql/base/engine/idempotency.sql";
const idempotencyTest = "tests/shared/idempotency.test.ts";

export const walls: Mutant[] = [
  {
    name: "row-level security forgets the tenant",
    file: tables,
    from: "v_rule text := 'tenant_id = (select app.tenant_id())'",
    to: "v_rule text := 'tenant_id is not null'",
    test: [wallsTest, "%s sees, adds, changes and removes nothing of the tenant"],
  },
  {
    name: "row-level security forgets whose a row is",
    file: tables,
    from: "' and ((select app.sees_tenant())'",
    to: "' and ((select true)'",
    test: [wallsTest, "walls.txt says who reaches what"],
  },
  {
    name: "whoever sees a row may change it",
    file: tables,
    from: "as restrictive for update to barid_caller using (true) with check ((select %s))'",
    to: "as restrictive for update to barid_caller using (true) with check (true or (select %s))'",
    test: [wallsTest, "walls.txt says who reaches what"],
  },
  {
    name: "a tenant's row can be changed by its members",
    file: "sql/tenants/administration/policies.sql",
    from: "using ((id = (select app.tenant_id()) and (select app.has_permission('manage:tenant')))",
    to: "using ((id = (select app.tenant_id()))",
    test: [
      wallsTest,
      "a tenant's own row is changed by its administrators, and made or left to others by none",
    ],
  },
  {
    name: "the access rule is not asked",
    file: "sql/base/engine/enter.sql",
    from: "if not (rule -> 'access') ?| v_who.grants then",
    to: "if false then",
    test: ["tests/contract/access.test.ts", "%s gets 403 wherever the table says so"],
  },
  {
    name: "a key that only reads is not asked what a call does",
    file: "sql/base/engine/enter.sql",
    from: "if 'only:reads' = any (v_who.grants) and",
    to: "if false and",
    test: ["tests/contract/access.test.ts", "%s gets 403 wherever the table says so"],
  },
  {
    name: "the switch of a feature is not asked",
    file: "sql/base/engine/enter.sql",
    from: "if rule ? 'feature' and not coalesce((",
    to: "if rule ? 'feature' and not true and not coalesce((",
    test: [
      "tests/delivery/manifests/access.test.ts",
      "does nothing while manifests are switched off, whatever the input",
    ],
  },
  {
    name: "who was deactivated is still a member",
    file: identify,
    from: "u.user_id = member_grants.user_id and u.is_active);",
    to: "u.user_id = member_grants.user_id);",
    test: [
      identityTest,
      "a member who is deactivated, or loses a role, is refused at the next request",
    ],
  },
  {
    name: "a token from before the account was proven works on",
    file: identify,
    from: "> p.proven_at);",
    to: "> p.proven_at or true);",
    test: [ownerTest, takenOver],
  },
  {
    name: "a token of a banned account works on",
    file: "sql/base/engine/views.sql",
    from: " and (a.banned_until is null or a.banned_until <= now())",
    to: "",
    test: [
      "tests/tenants/users/deleted.test.ts",
      "a banned person is refused with the token they had, and their keys stop until the ban is lifted",
    ],
  },
  {
    name: "an account that another company made is joined",
    file: "sql/tenants/accounts/accounts.sql",
    from: "or (p.made_by_tenant is null and",
    to: "or (true and",
    test: [ownerTest, takenOver],
  },
  {
    name: "an account whose address was never confirmed is joined",
    file: "sql/tenants/accounts/accounts.sql",
    from: "u.email_confirmed_at is not null)));",
    to: "true)));",
    test: [
      ownerTest,
      "a sign-up that was never confirmed accepts nothing; once it is, it joins with its own profile",
    ],
  },
  {
    name: "a person who joins has their profile written by the administrator",
    file: "sql/tenants/invitations/offer.sql",
    from: "where p.id = v_user and v_user = v_invitation.account_id;",
    to: "where p.id = v_user;",
    test: [
      "tests/tenants/invitations/invite.test.ts",
      "leaves the profile of an account unseen, and no membership, until its owner accepts",
    ],
  },
  {
    name: "a suspended tenant works on",
    file: identify,
    from: "elsif not v_effective and not v_system",
    to: "elsif false and not v_system",
    test: [
      identityTest,
      "only system administrators act in a suspended or archived tenant",
    ],
  },
  {
    name: "a revoked API key opens",
    file: identify,
    from: "case when revoked_at is not null then 'revoked' when",
    to: "case when",
    test: [
      "tests/shared/identity-keys.test.ts",
      "an API key that is unknown, revoked, past its time or endless is refused",
    ],
  },
  {
    name: "a tenant's API key acts for the system",
    file: "sql/base/engine/api_key_scopes.sql",
    from: "where s.scope not like '%:system'",
    to: "where true",
    test: [
      "tests/shared/identity-keys.test.ts",
      "a key of the system works in the tenant it names; a tenant's key never acts for the system",
    ],
  },
  {
    name: "tokens for another audience are taken",
    file: actor,
    from: `    audience: "authenticated",\n`,
    to: "",
    test: [identityTest, "a token %s is refused"],
  },
  {
    name: "the publishable key is a person's token",
    file: actor,
    from: `payload.role !== "authenticated" || `,
    to: "",
    test: [identityTest, "a token %s is refused"],
  },
  {
    name: "a token that was taken once is taken for good",
    file: actor,
    from: "if (known.expiresAt > Date.now()) return known.actor;",
    to: "if (known) return known.actor;",
    test: [identityTest, "a token that was accepted is refused from the moment it runs out"],
  },
  {
    name: "the secret key lifts whoever's token is beside it",
    file: actor,
    from: "if (own !== null && isSecretKey(own)) {",
    to: "if ([bearer, apikey].some((one) => isSecretKey(one ?? ''))) {",
    test: [
      "tests/shared/identity-keys.test.ts",
      "a secret key is the system itself; beside a person's token it is the person who counts",
    ],
  },
  {
    name: "an Idempotency-Key fits any input",
    file: idempotency,
    from: "if v_row.input_hash <> v_hash then",
    to: "if false then",
    test: [idempotencyTest, "of different requests under one key exactly one is done"],
  },
  {
    name: "equal Idempotency-Keys of two people meet",
    file: idempotency,
    from: ` || '/' || coalesce(app.request_setting('api_key'), app.user_id()::text, '-')`,
    to: "",
    test: [
      idempotencyTest,
      "equal keys of two tenants, of two people and of two operations never meet",
    ],
  },
  {
    name: "what a client asked for is done after the client left",
    file: "shared/db/execute.ts",
    from: "if (aborted()) throw unavailable();",
    to: "",
    test: [
      "tests/shared/left.test.ts",
      "a call whose client left while it waited for its turn is not made; its repetition is, once",
    ],
  },
  {
    name: "a key may do what its maker may not",
    file: "sql/tenants/api-keys/api.sql",
    from: "where not app.has_permission(s)",
    to: "where false",
    test: [
      "tests/tenants/api-keys/api-keys.test.ts",
      "a person makes no key that may do more than they may",
    ],
  },
];
