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
  mutants: {
    shows: "each guard that is taken out of the source fails a test",
    files: ["tests/prove/mutants.test.ts"],
    minutes: 20,
  },
  tenants: {
    shows: "no id of another tenant reads, changes or reveals anything",
    files: ["tests/contract/tenants.test.ts"],
    minutes: 10,
  },
};
