/** Draws of statements of owners and their payouts. */
import type { State, Statement } from "../state.ts";
import { customers, type Draws, one } from "./draw.ts";

export const statementDraws: Draws<
  "openStatement" | "payStatement" | "reverseStatement" | "voidStatement"
> = {
  openStatement: ({ serial }, [a]) => ({
    type: "openStatement",
    name: `statement ${serial + 1}`,
    customer: a % customers,
  }),
  payStatement({ state }, [a, b]) {
    const name = statementOf(state, a, "open");
    return name ? { type: "payStatement", name, cash: b % 2 > 0 } : undefined;
  },
  reverseStatement({ state }, [a]) {
    const name = statementOf(state, a, "paid");
    return name ? { type: "reverseStatement", name } : undefined;
  },
  voidStatement({ state }, [a]) {
    const name = statementOf(state, a, "open");
    return name ? { type: "voidStatement", name } : undefined;
  },
};

function statementOf(state: State, die: number, status: Statement["status"]): string | undefined {
  const found = Object.entries(state.statements);
  return found.length ? one(found, die, (statement) => statement.status === status)[0] : undefined;
}
