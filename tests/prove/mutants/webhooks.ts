/** Webhooks to subscribers, each with one guard removed. */
import type { Mutant } from "./mutant.ts";

const sender = "sql/webhooks/sender/attempts.sql";
const send = "functions/webhooks/sender/send.ts";
const claimsTest = "tests/webhooks/sender/claims.test.ts";
const sendingTest = "tests/webhooks/sender/sending.test.ts";
const guard = "shared/outbound/address-guard.ts";
const guardTest = "tests/shared/address-guard.test.ts";

export const webhooks: Mutant[] = [
  {
    name: "a retry by hand takes what is being sent",
    file: "sql/webhooks/events/api.sql",
    from: "((w.status = 'failed' and w.claim_token is null)",
    to: "(w.status in ('failed', 'retrying')",
    test: [
      "tests/webhooks/events/events.test.ts",
      "of 25 at the same moment sends once; the others hear 409",
    ],
  },
  {
    name: "whose claim was lost still writes the end",
    file: sender,
    from: "if e.claim_token is distinct from (result ->> 'claim_token')::uuid then",
    to: "if false then",
    test: [
      claimsTest,
      "a worker who comes back after losing a claim is recorded and decides nothing",
    ],
  },
  {
    name: "anybody renews a claim",
    file: sender,
    from: "where e.id = mine.id and e.claim_token = mine.token",
    to: "where e.id = mine.id",
    test: [
      claimsTest,
      "who has an event in hand keeps it by saying so; a silent worker's subscriptions are free at once, the events later",
    ],
  },
  {
    name: "a later event overtakes",
    file: sender,
    from: "and p.position < e.position)",
    to: "and p.position < 0)",
    test: [sendingTest, "a later event of the same thing waits; those of others do not"],
  },
  {
    name: "a redirect is a success",
    file: send,
    from: "status >= 200 && status < 300",
    to: "status >= 200 && status < 400",
    test: [sendingTest, "a redirect is not followed and is a failure"],
  },
  {
    name: "the time is not signed",
    file: send,
    from: "`${id}.${timestamp}.${body}`",
    to: "`${id}.${body}`",
    test: [
      sendingTest,
      "an event reaches its subscriber at once, in the envelope and signed as the standard says",
    ],
  },
  {
    name: "one public address lets private ones pass",
    file: guard,
    from: "if (!local && !found.every(",
    to: "if (!local && !found.some(",
    test: [guardTest, "that resolves to %s is refused"],
  },
  {
    name: "the metadata service is public",
    file: guard,
    from: `  "169.254.0.0/16",\n`,
    to: "",
    test: [guardTest, "%s is not public"],
  },
  {
    name: "any port is called",
    file: guard,
    from: "if (!local && !portsAllowed.includes(url.port))",
    to: "if (false)",
    test: [guardTest, "%s is refused"],
  },
  {
    name: "a certificate is asked for the address instead of the name",
    file: "shared/outbound/guarded-post.ts",
    from: "servername: host },",
    to: "servername: address },",
    test: [
      "tests/shared/guarded-post.test.ts",
      "the name of the URL is what the certificate must be for: its own passes, another is refused",
    ],
  },
  {
    name: "a subscription that was removed with a long log is still there",
    file: "sql/webhooks/subscriptions/policies.sql",
    from: "to barid_caller using (removed_at is null)",
    to: "to barid_caller using (true)",
    test: [
      "tests/webhooks/subscriptions/removed.test.ts",
      "is gone with its log, its place is free, nothing is sent by it, and the clock deletes it",
    ],
  },
];
