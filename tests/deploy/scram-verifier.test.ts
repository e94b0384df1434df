/** The password of a role is sent to a hosted database as that would keep it. */
import { expect, test } from "vitest";
import { scramVerifier } from "../../supabase/deploy/scram-verifier.ts";
import { sql } from "../support/db.ts";

test("is what PostgreSQL makes of the password with the same salt, and is kept as it was sent", async () => {
  const password = "A-long pass'word_9";
  await sql.begin(async (tx) => {
    const kept = async () => {
      const [{ rolpassword }] =
        await tx`select rolpassword from pg_authid where rolname = 'scram_tried'`;
      return rolpassword as string;
    };
    await tx.unsafe(`create role scram_tried password '${password.replaceAll("'", "''")}'`);
    const made = await kept();
    const salt = Buffer.from(/:([^$]+)\$/.exec(made)![1]!, "base64");
    expect(scramVerifier(password, salt)).toBe(made);
    expect(scramVerifier("another", salt)).not.toBe(made);

    const own = scramVerifier(password);
    await tx.unsafe(`alter role scram_tried password '${own}'`);
    expect(await kept()).toBe(own);
    await tx.unsafe("drop role scram_tried");
  });
});
