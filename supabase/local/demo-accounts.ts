import type { Sql } from "postgres";

/** The password of every account in sql/demo. */
export const demoPassword = "Barid-demo-1";

/** An account of sql/demo: its address, and who it is. */
export interface DemoAccount {
  email: string;
  label: string;
}

/** Demo accounts carry what they are under "demo" in their user metadata. */
export async function demoAccounts(sql: Sql): Promise<DemoAccount[]> {
  return await sql<DemoAccount[]>`
    select email, raw_user_meta_data ->> 'demo' as label from auth.users
    where raw_user_meta_data ->> 'demo' <> '' order by created_at, email`;
}
