import type postgres from "postgres";
import { asCaller, type Caller } from "../callers.ts";

/** The request of supabase-js to list a folder. */
export interface ListOptions {
  prefix?: string;
  limit?: number;
  offset?: number;
  search?: string;
  sortBy?: { column?: string; order?: string };
}

const sortColumns = ["name", "updated_at", "created_at", "last_accessed_at"];

/** The files and folders directly in a folder, as far as the caller may see them. Folders have a name and nothing else. */
export async function listObjects(
  sql: postgres.Sql,
  caller: Caller,
  bucketId: string,
  options: ListOptions,
) {
  const folder = options.prefix ? `${options.prefix.replace(/\/+$/, "")}/` : "";
  const column = sortColumns.find((name) => name === options.sortBy?.column) ?? "name";
  const search = `${escapeLike(options.search ?? "")}%`;
  return await asCaller(sql, caller, (transaction) =>
    transaction`
      with entries as (
        select o.*, substr(o.name, ${folder.length + 1}) as rest from storage.objects o
        where o.bucket_id = ${bucketId} and starts_with(o.name, ${folder})
      ), listed as (
        select rest as name, id, updated_at, created_at, last_accessed_at, metadata
        from entries where position('/' in rest) = 0 and rest <> ''
        union all
        select distinct split_part(rest, '/', 1), null::uuid, null::timestamptz, null::timestamptz,
          null::timestamptz, null::jsonb
        from entries where position('/' in rest) > 0
      )
      select * from listed where name ilike ${search}
      order by ${transaction(column)} ${
      options.sortBy?.order === "desc" ? transaction`desc` : transaction`asc`
    }, name
      limit ${Math.min(options.limit ?? 100, 1000)} offset ${options.offset ?? 0}`);
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, "\\$&");
}
