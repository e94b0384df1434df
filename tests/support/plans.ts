/** How many rows a question makes PostgreSQL look at, in functions as well: a measure of work that is no clock. */
import postgres from "postgres";
import { stack } from "./db.ts";

interface Node {
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Join Filter"?: number;
  Plans?: Node[];
}

const rowsOf = (node: Node): number =>
  (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) +
      (node["Rows Removed by Join Filter"] ?? 0)) * node["Actual Loops"] +
  (node.Plans ?? []).reduce((sum, one) => sum + rowsOf(one), 0);

/** Rows that all steps of all plans gave on or passed over. */
export async function rowsLookedAt(question: string, values: string[] = []): Promise<number> {
  let looked = 0;
  const connection = postgres(stack.dbUrl, {
    max: 1,
    onnotice: ({ message }) => {
      const plan = /plan:\s*(\{[\s\S]*)$/.exec(message ?? "");
      if (plan) looked += rowsOf(JSON.parse(plan[1]).Plan);
    },
  });
  try {
    await connection.unsafe(`load 'auto_explain';
      set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on; set auto_explain.log_timing = off;
      set auto_explain.log_nested_statements = on; set auto_explain.log_format = json; set auto_explain.log_level = notice`);
    await connection.unsafe(question, values);
  } finally {
    await connection.end();
  }
  return looked;
}
