/** Files of an id that no company has: an import that was killed left them. */
import { Failure } from "../local/failure.ts";
import { namesOfFiles, removeNamed } from "./files.ts";
import { requireAlone } from "./import.ts";
import { type Place, sessionSettings } from "./place.ts";

/** Removes them as `npm run tenant -- delete --id` says; false where there are none, or a company or its deletion has the id. */
export async function removeStrayFiles(
  place: Place,
  { id, confirm }: { id: string; confirm?: string },
  print: (line: string) => void,
): Promise<boolean> {
  return await place.sql.begin(async (tx) => {
    await tx.unsafe(sessionSettings);
    const names = await namesOfFiles(tx, id);
    const [known] = await tx`select from tenancy.tenants t where t.id = ${id}
      union all select from tenancy.deleted_tenants d where d.id = ${id}`;
    if (known || names.length === 0) return false;
    // The files of one that runs have no company yet.
    await requireAlone(tx);
    print(`No company has the id ${id}. Files that an import left: ${names.length}`);
    if (confirm === undefined) {
      print(`Nothing was removed. --confirm ${id} removes them for good.`);
      return true;
    }
    if (confirm !== id) {
      throw new Failure(`--confirm says ${confirm}, and this is ${id}. Nothing was removed.`);
    }
    await removeNamed(place, names);
    print(`Files removed: ${names.length}`);
    return true;
  }) as boolean;
}
