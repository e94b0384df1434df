export interface Invariant {
  name: string;
  /** Rows are breaches; `$1` is the tenant. */
  sql: string;
}

/** The kinds of the journals about each thing of a type, read once for all of them: no index begins with the thing. */
export const journalsOf = (type: string): string =>
  `select t.reference_id, array_agg(t.kind order by t.kind) as kinds from money.ledger_transactions t
    where t.tenant_id = $1 and t.reference_type = '${type}' group by t.reference_id`;
