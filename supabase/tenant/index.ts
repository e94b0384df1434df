// npm run tenant: moves one company between projects, looks whether it changed meanwhile, deletes it; and discloses or erases one
// person of it.
import { Failure } from "../local/failure.ts";
import { UsageFailure } from "../local/command-line.ts";
import { openPlace, whereIs } from "./place.ts";
import { compareTenant } from "./compare.ts";
import { deleteTenant } from "./delete.ts";
import { disclosePerson } from "./disclose.ts";
import { erasePerson } from "./erase.ts";
import { exportTenant } from "./export.ts";
import { importTenant } from "./import.ts";
import { parseTenantOptions, tenantHelp } from "./options.ts";

// A reader of the first lines alone (`| head`) closes the pipe: the command continues, and says the rest to nobody.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

try {
  await run(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Failure ? error.message : error);
  process.exitCode = error instanceof UsageFailure ? 2 : 1;
}

async function run(args: string[]): Promise<void> {
  const options = parseTenantOptions(args);
  if (options.command === "help") return console.log(tenantHelp);
  const place = openPlace(whereIs(process.env));
  const print = (line: string) => console.log(line);
  try {
    if (options.command === "export") await exportTenant(place, options, print);
    else if (options.command === "import") await importTenant(place, options, print, stopped());
    else if (options.command === "delete") await deleteTenant(place, options, print);
    else if (options.command === "erase") await erasePerson(place, options, print);
    else if (options.command === "person") await disclosePerson(place, options, print);
    else await compareTenant(place, options, print);
  } finally {
    await place.close();
  }
}

/** Ctrl+C, or the end of the session: what is under way is undone first. */
function stopped(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => stop.abort());
  }
  return stop.signal;
}
