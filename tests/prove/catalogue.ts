/** The proofs by name: what each shows, and the test files it consists of. */
export interface Proof {
  shows: string;
  /** Test files, from the root of the repository. */
  files: readonly string[];
  /** Minutes the long form may take; it ends by itself before. */
  minutes: number;
}

export const proofs: Readonly<Record<string, Proof>> = {
  // Against attack and wrong input.
  fuzz: {
    shows: "whatever is sent, an answer in time and in form, and nothing changed elsewhere",
    files: ["tests/contract/fuzz.test.ts"],
    minutes: 15,
  },
  lints: {
    shows: "tables, policies and functions keep the rules of the house, each role what it may",
    files: ["tests/sql/rules.test.ts", "tests/sql/walls.test.ts"],
    minutes: 2,
  },
  mutants: {
    shows: "each guard that is taken out of the source fails a test",
    files: ["tests/prove/mutants.test.ts"],
    minutes: 20,
  },
  payments: {
    shows: "whatever gateways and forgers tell, in any order: paid is what was paid, once",
    files: ["tests/prove/payments.test.ts", "tests/payment/signatures.test.ts"],
    minutes: 6,
  },
  secrets: {
    shows: "what was told in confidence stands nowhere: tables, write-ahead log, logs, answers",
    files: ["tests/prove/secrets.test.ts"],
    minutes: 2,
  },
  ssrf: {
    shows: "nobody inside is connected to, however his address is written",
    files: [
      "tests/prove/ssrf.test.ts",
      "tests/shared/address-guard.test.ts",
      "tests/shared/guarded-post.test.ts",
    ],
    minutes: 3,
  },
  tenants: {
    shows: "no id of another tenant reads, changes or reveals anything",
    files: ["tests/contract/tenants.test.ts"],
    minutes: 10,
  },
  tokens: {
    shows: "no forged or unfit token passes, and none makes us look at a tenant's data",
    files: ["tests/prove/tokens.test.ts"],
    minutes: 8,
  },
  webhooks: {
    shows: "a failed delivery is sent once however many ask for it, and each is genuine",
    files: [
      "tests/prove/webhooks.test.ts",
      "tests/webhooks/killed.test.ts",
      "tests/webhooks/sending.test.ts",
    ],
    minutes: 8,
  },
};
