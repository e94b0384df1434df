/** The files of one person: pictures of the door, signatures, and the printed receipts that name them. */
import type postgres from "postgres";
import { changeOf, conditionOf, idsIn, keepIds, type Target } from "./personal.ts";
import type { Subject } from "./subject.ts";

/**
 * Files by their path alone, by the table whose rows do not name them all: a photo may be put and never given in, and each edition of a
 * receipt is a file of its own.
 */
const byPath: Record<string, string> = {
  "delivery.delivery_proofs":
    `o.bucket_id = 'proofs' and split_part(o.name, '/', 2) = 'deliveries' and (split_part(o.name, '/', 3) in ${
      idsIn("received", "text")
    } or split_part(o.name, '/', 3) in ${
      idsIn("given", "text")
    } and split_part(o.name, '/', 4) like 'pickup-%')`,
  "money.settlement_receipts":
    `o.bucket_id = 'settlement-receipts' and split_part(split_part(o.name, '/', 2), '.', 1) in ${
      idsIn("receipts", "text")
    }`,
};

/** Those that Storage has, of the paths in the rows of the list, and of those that were found when the erasure was begun. */
export async function personFiles(
  tx: postgres.TransactionSql,
  targets: Target[],
  subject: Subject,
) {
  const conditions = targets.flatMap((target) =>
    target.columns.filter(({ kind }) => kind === "file").map(({ name }) => {
      const paths = target.types[name]!.type === "text[]" ? `unnest(t.${name})` : `t.${name}`;
      return `o.name in (select ${paths} from ${target.table} t where ${
        conditionOf(target, subject)
      })`;
    })
  );
  for (const [table, condition] of Object.entries(byPath)) {
    if (targets.some((target) => target.table === table)) conditions.push(condition);
  }
  const found = await tx.unsafe(
    `select o.bucket_id as bucket, o.name as path from storage.objects o
    where o.name like '${subject.tenant}/%' and (o.bucket_id || '/' || o.name = any ($1::text[]) or ${
      conditions.join(" or ")
    }) order by 1, 2`,
    [subject.files ?? []],
  );
  return found.map(({ bucket, path }) => ({ bucket, path } as { bucket: string; path: string }));
}

/** Writes the ids of what is theirs down for the statements of this session, with the receipts that name the person. */
export async function keepSubject(
  tx: postgres.TransactionSql,
  targets: Target[],
  subject: Subject,
): Promise<void> {
  const { sets } = subject;
  await keepIds(tx, sets);
  const receipts = await receiptsOf(tx, targets, subject);
  sets.receipts = [...new Set([...sets.receipts ?? [], ...receipts])];
  await keepIds(tx, sets);
}

/** The settlements whose receipt names the person: it is printed anew. */
async function receiptsOf(tx: postgres.TransactionSql, targets: Target[], subject: Subject) {
  const payments = targets.find(({ table }) => table === "money.payments")!;
  const found = await tx.unsafe(`select t.id from money.payments t
    join money.settlement_receipts r on r.payment_id = t.id where ${
    changeOf(payments, subject).condition
  }`);
  return found.map(({ id }) => id as string);
}
