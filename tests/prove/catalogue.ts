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
  crash: {
    shows: "crashes of Postgres and functions, cut connections: nothing lost, doubled or mixed up",
    files: ["tests/prove/crash.test.ts"],
    minutes: 15,
  },
  upgrade: {
    shows: "a database of each released version is upgraded during a day of work",
    files: ["tests/sql/upgrade.test.ts", "tests/prove/upgrade.test.ts"],
    minutes: 30,
  },
  model: {
    shows:
      "cash, wallets, stock and orders do what a model does; every invariant of the tenant after every step",
    files: ["tests/prove/model.test.ts"],
    minutes: 115,
  },
  merchant: {
    shows:
      "random histories of merchants' money: every statement as a model says, and nothing stranded",
    files: ["tests/prove/merchant.test.ts"],
    minutes: 90,
  },
  desks: {
    shows:
      "random histories of cash on desks against single coins: what lies where, which rows are held",
    files: ["tests/prove/desk-queues.test.ts"],
    minutes: 60,
  },
  dispatch: {
    shows:
      "random histories of offers: no two drivers for a delivery, nobody above capacity, none forgotten",
    files: ["tests/prove/dispatch.test.ts"],
    minutes: 60,
  },
  cash: {
    shows: "random histories of cash under cut connections, compared with every answer",
    files: ["tests/e2e/cash-history.test.ts"],
    minutes: 30,
  },
  driver: {
    shows: "the database driver gives no answer to another's question, whatever breaks",
    files: ["tests/shared/driver.test.ts"],
    minutes: 5,
  },
  storm: {
    shows: "one key and 200 requests at once: one effect, equal answers",
    files: ["tests/prove/storm.test.ts"],
    minutes: 15,
  },
  doublespend: {
    shows:
      "fifty want one unit of cash, balance, stock or room: one gets it; a merchant is stated and paid once",
    files: ["tests/prove/doublespend.proof.ts"],
    minutes: 20,
  },
  deadlock: {
    shows: "bulk calls over the same rows in every order never wait in a circle",
    files: ["tests/prove/deadlock.proof.ts"],
    minutes: 30,
  },
  isolation: {
    shows: "what HTTP clients saw has a serial order; a ledger without its lock is caught",
    files: ["tests/prove/history.test.ts", "tests/prove/isolation.proof.ts"],
    minutes: 30,
  },
  load: {
    shows: "settlements a second over HTTP",
    files: ["tests/prove/load.proof.ts"],
    minutes: 10,
  },
  exhaustion: {
    shows: "500 callers on ten connections are answered; who floods waits in their own turn",
    files: ["tests/prove/exhaustion.proof.ts"],
    minutes: 5,
  },
  skew: {
    shows: "clocks of functions and Postgres two days apart",
    files: ["tests/prove/skew.proof.ts"],
    minutes: 10,
  },
  soak: {
    shows: "mixed load for half an hour: memory, connections, failures, work left over",
    files: ["tests/prove/soak.proof.ts"],
    minutes: 36,
  },
  lints: {
    shows:
      "tables, policies and functions keep the rules of the house and of plpgsql_check, squawk and Supabase's advisors",
    files: [
      "tests/sql/rules.test.ts",
      "tests/sql/walls.test.ts",
      "tests/prove/lints.proof.ts",
      "tests/deploy/database.test.ts",
    ],
    minutes: 4,
  },
  mutants: {
    shows: "each guard that is taken out of the source fails a test",
    files: ["tests/prove/mutants.test.ts"],
    minutes: 20,
  },
  payments: {
    shows:
      "whatever gateways and forgers tell, in any order, away, slow or lying: paid is what was paid, once",
    files: [
      "tests/prove/payments.test.ts",
      "tests/prove/gateways.proof.ts",
      "tests/payment/webhooks/signatures.test.ts",
    ],
    minutes: 20,
  },
  secrets: {
    shows:
      "what was told in confidence stands nowhere: tables, write-ahead log, logs, answers, PDFs",
    files: ["tests/prove/secrets.proof.ts"],
    minutes: 2,
  },
  ssrf: {
    shows: "nobody inside is connected to, however the address is written",
    files: [
      "tests/prove/ssrf.test.ts",
      "tests/shared/address-guard.test.ts",
      "tests/shared/guarded-post.test.ts",
    ],
    minutes: 3,
  },
  tenants: {
    shows: "no id of another tenant reads, changes or reveals anything",
    files: ["tests/contract/tenants/"],
    minutes: 10,
  },
  tokens: {
    shows: "no forged or unfit token passes, and none makes us look at a tenant's data",
    files: ["tests/prove/tokens.test.ts"],
    minutes: 8,
  },
  webhooks: {
    shows:
      "however many ask for it, broken subscribers or killed senders: each event arrives or fails as it must, genuine",
    files: [
      "tests/prove/webhooks.test.ts",
      "tests/prove/webhook-chaos.proof.ts",
      "tests/webhooks/sender/claims.test.ts",
      "tests/webhooks/sender/killed.test.ts",
      "tests/webhooks/sender/sending.test.ts",
    ],
    minutes: 25,
  },
};
