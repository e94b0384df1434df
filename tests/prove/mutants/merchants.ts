/** Statements of merchants, each with one guard less. */
import type { Mutant } from "./mutant.ts";

const folder = "sql/delivery/merchant-statements";
const merchantTest = "tests/prove/merchant.test.ts";
const histories = "random histories of merchants";
const races = [
  "tests/prove/doublespend.proof.ts",
  "at once for a merchant's money: never stated, paid or spent twice",
] as const;

export const merchants: Mutant[] = [
  {
    name: "a statement that waited reads holds as of its own beginning",
    file: `${folder}/movements.sql`,
    from: "and x.counts_from <= (select clock_timestamp())",
    to: "and x.counts_from <= now()",
    test: [
      "tests/delivery/merchant-statements/races.test.ts",
      "a statement that waited over midnight says what the new day releases",
    ],
  },
  {
    name: "a statement says again what another one says",
    file: `${folder}/movements.sql`,
    from: "then m.whole - h.held - coalesce(s.said, 0) else 0 end",
    to: "then m.whole - h.held else 0 end",
    test: [merchantTest, histories],
  },
  {
    name: "void statements still say something of their movements",
    file: `${folder}/movements.sql`,
    from: "o.id = l.statement_id and o.status <> 'void'",
    to: "o.id = l.statement_id",
    test: [merchantTest, histories],
  },
  {
    name: "movements of a void statement are not looked at again",
    file: `${folder}/payouts.sql`,
    from: "where l.tenant_id = v_tenant and l.statement_id = s.id and l.movement is not null;",
    to: "where false;",
    test: [merchantTest, histories],
  },
  {
    name: "what was held when a statement was made is not looked at again",
    file: `${folder}/open.sql`,
    from: "from unnest(v_unsettled) u (movement) where u.movement <= v_looked_to;",
    to: "from unnest(v_unsettled) u (movement) where false;",
    test: [merchantTest, histories],
  },
  {
    name: "two payments of a statement do not wait for each other",
    file: `${folder}/payouts.sql`,
    from: "(money.sees_statements() or x.owner_user_id = app.user_id()) for no key update;",
    to: "(money.sees_statements() or x.owner_user_id = app.user_id());",
    test: races,
  },
  {
    name: "a statement does not lock its wallet",
    file: `${folder}/open.sql`,
    from: "a.id = p_wallet for no key update;",
    to: "a.id = p_wallet;",
    test: races,
  },
];
